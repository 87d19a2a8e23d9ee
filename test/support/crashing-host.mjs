// A host whose handler kills the process, on the built library. Started by a test.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentWorkers } from 'nestjs-payment-acceptance';
import { optionsFromJson } from './options-json.mjs';

const { DATABASE_URL = '', PAYMENT_OPTIONS = '' } = process.env;
const type = DATABASE_URL.startsWith('mariadb:') ? 'mariadb' : 'postgres';
/** @param {string} name */
const column = (name) => (type === 'mariadb' ? name : `"${name}"`);

class Crasher {
  /**
   * @param {unknown} _event
   * @param {import('nestjs-payment-acceptance').PaymentEventContext<import('typeorm').EntityManager>} context
   */
  async take(_event, { manager }) {
    await manager.query(
      `INSERT INTO effect (consumer, event, ${column('paymentId')}, ${column('orderId')}) VALUES ('orders', 'half', 'x', 'x')`,
    );
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => undefined);
  }
}
const take = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Crasher.prototype, 'take'));
OnPaymentSucceeded({ consumer: 'orders' })(Crasher.prototype, 'take', take);
Injectable()(Crasher);

const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    TypeOrmModule.forRoot({ type, url: DATABASE_URL }),
    EventEmitterModule.forRoot(),
    PaymentAcceptanceModule.forRootAsync({ useFactory: () => optionsFromJson(PAYMENT_OPTIONS), role: 'workers' }),
  ],
  providers: [Crasher],
})(Host);

const app = await NestFactory.createApplicationContext(Host, { logger: ['error'] });
// Where it works by itself, the kill ends it.
if (process.env.WORKS) app.get(PaymentWorkers).start();
else {
  await app.get(PaymentWorkers).deliveries.runOnce();
  await app.close();
}
