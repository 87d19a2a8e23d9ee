import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentClock, PaymentTestingError, type PaymentTesting } from 'nestjs-payment-acceptance/testing';
import { Checkout, Mailer } from './host.js';
import { hostsOfTests } from './support/hosts.js';

describe('testing', () => {
  const hosts = hostsOfTests();
  let payments: PaymentTesting;
  beforeEach(async () => {
    payments = await hosts.startPayments();
  });

  describe("payments in a host's tests", () => {
    test('pay() and settled() get an order paid', async () => {
      const app = await hosts.create();
      await payments.attach(app);
      const checkout = app.get(Checkout, { strict: false });
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('a payment can fail, and the next one succeed', async () => {
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      expect((await payments.fail(orderId)).payment.status).toBe('FAIL');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('failed');
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('an order id can be used again once the ledger is empty', async () => {
      const app = await hosts.create();
      await payments.attach(app);
      const createBill = () =>
        app.get(PaymentAcceptanceService, { strict: false }).createBill({ orderId: 'again-1', amount: '10.00' });
      await createBill();
      await payments.pay('again-1');
      await payments.settled();
      await expect(createBill()).rejects.toThrow('the order is already paid');
      await payments.clearLedger();
      await createBill();
      expect((await payments.fail('again-1')).payment.status).toBe('FAIL');
      await payments.settled();
      expect(await app.get(PaymentAcceptanceService, { strict: false }).findBills('again-1')).toMatchObject([
        { attempt: 1, state: 'OPEN' },
      ]);
    });

    test('a payment whose postback is dropped is found by scheduled checks', async () => {
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      await payments.dropPostbacks();
      await payments.pay(orderId, { returns: false });
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('pending');
      await payments.clock.advance('1m');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      await payments.dropPostbacks(false);
      const next = await checkout.begin();
      await payments.pay(next.orderId, { returns: false });
      await payments.settled();
      expect(await checkout.status(next.orderId)).toBe('paid');
    });

    test('pay() returns the page of the application to which the payer comes back', async () => {
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      const { page } = await payments.pay(orderId);
      expect(page).toMatchObject({ status: 200, html: expect.stringContaining('Checking your payment') });
      await payments.settled();
      expect(await (await fetch(page!.url)).text()).toContain('Payment received');
    });

    test('pay() works for another shop, and asks for the shop of an ambiguous order id', async () => {
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin('eu');
      expect((await payments.pay(orderId)).payment.currency).toBe('EUR');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      const both = await checkout.begin('main', 'twice');
      await checkout.begin('eu', both.orderId);
      await expect(payments.pay('twice')).rejects.toThrow('has bills in several shops: specify one of main, eu');
      expect((await payments.pay('twice', { shop: 'main' })).payment.currency).toBe('RUB');
    });

    test('a slow payment settles after its time has passed, on both clocks', async () => {
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      const slow = await payments.pay(orderId, { card: '4000 0000 0000 0077' });
      expect(slow).toMatchObject({ payment: { status: 'PROCESS' }, page: undefined });
      await payments.clock.advance('1m');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      const module = hosts.apps[0]!.get(PaymentClock, { strict: false });
      await payments.clock.advance('3d');
      const clocks = [module.now().getTime(), payments.clock.now().getTime(), Date.parse(payments.sandbox.now())];
      expect(Math.max(...clocks) - Math.min(...clocks)).toBeLessThan(1_000);
      expect(clocks[0]! - Date.now()).toBeGreaterThan(3 * 86_400_000);
    });
  });

  describe('settled()', () => {
    test('settled() retries a failing handler, and names one that fails for good with its error', async () => {
      const checkout = await hosts.start();
      const mailer = hosts.apps[0]!.get(Mailer, { strict: false });
      const { orderId } = await checkout.begin();
      mailer.failures = 3;
      await payments.pay(orderId);
      await payments.settled();
      expect([mailer.sent, await checkout.status(orderId)]).toEqual([1, 'paid']);

      const next = await checkout.begin();
      mailer.failures = Infinity;
      await payments.pay(next.orderId);
      const failing = payments.settled();
      await expect(failing).rejects.toThrow(PaymentTestingError);
      await expect(failing).rejects.toThrow(
        `payment.succeeded of order "${next.orderId}" (shop "main") to "mails", after 60 attempts: Error: the mail server is away.`,
      );
      expect(await checkout.status(next.orderId)).toBe('paid');
    });

    test('settled() ignores dead letters that were there before', async () => {
      const failing = await hosts.start();
      hosts.apps[0]!.get(Mailer, { strict: false }).failures = Infinity;
      await payments.pay((await failing.begin()).orderId);
      await expect(payments.settled()).rejects.toThrow('Handlers have failed for good');
      await payments.close();
      payments = await hosts.startPayments();
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('settled() warns of a delivery that is retried later, as where a handler finds no order', async () => {
      const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      hosts.apps[0]!.get(Mailer, { strict: false }).hasNoOrder = true;
      await payments.pay(orderId);
      await payments.settled();
      expect(warned.mock.calls.map(([text]) => text)).toEqual([
        expect.stringMatching(/^payment\.succeeded to "mails" has failed; retried later\. PaymentOrderNotFoundError: /),
      ]);
      warned.mockRestore();
    });

    test('settled() asks about a bill that only a postback names', async () => {
      await hosts.start();
      const service = hosts.apps[0]!.get(PaymentAcceptanceService, { strict: false });
      await payments.sandbox.setFaults({ requests: { loseAnswer: 1 } });
      await expect(service.createBill({ orderId: 'unheard', amount: '10' })).rejects.toThrow();
      await payments.sandbox.clearFaults();
      await payments.sandbox.pay(payments.sandbox.bills()[0]!.id);
      await payments.clock.advance('1h');
      await payments.settled();
      const operations = hosts.apps[0]!.get(PaymentOperations, { strict: false });
      expect(await operations.lostBills()).toMatchObject([{ namedOrderId: 'unheard' }]);
      await payments.clearLedger();
    });

    test('an application that was closed is left out, and another one goes on where it ended', async () => {
      const first = await hosts.start();
      const { orderId } = await first.begin();
      await hosts.apps[0]!.close();
      await expect(payments.settled()).rejects.toThrow('No open application is attached');
      const [second] = [await hosts.start(), await hosts.start()];
      await hosts.apps.at(-1)!.close();
      await payments.pay(orderId);
      await payments.settled();
      expect(await second.status(orderId)).toBe('paid');
    });

    test('settled() drives several instances on one database', async () => {
      const [first, second] = [await hosts.start(), await hosts.start()];
      const orders = [await first.begin(), await second.begin()];
      for (const { orderId } of orders) await payments.pay(orderId);
      await payments.settled();
      for (const { orderId } of orders) expect(await first.status(orderId)).toBe('paid');
    });
  });
});
