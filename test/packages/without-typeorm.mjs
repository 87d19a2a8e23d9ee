// An application in whose node_modules there is no TypeORM: creates a bill, and is paid. Started by a test with the door to take.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { DATABASE_URL = '', DOOR } = process.env;
const require = createRequire(import.meta.url);
for (const name of ['typeorm', '@nestjs/typeorm']) assert.throws(() => require.resolve(name), /Cannot find module/);

/** @param {string} name */
const open = (name) => (DOOR === 'require' ? require(name) : import(name));
const { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentAcceptanceService, migratePaymentAcceptance } =
  await open('nestjs-payment-acceptance');
const { startPaymentSandbox } = await open('nestjs-payment-sandbox');

/** @typedef {{ query(statement: string): Promise<any> }} Sends */

const onMariaDb = DATABASE_URL.startsWith('mariadb:');
/** @type {any} */
let pool;
let transactions;
if (onMariaDb) {
  const mysql = require('mysql2/promise');
  pool = mysql.createPool({ uri: DATABASE_URL.replace('mariadb:', 'mysql:'), connectionLimit: 4 });
  transactions = (await open('nestjs-payment-acceptance/mysql2')).mysql2Transactions(pool);
} else {
  const pg = require('pg');
  pool = new pg.Pool({ connectionString: DATABASE_URL, max: 4 });
  transactions = (await open('nestjs-payment-acceptance/pg')).pgTransactions(pool);
}
await pool.query('CREATE TABLE paid (order_id varchar(40) NOT NULL)');

class Orders {
  /**
   * @param {{ orderId: string }} event
   * @param {{ tx: Sends }} context
   */
  async take({ orderId }, { tx }) {
    await tx.query(`INSERT INTO paid VALUES ('${orderId}')`);
  }
}
const take = Object.getOwnPropertyDescriptor(Orders.prototype, 'take');
OnPaymentSucceeded({ consumer: 'orders' })(Orders.prototype, 'take', take);
Injectable()(Orders);

const apiToken = 'main-token-0123456789abcdef';
const { sandbox, url: apiBaseUrl, close } = await startPaymentSandbox({ shops: { 'shop-main': { apiToken } } });
await migratePaymentAcceptance({ url: DATABASE_URL });
const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    PaymentAcceptanceModule.forRoot({
      shops: { main: { shopId: 'shop-main', apiToken, apiBaseUrl } },
      storage: { url: DATABASE_URL },
      migrations: 'verify',
      transactions,
    }),
  ],
  providers: [Orders],
})(Host);
const app = await NestFactory.create(Host, { logger: ['error'], abortOnError: false });
await app.listen(0, '127.0.0.1');
await sandbox.putShop('shop-main', { resultUrl: `${await app.getUrl()}/postback/payment` });

const { billId } = await app.get(PaymentAcceptanceService).createBill({ orderId: 'A-1', amount: '100.05' });
await sandbox.pay(billId);
const paid = async () => {
  const answer = await pool.query('SELECT order_id FROM paid');
  return (onMariaDb ? answer[0] : answer.rows).length;
};
for (const end = Date.now() + 30_000; (await paid()) === 0; await sleep(20))
  assert.ok(Date.now() < end, 'It was not paid.');
assert.equal(await paid(), 1);

// The program, too.
const program = join(dirname(require.resolve('nestjs-payment-acceptance/package.json')), 'dist/esm/cli/main.js');
/** @param {string[]} args */
const command = async (...args) =>
  (await promisify(execFile)(process.execPath, [program, ...args], { env: { ...process.env, ...shopEnvironment } }))
    .stdout;
const shopEnvironment = {
  PAYMENT_ACCEPTANCE_SHOP_ID: 'shop-main',
  PAYMENT_ACCEPTANCE_API_TOKEN: apiToken,
  PAYMENT_ACCEPTANCE_API_BASE_URL: apiBaseUrl,
};
assert.match(await command('migrate'), /up to date/);
assert.match(await command('check', billId), /PAID/);
// An ES module of the host's, whose option `storage` names the database.
const shops = { main: { shopId: 'shop-main', apiToken, apiBaseUrl } };
writeFileSync('payments.config.mjs', `export default ${JSON.stringify({ shops, storage: { url: DATABASE_URL } })};`);
delete process.env['DATABASE_URL'];
assert.match(await command('check', billId, '--config', 'payments.config.mjs'), /PAID/);
await app.close();
await close();
await pool.end();
console.log('paid');
