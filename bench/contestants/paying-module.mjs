// The module as it is installed: it receives callbacks, asks the service, settles, and a durable handler updates the order.
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { options } from '../lib/contestant.mjs';
import { method, provider, serve } from '../lib/nest.mjs';
import { databaseOf, Order } from '../lib/orders.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';

// The service of the bench has no certificate, which the module accepts outside production only.
process.env.NODE_ENV = 'bench';

class Orders {
  async markPaid({ orderId: id, amount }, { manager }) {
    await manager.update(Order, { id }, { status: 'paid', paidAmount: amount, paidAt: new Date() });
  }
}
method(Orders, 'markPaid', [OnPaymentSucceeded({ consumer: 'orders' })]);
provider(Orders, Injectable());

await serve(options.adapter, '/postback/payment', {
  imports: [
    databaseOf(options),
    PaymentAcceptanceModule.forRoot({
      shops: { main: { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: options.serviceUrl } },
      migrations: 'run',
      ...options.module,
    }),
  ],
  providers: [Orders],
});
