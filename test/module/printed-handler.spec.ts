import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentHealthIndicator, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import typescript from 'typescript';
import { OrderPayments } from '../../examples/nest12-esm-fastify/src/order-payments.js';
import { Order } from '../../examples/nest12-esm-fastify/src/order.entity.js';
import { OrderEvent } from '../../apps/shop/src/orders/order.entity.js';
import { OrderPayments as ShopPayments } from '../../apps/shop/src/orders/order-payments.js';
import { Order as ShopOrder } from '../../apps/shop/src/orders/order.entity.js';
import { startHarness, type Harness } from '../support/harness.js';

const root = path.resolve(import.meta.dirname, '../..');
/** Where the handler is printed that {@link OrderPayments} is. */
const PRINTED = [
  'README.md',
  'docs/getting-started.md',
  'examples/bullmq-handover/src/shipping.ts',
  'examples/callbacks-and-workers/src/order-payments.ts',
  'examples/nest11-cjs-migrations/src/orders.controller.ts',
  'examples/nest12-esm-fastify/src/order-payments.ts',
  'libs/payment-acceptance/README.md',
  'libs/payment-acceptance/src/cli/init-code.ts',
  'test/hosts/app/orders.service.ts',
];
/** Prints one that pays failed orders, too. */
const ONE_MORE_STATE = 'docs/events.md';
/** Other layers have other statements; test:hosts runs the examples. */
const OF_ANOTHER_LAYER = [
  'docs/data-layers.md',
  ...['prisma', 'drizzle', 'kysely'].map((layer) => `examples/${layer}/src/order-payments.ts`),
];
/** Of a service that receives events, which has no `requireOrder`. */
const RECEIVING = 'docs/brokers.md';
/** The statements of the handler. `init` names the entity by a string, and some import the package as a whole. */
const STATEMENTS = [
  'const { orderId: id, billedAmount: amount, currency, paymentId } = event;',
  'const order = { id, amount, currency };',
  "const { affected } = await manager.update(Order, { ...order, status: 'pending' }, { status: 'paid' });",
  'if (!affected) requireOrder(event, await manager.update(Order, order, { note: `Payment ${paymentId}` }));',
];

describe('the documented handler', () => {
  test.each(PRINTED)('the documented handler is the same in %s', (file) => {
    const printed = fs
      .readFileSync(path.join(root, file), 'utf8')
      .replaceAll('payment.require', 'require')
      .replaceAll('\\', '');
    for (const statement of STATEMENTS) expect(printed.replaceAll("'Order'", 'Order')).toContain(statement);
  });

  test('only the documented handlers read the amount that was paid', () => {
    const taking = [
      '-nE',
      String.raw`\{[^}]*\bamount\b[^}]*\} = event`,
      '--',
      '.',
      ':!test/module/printed-handler.spec.ts',
    ];
    const lines = execFileSync('git', ['grep', ...taking], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter(Boolean);
    expect(lines.filter((line) => !line.includes('billedAmount: amount'))).toEqual([]);
    expect(new Set(lines.map((line) => line.split(':')[0]))).toEqual(
      new Set([...PRINTED, ONE_MORE_STATE, RECEIVING, ...OF_ANOTHER_LAYER]),
    );
  });
});

describe('effects of the documented handler', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ providers: [OrderPayments], entities: [Order] });
    await harness.sandbox.putShop('shop-main', { commissionPercent: 3 });
    await harness.host.dataSource.synchronize();
  });
  afterAll(() => harness.close());

  const orders = () => harness.host.dataSource.getRepository(Order);
  const statusOf = async (id: string) => (await orders().findOneByOrFail({ id })).status;
  const reviews = () => harness.host.app.get(PaymentReviews);

  async function buy(order: { amount: string; currency?: string; payerPaysCommission?: boolean; paid?: string }) {
    const { amount, currency = 'RUB', payerPaysCommission = false, paid } = order;
    const { id } = await orders().save({ amount, currency });
    const shop = currency === 'EUR' ? harness.host.payments.shop('eu') : harness.host.payments;
    const { billId } = await shop.createBill({ orderId: id, amount, payerPaysCommission });
    await harness.sandbox.pay(billId, paid === undefined ? {} : { amount: paid });
    await harness.settle();
    return id;
  }

  test.each([
    ['what was billed', { amount: '100.00' }],
    ['with the commission of the payer on top', { amount: '100.00', payerPaysCommission: true }],
    ['more than was billed', { amount: '100.05', paid: '120.00' }],
    ['in the currency of another shop', { amount: '50.00', currency: 'EUR' }],
  ])('the documented handler marks an order as paid after a payment: %s', async (_what, order) => {
    expect(await statusOf(await buy(order))).toBe('paid');
  });

  test('the documented handler marks an order as paid for less, once a person has accepted the payment', async () => {
    const id = await buy({ amount: '100.00', paid: '60.00' });
    expect(await statusOf(id)).toBe('pending');
    const [review] = (await reviews().list()).filter(({ orderId }) => orderId === id);
    await reviews().accept(review!.id, { operator: 'ann' });
    await harness.settle();
    expect(await statusOf(id)).toBe('paid');
  });

  test('the documented handler leaves a cancelled order cancelled, with a note for a person', async () => {
    const { id } = await orders().save({ amount: '100.00', currency: 'RUB' });
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    await orders().update({ id }, { status: 'cancelled' });
    const { payment } = await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await orders().findOneByOrFail({ id })).toMatchObject({
      status: 'cancelled',
      note: `Payment ${payment.id}`,
    });
  });

  test('the cancellation in events.md cancels an order, and can be repeated', async () => {
    const page = fs.readFileSync(path.join(root, 'docs/events.md'), 'utf8');
    const [, printed = ''] = /export (async function cancel[^`]*)/.exec(page) ?? [];
    const { outputText } = typescript.transpileModule(printed, {
      compilerOptions: { target: typescript.ScriptTarget.ES2022 },
    });
    type Cancel = (payments: unknown, database: unknown, id: string) => Promise<void>;
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'printed-')), 'cancel.mjs');
    // The document uses the reader's entity.
    fs.writeFileSync(file, `export function of(Order) { ${outputText}; return cancel; }`);
    const { of } = (await import(file)) as { of: (entity: unknown) => Cancel };
    const cancel = of(Order);
    const { id } = await orders().save({ amount: '100.00', currency: 'RUB' });
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    for (const _time of [1, 2]) await cancel(harness.host.payments, harness.host.dataSource, id);
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await orders().findOneByOrFail({ id })).toMatchObject({ status: 'cancelled', note: null });
  });

  test('the documented handler leaves a paid order paid, and notes the second payment', async () => {
    const { id } = await orders().save({ amount: '100.00', currency: 'RUB' });
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    const another = await harness.host.payments.createBill({ orderId: id, amount: '100.00' }, { newAttempt: true });
    await harness.sandbox.pay(billId);
    await harness.settle();
    const { payment } = await harness.sandbox.pay(another.billId);
    await harness.settle();
    expect(await orders().findOneByOrFail({ id })).toMatchObject({ status: 'paid', note: `Payment ${payment.id}` });
  });

  test('the documented handler is not called for an order that the module knows to be cancelled', async () => {
    const { id } = await orders().save({ amount: '100.00', currency: 'RUB' });
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    await harness.host.payments.cancelOrder(id);
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await orders().findOneByOrFail({ id })).toMatchObject({ status: 'pending', note: null });
    expect((await reviews().list()).find(({ orderId }) => orderId === id)).toMatchObject({ reason: 'order-cancelled' });
  });

  test('the documented handler names what it looked for if the price has changed since', async () => {
    const { id } = await orders().save({ amount: '100.00', currency: 'RUB' });
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    await orders().update({ id }, { amount: '110.00' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await statusOf(id)).toBe('pending');
    const [failing] = await harness.host.dataSource.query<{ error: string }[]>(
      `SELECT last_error AS error FROM payment_acceptance.delivery WHERE last_error IS NOT NULL`,
    );
    expect(failing!.error).toBe(
      `PaymentOrderNotFoundError: The handler found nothing for order "${id}" (shop main, billed 100.00 RUB): ` +
        "the order does not exist, or does not match the handler's conditions.",
    );
    const { backlog } = (await harness.host.app.get(PaymentHealthIndicator).isHealthy('p')).p;
    expect(backlog?.failingConsumers).toMatchObject([{ consumer: 'orders', reason: 'order-not-found' }]);
  });
});

test('the sample shop marks an order as paid whose payment was accepted for less', async () => {
  const harness = await startHarness({ providers: [ShopPayments], entities: [ShopOrder, OrderEvent] });
  try {
    await harness.host.dataSource.synchronize();
    const orders = harness.host.dataSource.getRepository(ShopOrder);
    const id = randomUUID();
    const order = {
      id,
      shop: 'main',
      amount: '100.00',
      currency: 'RUB',
      description: 'Two cups',
      status: 'pending',
    } as const;
    await orders.insert(order);
    const { billId } = await harness.host.payments.createBill({ orderId: id, amount: '100.00' });
    await harness.sandbox.pay(billId, { amount: '60.00' });
    await harness.settle();
    const reviews = harness.host.app.get(PaymentReviews);
    await reviews.accept((await reviews.list())[0]!.id, { operator: 'ann' });
    await harness.settle();
    expect(await orders.findOneByOrFail({ id })).toMatchObject({ status: 'paid', paidAmount: '60.00', note: null });
  } finally {
    await harness.close();
  }
});
