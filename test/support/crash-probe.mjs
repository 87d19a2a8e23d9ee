// Processes one order from the bill to the handlers, against the built library. Started by a test. With KILL_AT the process
// kills itself at that point; without it, it prints all points. On the journey "troubled" a payment fails before one
// succeeds, and the durable handler fails once on each event.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentWorkers,
} from 'nestjs-payment-acceptance';
import { ManualPaymentClock, PaymentClock, PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { writeSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { optionsFromJson } from './options-json.mjs';

/** @import { PaymentEventContext, PaymentFailedEvent, PaymentSucceededEvent } from 'nestjs-payment-acceptance' */

/** @typedef {PaymentSucceededEvent | PaymentFailedEvent} Paid */

const { DATABASE_URL = '', SANDBOX_URL, ORDER_ID = '', CLOCK_AHEAD_MS } = process.env;
const { KILL_AT, JOURNEY, PAYMENT_OPTIONS = '' } = process.env;

/** @type {string[]} */
const points = [];

/**
 * The result page polls for as long as it may wait: how often depends on the machine's speed.
 * @param {string} point
 */
function isReadAgain(point) {
  const read = point.replace(/^(before|after) SELECT /, '');
  return read !== point && points.slice(-2).join() === `before SELECT ${read},after SELECT ${read}`;
}

const probe = {
  /** @param {string} point */
  reached(point) {
    if (isReadAgain(point)) return;
    if (points.push(point) - 1 !== Number(KILL_AT ?? NaN)) return;
    writeSync(1, point);
    process.kill(process.pid, 'SIGKILL');
  },
};

const troubled = JOURNEY === 'troubled';
const failedOn = new Set();

const onMariaDb = DATABASE_URL.startsWith('mariadb:');

/** @type {(consumer: string, event: Paid) => [statement: string, values: string[]]} */
const effect = (consumer, { name, paymentId, orderId }) => [
  onMariaDb
    ? 'INSERT INTO effect (consumer, event, paymentId, orderId) VALUES (?, ?, ?, ?)'
    : 'INSERT INTO effect (consumer, event, "paymentId", "orderId") VALUES ($1, $2, $3, $4)',
  [consumer, name, paymentId, orderId],
];

class Handlers {
  /**
   * @param {Paid} event
   * @param {PaymentEventContext<import('typeorm').EntityManager>} context
   */
  async durable(event, { manager }) {
    await manager.query(...effect('orders', event));
    if (!troubled || failedOn.has(event.id)) return;
    failedOn.add(event.id);
    throw new Error('The handler fails once.');
  }

  /**
   * Gets no transaction, so it writes through its own connection, at least once.
   * @param {Paid} event
   */
  async plain(event) {
    await app.get(DataSource).query(...effect('listener', event));
  }
}
/** @type {(name: 'durable' | 'plain', decorator: (prototype: object, name: string, descriptor: any) => void) => void} */
const decorate = (name, decorator) => {
  const method = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Handlers.prototype, name));
  decorator(Handlers.prototype, name, method);
};
decorate('durable', OnPaymentSucceeded({ consumer: 'orders' }));
decorate('durable', OnPaymentFailed({ consumer: 'orders' }));
decorate('plain', OnEvent('payment.succeeded'));
Injectable()(Handlers);

const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    TypeOrmModule.forRoot({ type: onMariaDb ? 'mariadb' : 'postgres', url: DATABASE_URL }),
    EventEmitterModule.forRoot(),
    PaymentAcceptanceModule.forRootAsync({ useFactory: () => optionsFromJson(PAYMENT_OPTIONS) }),
  ],
  providers: [Handlers],
})(Host);

const clock = new ManualPaymentClock();
clock.advance(Number(CLOCK_AHEAD_MS));
const module = await Test.createTestingModule({ imports: [Host] })
  .overrideProvider(PaymentProbe)
  .useValue(probe)
  .overrideProvider(PaymentClock)
  .useValue(clock)
  .compile();
const app = module.createNestApplication({ logger: ['error'], forceCloseConnections: true });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();

/** @type {(verb: string, path: string, body: object) => Promise<any>} */
const sandbox = async (verb, path, body) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${SANDBOX_URL}/sandbox/${path}`, { method: verb, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};
await sandbox('PUT', 'shops/shop-main', {
  resultUrl: `${url}/postback/payment`,
  successUrl: `${url}/redirect/payment/success`,
  failUrl: `${url}/redirect/payment/fail`,
});

/**
 * Also marks what happens outside the module, so that it gets kill points of its own.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 */
async function step(name, work) {
  probe.reached(`before ${name}`);
  const result = await work();
  probe.reached(`after ${name}`);
  return result;
}

/**
 * @param {string} billId
 * @param {import('nestjs-payment-sandbox').PayInput} input
 */
async function pay(billId, input) {
  const { redirect } = await step('the payment', () => sandbox('POST', `bills/${billId}/pay`, input));
  // Answers once the postback has been sent and answered.
  await step('the postback', () => sandbox('POST', 'clock', { advance: '0s' }));
  await step('the redirect', async () => {
    const page = await fetch(redirect.url, { method: 'POST', body: new URLSearchParams(redirect.fields) });
    if (!page.ok) throw new Error(`The payer's redirect led to ${page.status}.`);
  });
  await work();
}

async function work() {
  const { checks, deliveries } = app.get(PaymentWorkers);
  for (const worker of [checks, deliveries]) {
    while ((await worker.runOnce()) > 0);
  }
}

/** Longer than the backoff after a first failure, and than the minimum time between two checks of a bill. */
async function later() {
  clock.advance(10_000);
  await work();
}

const bill = { orderId: ORDER_ID, amount: '10.00' };
const { billId } = await step('the order', () => app.get(PaymentAcceptanceService).createBill(bill));
if (troubled) {
  await pay(billId, { outcome: 'fail' });
  await later();
}
await pay(billId, {});
if (troubled) await later();
await app.close();
if (KILL_AT === undefined) writeSync(1, JSON.stringify(points));
