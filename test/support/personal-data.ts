import { Injectable } from '@nestjs/common';
import {
  OnBillExpired,
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentNonRetryableError,
  type BillExpiredEvent,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import type { DataSource, EntityManager } from 'typeorm';
import { ON_MARIADB } from './database.js';
import { Effect, type Harness } from './harness.js';
import { postbackFields, postJson } from './http.js';

/** In every personal text of these tests. */
export const PERSON = 'Jane Roe';
export const CARD = '5555555555554444';
export const MASKED = '555555******4444';

type Taken = PaymentSucceededEvent | PaymentFailedEvent | BillExpiredEvent;

/** A host's handler: keeps what it gets, refuses the orders that it is told to, and writes one row per outcome. */
@Injectable()
export class Clerk {
  static readonly taken: Taken[] = [];
  static readonly refused = new Set<string>();
  /** Done once, within the next call. */
  static meanwhile: (() => Promise<unknown>) | undefined;

  @OnPaymentSucceeded({ consumer: 'clerk' })
  @OnPaymentFailed({ consumer: 'clerk' })
  @OnBillExpired({ consumer: 'clerk' })
  async take(event: Taken, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const { meanwhile } = Clerk;
    Clerk.meanwhile = undefined;
    await meanwhile?.();
    if (Clerk.refused.has(event.orderId)) throw new PaymentNonRetryableError(`${PERSON} is not known here`);
    Clerk.taken.push(event);
    if (event.name === 'bill.expired') return;
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'clerk', event: name, paymentId, orderId });
  }

  /** What it got of an order. */
  static of(orderId: string): Taken[] {
    return Clerk.taken.filter((event) => event.orderId === orderId);
  }
}

/** Creates a bill with a personal text in every field that takes one. */
export async function billOf(harness: Harness, orderId: string): Promise<string> {
  const { billId } = await harness.host.payments.createBill({
    orderId,
    amount: '10',
    description: `Shoes for ${PERSON}`,
    name: `Order of ${PERSON}`,
    custom: `${PERSON}, ${orderId}`,
  });
  return billId;
}

export function payByCard(harness: Harness, billId: string, outcome: 'success' | 'fail' = 'success') {
  return harness.sandbox.pay(billId, { card: CARD, outcome });
}

/** A postback with a field that names the payer. */
export async function tell(
  harness: Harness,
  orderId: string,
  billId: string,
  custom = `${PERSON}, ${orderId}`,
): Promise<number> {
  const fields = postbackFields({ InvId: orderId, OutSum: '10.00', TrsId: billId });
  const body = { ...fields, custom, PayerEmail: PERSON };
  return (await postJson(`${harness.host.url}/postback/payment`, body)).status;
}

/** Pays a bill whose records then hold personal text wherever there can be some; its event becomes a dead letter. */
export async function paidWithTraces(harness: Harness, orderId: string): Promise<string> {
  const billId = await billOf(harness, orderId);
  Clerk.refused.add(orderId);
  await payByCard(harness, billId);
  await tell(harness, orderId, billId);
  await harness.settle();
  const operations = harness.host.app.get(PaymentOperations);
  const [dead] = await operations.deadLetters({ orderId });
  await operations.replay({ deliveryId: dead!.deliveryId }, { operator: 'ann', note: `${PERSON} has called` });
  await harness.settle();
  Clerk.refused.delete(orderId);
  return billId;
}

interface Column {
  readonly table: string;
  readonly column: string;
}

/** Every column of the module's tables. */
export async function columnsOf(dataSource: DataSource): Promise<Column[]> {
  const [schema, prefix] = ON_MARIADB ? ['DATABASE()', 'payment_acceptance_'] : [`'payment_acceptance'`, ''];
  const rows: { t: string; c: string }[] = await dataSource.query(
    `SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = ${schema}`,
  );
  return rows.filter(({ t }) => t.startsWith(prefix)).map(({ t, c }) => ({ table: t.slice(prefix.length), column: c }));
}

/** The columns of the module's tables that hold the text anywhere, in any row and in JSON. */
export async function placesOf(dataSource: DataSource, text: string): Promise<string[]> {
  const tables = new Set((await columnsOf(dataSource)).map(({ table }) => table));
  const places = new Set<string>();
  for (const table of tables) {
    const rows: Record<string, unknown>[] = await dataSource.query(`SELECT * FROM payment_acceptance.${table}`);
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        if (JSON.stringify(value).includes(text)) places.add(`${table}.${column}`);
      }
    }
  }
  return [...places].sort();
}
