import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  getPaymentShopToken,
  InjectPaymentShop,
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentShop,
  type CreateBillRequest,
} from 'nestjs-payment-acceptance';
import { moduleOptions } from '../support/harness.js';
import { Starting } from '../support/starting.js';

/** A host's service that uses both kinds of injection and has a handler. */
@Injectable()
class Checkout {
  constructor(
    @InjectPaymentShop('eu') readonly eu: PaymentShop,
    readonly payments: PaymentAcceptanceService,
  ) {}

  async pay(orderId: string): Promise<string> {
    return (await this.eu.createBill({ orderId, amount: '1.00' })).linkPageUrl;
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  markPaid(): void {}
}
@Module({ imports: [PaymentAcceptanceModule.forFeature('eu')], providers: [Checkout], exports: [Checkout] })
class CheckoutModule {}

/** A feature of the host that uses a shop, but nothing else of the module. */
@Injectable()
class EuCart {
  constructor(@InjectPaymentShop('eu') readonly shop: PaymentShop) {}
}
@Module({ imports: [PaymentAcceptanceModule.forFeature('eu')], providers: [EuCart], exports: [EuCart] })
class EuCartModule {}

const fake = {
  asked: [] as CreateBillRequest[],
  createBill(request: CreateBillRequest) {
    this.asked.push(request);
    return Promise.resolve({ linkPageUrl: `https://pay.example/${request.orderId}` });
  },
};
const payments = { createBill: () => Promise.resolve({ linkPageUrl: 'https://pay.example/fake' }) };

const starting = new Starting();
const open: TestingModule[] = [];

describe("overriding in a host's tests", () => {
  afterEach(async () => {
    for (const module of open.splice(0)) await module.close();
    await starting.close('keep');
  });
  afterAll(() => starting.close('drop'));

  test('a shop can be replaced by its token, without affecting the rest', async () => {
    const url = await starting.url();
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url }),
        PaymentAcceptanceModule.forRoot(moduleOptions('http://127.0.0.1:1')),
        CheckoutModule,
      ],
    })
      .overrideProvider(getPaymentShopToken('eu'))
      .useValue(fake)
      .compile();
    open.push(module);
    await module.init();
    const checkout = module.get(Checkout, { strict: false });
    expect(await checkout.pay('A-1')).toBe('https://pay.example/A-1');
    expect(fake.asked).toEqual([{ orderId: 'A-1', amount: '1.00' }]);
    expect(checkout.payments).toBeInstanceOf(PaymentAcceptanceService);
  });

  test('PaymentAcceptanceService can be replaced by its class, without affecting shops that are injected by name', async () => {
    const url = await starting.url();
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url }),
        PaymentAcceptanceModule.forRoot(moduleOptions('http://127.0.0.1:1')),
        CheckoutModule,
      ],
    })
      .overrideProvider(PaymentAcceptanceService)
      .useValue(payments)
      .compile();
    open.push(module);
    await module.init();
    const checkout = module.get(Checkout, { strict: false });
    expect(await checkout.payments.createBill({ orderId: 'A-1', amount: '1' })).toMatchObject({
      linkPageUrl: 'https://pay.example/fake',
    });
    expect(checkout.eu).toBeInstanceOf(PaymentShop);
    expect(module.get(Symbol.for('nestjs-payment-acceptance/PaymentAcceptanceService'), { strict: false })).toBe(
      payments,
    );
  });

  test('a feature module needs neither the module itself nor a database', async () => {
    const module = await Test.createTestingModule({ imports: [EuCartModule] })
      .overrideProvider(getPaymentShopToken('eu'))
      .useValue(fake)
      .compile();
    open.push(module);
    expect(module.get(EuCart, { strict: false }).shop).toBe(fake);
  });
});
