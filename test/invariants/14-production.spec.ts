import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  migratePaymentAcceptance,
  PaymentAcceptanceModule,
  PaymentConfigurationError,
  type PaymentShopOptions,
} from 'nestjs-payment-acceptance';
import { PaymentSchemaBehindError } from 'nestjs-payment-acceptance/operations';
import { DataSource } from 'typeorm';
import { connectionOf, createTestDatabase, type TestDatabase } from '../support/database.js';

const GOOD: PaymentShopOptions = {
  shopId: '17',
  apiToken: 'a-token-of-the-real-service',
  apiBaseUrl: 'https://api.pay.example',
};

let database: TestDatabase;
const environment = process.env.NODE_ENV;

const start = (shop: Partial<PaymentShopOptions>) =>
  Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ ...connectionOf(database.url), retryAttempts: 0 }),
      PaymentAcceptanceModule.forRoot({ shops: { main: { ...GOOD, ...shop } }, autoStart: false }),
    ],
  }).compile();

describe('invariant 14: in production nothing unsafe is a default', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
    process.env.NODE_ENV = 'production';
  });
  afterAll(async () => {
    process.env.NODE_ENV = environment;
    await database.drop();
  });

  test.each([
    ['an http address', { apiBaseUrl: 'http://api.pay.example' }, /shops\.main\.apiBaseUrl: is not https/],
    ["the sandbox's address", { apiBaseUrl: 'https://127.0.0.1:4010' }, /apiBaseUrl: is the address of this machine/],
    ["the sandbox's token", { apiToken: 'sandbox-main-token-0123456789abcdef' }, /apiToken: is a sandbox token/],
  ])('in production %s is refused', async (_name, shop, message) => {
    const starting = start(shop);
    await expect(starting).rejects.toBeInstanceOf(PaymentConfigurationError);
    await expect(starting).rejects.toThrow(message);
  });

  test('in production a start never changes the schema, and fails until it is migrated', async () => {
    await expect(start({})).rejects.toBeInstanceOf(PaymentSchemaBehindError);
    const dataSource = await new DataSource({ ...connectionOf(database.url) }).initialize();
    await Promise.all([migratePaymentAcceptance(dataSource), migratePaymentAcceptance(dataSource)]);
    await dataSource.destroy();
    const module = await start({});
    await module.close();
  });
});
