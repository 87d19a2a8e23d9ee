// What all hosts with a queue share: route, validation, digest and question of paying-tutorial.mjs, a row for each callback and
// payment, and the host's transaction. What each queue does with a postback is its own file.
import { HttpModule, HttpService } from '@nestjs/axios';
import { Body, Controller, ForbiddenException, HttpCode, Inject, Post, ValidationPipe } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { createHash } from 'node:crypto';
import { firstValueFrom } from 'rxjs';
import { options } from './contestant.mjs';
import { method, provider, serve } from './nest.mjs';
import { databaseOf, Order } from './orders.mjs';
import { SHOP } from './postback-bodies.mjs';
import { PostbackDto } from './tutorial-dto.mjs';

/** @typedef {import('./tutorial-dto.mjs').Postback} Postback */
/** @typedef {{ id: string; status: string; amount: string }} Payment */
/** @typedef {(text: string, values: unknown[]) => Promise<unknown>} Execute a statement */
/** @typedef {(postback: Postback) => Promise<void>} Take a postback whose digest is right */

const TABLES = `
  CREATE TABLE IF NOT EXISTS callback (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, bill_id text NOT NULL,
    order_id text NOT NULL, status text NOT NULL, body jsonb NOT NULL, received_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX IF NOT EXISTS callback_bill ON callback (bill_id);
  CREATE TABLE IF NOT EXISTS payment (payment_id text PRIMARY KEY, bill_id text NOT NULL, status text NOT NULL,
    amount numeric(10, 2) NOT NULL, first_seen_at timestamptz NOT NULL DEFAULT now())`;
const CALLBACK = 'INSERT INTO callback (bill_id, order_id, status, body) VALUES ($1, $2, $3, $4)';
const PAYMENT =
  'INSERT INTO payment (payment_id, bill_id, status, amount) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING';
const ORDER = `UPDATE shop_order SET status = 'paid', "paidAmount" = $2, "paidAt" = $3 WHERE "billId" = $1`;

/** pg-boss takes a UUID as a job's id: one of the bill's, so that its second postback makes no second job. */
export const jobIdOf = (/** @type {Postback} */ { TrsId }) => createHash('md5').update(TrsId).digest('hex');

/** A host with its data source and HTTP client. */
export class QueuedHost {
  /**
   * @param {import('typeorm').DataSource} dataSource
   * @param {HttpService} http
   */
  constructor(dataSource, http) {
    this.dataSource = dataSource;
    this.http = http;
  }

  /**
   * Stores a callback, in a transaction or by itself.
   * @param {{ query: Execute }} runner
   * @param {Postback} postback
   */
  store(runner, postback) {
    const { TrsId, InvId, Status } = postback;
    return runner.query(CALLBACK, [TrsId, InvId, Status, JSON.stringify(postback)]);
  }

  /**
   * The payment of a bill, as the service lists it; throws while there is none, so that the queue tries again.
   * @param {string} billId
   * @returns {Promise<Payment>}
   */
  async ask(billId) {
    /** @type {{ data: { data: Payment[] } }} */
    const { data: answer } = await firstValueFrom(
      this.http.get(`${options.serviceUrl}/api/v1/bill/payments`, {
        params: { id: billId },
        headers: { Authorization: `Bearer ${SHOP.token}` },
      }),
    );
    const payment = answer.data.find(({ status }) => status === 'SUCCESS');
    if (!payment) throw new Error(`${billId} is not paid yet.`);
    return payment;
  }

  /**
   * Asks, and writes payment and order in one transaction.
   * @param {string} billId
   */
  async settle(billId) {
    const payment = await this.ask(billId);
    await this.dataSource.transaction(async (manager) => {
      await manager.query(PAYMENT, [payment.id, billId, payment.status, payment.amount]);
      await manager.update(Order, { billId }, { status: 'paid', paidAmount: payment.amount, paidAt: new Date() });
    });
  }

  /**
   * Writes payment and order in a transaction that somebody else has begun.
   * @param {Execute} execute
   * @param {string} billId
   * @param {Payment} payment
   */
  async settleIn(execute, billId, payment) {
    await execute(PAYMENT, [payment.id, billId, payment.status, payment.amount]);
    await execute(ORDER, [billId, payment.amount, new Date()]);
  }
}

/**
 * Starts the host.
 * @param {(host: QueuedHost) => Promise<Take>} start starts its queue, and gives what takes a postback
 * @param {Record<string, () => unknown>} [handlers]
 */
export async function serveQueued(start, handlers = {}) {
  /** @type {Take} */
  let take;

  class Postbacks {
    /**
     * @param {import('typeorm').DataSource} dataSource
     * @param {HttpService} http
     */
    constructor(dataSource, http) {
      this.host = new QueuedHost(dataSource, http);
    }

    async onModuleInit() {
      await this.host.dataSource.query(TABLES);
      take = await start(this.host);
    }

    /** @param {Postback} postback */
    async take(postback) {
      const { OutSum, InvId, SignatureValue } = postback;
      const digest = createHash('md5').update(`${OutSum}:${InvId}:${SHOP.token}`).digest('hex').toUpperCase();
      if (digest !== SignatureValue) throw new ForbiddenException();
      await take(postback);
      return 'OK';
    }
  }
  method(Postbacks, 'take', [Post('postback'), HttpCode(200)], [[Body(), PostbackDto]]);
  provider(Postbacks, Controller(), [Inject(getDataSourceToken()), Inject(HttpService)]);

  await serve(
    options.adapter,
    '/postback',
    { imports: [databaseOf(options), HttpModule], controllers: [Postbacks] },
    (app) => app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true })),
    () => handlers,
  );
}
