// The module as it is installed: it receives callbacks, asks the service, settles, and a durable handler updates the order.
// `shops` are as many further shops, which a shop resolver has; `layer` is the data layer of the handler, unless it is TypeORM.
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';
import { databaseOf, Order } from '../lib/orders.mjs';
import { AMOUNT, orderId, SHOP, shopName } from '../lib/postback-bodies.mjs';

// The service of the bench has no certificate, which the module accepts outside production only.
process.env.NODE_ENV = 'bench';

const layer = options.layer ? await layerOf(options) : undefined;

class Orders {
  /**
   * @param {import('nestjs-payment-acceptance').PaymentSucceededEvent} event
   * @param {import('nestjs-payment-acceptance').PaymentEventContext<import('typeorm').EntityManager>} context
   */
  async markPaid({ orderId: id, amount }, { tx, manager }) {
    if (layer) {
      const set = `status = 'paid', "paidAmount" = ${amount}, "paidAt" = now()`;
      return void (await layer.send(tx, `UPDATE shop_order SET ${set} WHERE id = '${id}'`));
    }
    await manager.update(Order, { id }, { status: 'paid', paidAmount: amount, paidAt: new Date() });
  }
}
method(Orders, 'markPaid', [OnPaymentSucceeded({ consumer: 'orders' })]);
provider(Orders, Injectable());

/** @param {{ layer: string; databaseUrl: string; poolSize: number }} how */
async function layerOf({ layer: name, databaseUrl, poolSize }) {
  const { LAYERS } = await import('../../test/data-layers/layers.mjs');
  const kind = LAYERS.find((each) => each.name === name);
  if (!kind) throw new Error(`There is no layer ${name}.`);
  return kind.open(databaseUrl, poolSize);
}

const settings = { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: options.serviceUrl };
const names = Array.from({ length: options.shops ?? 0 }, (_, number) => shopName(number));
const known = new Set(names);
/** @type {import('nestjs-payment-acceptance').PaymentShopResolver} */
const shopResolver = {
  list: async () => names,
  find: async (name) => (known.has(name) ? { ...settings, shopId: `bench-${name}` } : undefined),
};

/**
 * Creates the bills of `count` orders, `abreast` at once.
 * @param {import('nestjs-payment-acceptance').PaymentAcceptanceService} payments
 * @param {{ from: number; count: number; abreast: number }} which
 */
async function create(payments, { from, count, abreast }) {
  let next = from;
  const caller = async () => {
    while (next < from + count) {
      const number = next++;
      const description = `Order ${number} of the bench`;
      await payments.createBill({ orderId: orderId(number), amount: AMOUNT, description, custom: `cart ${number}` });
    }
  };
  await Promise.all(Array.from({ length: abreast }, caller));
}

await serve(
  options.adapter,
  '/postback/payment',
  {
    imports: [
      databaseOf(options),
      PaymentAcceptanceModule.forRoot({
        shops: { [SHOP.name]: settings },
        ...(names.length > 0 && { shopResolver }),
        migrations: 'run',
        ...(layer && { transactions: layer.transactions }),
        ...options.module,
      }),
    ],
    providers: [Orders],
  },
  undefined,
  (app) => ({ create: (which) => create(app.get(PaymentAcceptanceService), which) }),
);
