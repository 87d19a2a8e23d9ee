// A host whose handlers run in transactions of a data layer, on the built library. Started by a test. With KILL_AT the process kills
// itself at that point of its deliveries; without it, it hands over what is due until nothing is, and prints the points.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentWorkers } from 'nestjs-payment-acceptance';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { LAYERS } from './layers.mjs';
import { optionsFromJson } from '../support/options-json.mjs';

const { DATABASE_URL = '', PAYMENT_OPTIONS = '', LAYER, KILL_AT, RUNS_ON } = process.env;
const type = DATABASE_URL.startsWith('mariadb:') ? 'mariadb' : 'postgres';
const kind = LAYERS.find(({ name }) => name === LAYER);
if (!kind) throw new Error(`There is no layer ${LAYER}.`);
const layer = await kind.open(DATABASE_URL);
const columns = type === 'mariadb' ? 'paymentId, orderId' : '"paymentId", "orderId"';

class Orders {
  /**
   * @param {import('nestjs-payment-acceptance').PaymentSucceededEvent} event
   * @param {import('nestjs-payment-acceptance').PaymentEventContext<unknown>} context
   */
  async take({ name, paymentId, orderId }, { tx }) {
    await layer.send(
      tx,
      `INSERT INTO effect (consumer, event, ${columns}) VALUES ('orders', '${name}', '${paymentId}', '${orderId}')`,
    );
  }
}
const take = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Orders.prototype, 'take'));
OnPaymentSucceeded({ consumer: 'orders' })(Orders.prototype, 'take', take);
Injectable()(Orders);

const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    TypeOrmModule.forRoot({ type, url: DATABASE_URL }),
    PaymentAcceptanceModule.forRootAsync({
      useFactory: () => ({
        ...optionsFromJson(PAYMENT_OPTIONS),
        transactions: layer.transactions,
        migrations: /** @type {const} */ ('verify'),
      }),
      role: 'workers',
    }),
  ],
  providers: [Orders],
})(Host);

/** @type {string[]} */
const points = [];
let isDelivering = false;
const probe = {
  /** @param {string} point */
  reached(point) {
    if (!isDelivering) return;
    if (String(points.length) === KILL_AT) process.kill(process.pid, 'SIGKILL');
    points.push(point);
  },
};

if (RUNS_ON) {
  const app = await NestFactory.createApplicationContext(Host, { logger: false });
  app.get(PaymentWorkers).start();
  // It is killed, or told to stop.
  process.on('SIGTERM', () => void app.close().then(() => layer.close()));
  process.stdout.write('ready\n');
} else {
  const module = await Test.createTestingModule({ imports: [Host] })
    .overrideProvider(PaymentProbe)
    .useValue(probe)
    .compile();
  await module.init();
  isDelivering = true;
  await module.get(PaymentWorkers).deliveries.runOnce();
  isDelivering = false;
  await module.close();
  await layer.close();
  process.stdout.write(JSON.stringify(points));
}
