// The module in a host whose operator acts on many deliveries while payments go on. `databaseUrl` names PostgreSQL or MariaDB.
import { Injectable } from '@nestjs/common';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';
import { eitherDatabase } from '../lib/orders.mjs';
import { AMOUNT, bodies, orderId, SHOP } from '../lib/postback-bodies.mjs';

// The service of the bench has no certificate, which the module accepts outside production only.
process.env.NODE_ENV = 'bench';

/** @type {Map<string, number>} When the handler of each order was done. */
const paid = new Map();

class Orders {
  /** @param {import('nestjs-payment-acceptance').PaymentSucceededEvent} event */
  async markPaid({ orderId: id }) {
    paid.set(id, performance.now());
  }
}
method(Orders, 'markPaid', [OnPaymentSucceeded({ consumer: 'orders' })]);
provider(Orders, Injectable());

const agent = new http.Agent({ keepAlive: true });
let made = 0;

/**
 * Postbacks of so many new bills a second; how long each took from its moment in the schedule to the end of the handler.
 * @param {import('@nestjs/common').INestApplication} app
 * @param {{ perSecond: number; seconds: number }} how
 */
async function pay(app, { perSecond, seconds }) {
  const [from, count] = [made, perSecond * seconds];
  made += count;
  const payments = app.get(PaymentAcceptanceService);
  for (let number = from; number < made; number++) {
    await payments.createBill({ orderId: orderId(number), amount: AMOUNT, custom: `cart ${number}` });
  }
  const url = `${await app.getUrl()}/postback/payment`;
  const began = performance.now();
  /** @param {number} index */
  const dueAt = (index) => began + (index / perSecond) * 1000;
  await Promise.all(
    bodies({ bills: count, from }).map(async (body, index) => {
      await sleep(dueAt(index) - performance.now());
      await post(url, body);
    }),
  );
  while (paid.size < made) await sleep(20);
  return Array.from({ length: count }, (_, index) => (paid.get(orderId(from + index)) ?? NaN) - dueAt(index));
}

/**
 * @param {string} url
 * @param {string} body
 */
function post(url, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      response
        .resume()
        .on('end', () =>
          response.statusCode === 200 ? resolve(undefined) : reject(new Error(`${response.statusCode}`)),
        );
    });
    request.on('error', reject).end(body);
  });
}

/**
 * @param {import('@nestjs/common').INestApplication} app
 * @param {'replay' | 'deliver'} action
 */
async function act(app, action) {
  const operations = app.get(PaymentOperations);
  const began = performance.now();
  const count =
    action === 'replay'
      ? await operations.replay({ consumer: 'mail' }, { operator: 'bench' })
      : await operations.deliverPastEvents({ consumer: 'late' }, { operator: 'bench' });
  return { count, seconds: (performance.now() - began) / 1000 };
}

await serve(
  'fastify',
  '/',
  {
    imports: [
      eitherDatabase(options.databaseUrl),
      PaymentAcceptanceModule.forRoot({
        shops: { [SHOP.name]: { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: options.serviceUrl } },
        migrations: 'run',
      }),
    ],
    providers: [Orders],
  },
  undefined,
  (app) => ({ pay: (how) => pay(app, how), act: (action) => act(app, action) }),
);
