import { Injectable } from '@nestjs/common';
import { errorType } from '../common/errors.js';
import { Telemetry, type RecordValue } from './telemetry.js';

/** Histogram buckets of lags, in seconds: from a postback confirmed at once to a scheduled check a day later. */
const LAG_BOUNDARIES = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400];

/** Histogram buckets of requests to the service, in seconds: to beyond the default of `http.totalTimeoutMs`. */
const REQUEST_BOUNDARIES = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

const MS_PER_SECOND = 1_000;

/**
 * The module's counters and times. Attributes have low cardinality: names of shops, consumers, events and operations,
 * and outcomes; never an id, an amount or outside text.
 */
@Injectable()
export class PaymentMetrics {
  private readonly creations: RecordValue;
  private readonly callbacks: RecordValue;
  private readonly checks: RecordValue;
  private readonly settlements: RecordValue;
  private readonly deliveries: RecordValue;
  private readonly callbackLag: RecordValue;
  private readonly paymentLag: RecordValue;
  private readonly deliveryLag: RecordValue;
  private readonly settlementLag: RecordValue;
  private readonly requests: RecordValue;

  constructor(telemetry: Telemetry) {
    const counter = (name: string, unit: string, description: string): RecordValue =>
      telemetry.counter(`payment_acceptance.${name}`, { unit, description });
    const time = (name: string, description: string, boundaries = LAG_BOUNDARIES): RecordValue =>
      telemetry.histogram(`payment_acceptance.${name}`, { unit: 's', description, boundaries });
    this.creations = counter('creations', '{call}', 'Calls to createBill, by outcome.');
    this.callbacks = counter('callbacks', '{callback}', 'Postbacks and redirects received, by outcome.');
    this.checks = counter('checks', '{check}', "Requests for a bill's payments, by outcome.");
    this.settlements = counter('settlements', '{event}', 'Domain events created by settlements.');
    this.deliveries = counter('deliveries', '{attempt}', 'Attempts to deliver an event to a consumer, by outcome.');
    this.callbackLag = time('callback.lag', 'From a postback to the settlement that confirms its claim.');
    this.paymentLag = time('payment.lag', "From the service's created_at of a payment to its settlement.");
    this.deliveryLag = time('delivery.lag', 'From a settlement to the end of a delivery of its event.');
    this.settlementLag = time(
      'settlement.lag',
      'From the first callback that asserts an outcome to the commit of a handler of the event for that outcome.',
    );
    this.requests = time(
      'requests.duration',
      'How long the service took to answer or fail a request.',
      REQUEST_BOUNDARIES,
    );
  }

  /** Counts the outcome of a `createBill` call: `ok`, or the code of its error. */
  async creation<T>(shop: string, call: Promise<T>): Promise<T> {
    const count = (outcome: string): void => this.creations(1, { 'payment.shop': shop, 'payment.outcome': outcome });
    try {
      const result = await call;
      count('ok');
      return result;
    } catch (error) {
      count(errorType(error));
      throw error;
    }
  }

  callback(shop: string, kind: string, digest: string, outcome: string): void {
    this.callbacks(1, {
      'payment.shop': shop,
      'payment.callback.kind': kind,
      'payment.callback.digest': digest,
      'payment.outcome': outcome,
    });
  }

  /** @param outcome `settled`, `unchanged`, `stale`, `released`, or the code of the error */
  check(shop: string, outcome: string): void {
    this.checks(1, { 'payment.shop': shop, 'payment.outcome': outcome });
  }

  /**
   * One attempt, not the whole request with its retries.
   * @param outcome `ok`, or the code of the error
   */
  request(shop: string, operation: string, outcome: string, ms: number): void {
    this.requests(seconds(ms), {
      'payment.shop': shop,
      'payment.operation': operation,
      'payment.outcome': outcome,
    });
  }

  settlement(shop: string, event: string): void {
    this.settlements(1, { 'payment.shop': shop, 'payment.event': event });
  }

  /** @param outcome `done`, `retried`, `unanswered`, `no-connection`, `dead` or `taken-over` */
  delivery(consumer: string, event: string, outcome: string): void {
    this.deliveries(1, { 'payment.consumer': consumer, 'payment.event': event, 'payment.outcome': outcome });
  }

  recordCallbackLag(shop: string, ms: number): void {
    this.callbackLag(seconds(ms), { 'payment.shop': shop });
  }

  lagOfPayment(shop: string, ms: number): void {
    this.paymentLag(seconds(ms), { 'payment.shop': shop });
  }

  lagOfDelivery(consumer: string, ms: number): void {
    this.deliveryLag(seconds(ms), { 'payment.consumer': consumer });
  }

  lagOfSettlement({ shop, consumer }: { readonly shop: string; readonly consumer: string }, ms: number): void {
    this.settlementLag(seconds(ms), { 'payment.shop': shop, 'payment.consumer': consumer });
  }
}

/** In seconds, and never negative, although two clocks may differ a little. */
function seconds(ms: number): number {
  return Math.max(0, ms) / MS_PER_SECOND;
}
