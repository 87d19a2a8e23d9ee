import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { PaymentAcceptanceModule, OnPaymentSucceeded, PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { PaymentHandlerError } from 'nestjs-payment-acceptance/operations';
import { Effect, moduleOptions, startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { Starting } from '../support/starting.js';

let harness: Harness | undefined;
const starting = new Starting();

describe('roles', () => {
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness?.close();
    harness = undefined;
    await starting.close('drop');
  });

  const open = async (options: HarnessOptions): Promise<Harness> => (harness = await startHarness(options));

  describe('role', () => {
    test('the role "callbacks" receives callbacks and runs no worker', async () => {
      const { host, sandbox, ...rest } = await open({
        extras: { role: 'callbacks' },
        options: { autoStart: true },
        providers: [EffectWriter],
      });
      const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
      await sandbox.pay(billId);
      await sandbox.settled();
      expect((await host.ledger()).callbacks).toMatchObject([{ kind: 'postback', pending: true }]);
      expect(await host.deliveries.runOnce()).toBe(0);
      expect(await rest.effects()).toEqual([]);
    });

    test('the role "workers" has no routes, and settles what is due', async () => {
      const { host, sandbox, clock, settle, effects } = await open({
        extras: { role: 'workers' },
        providers: [EffectWriter],
      });
      const { billId, orderId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
      for (const path of ['postback/payment', 'redirect/payment/success', 'redirect/payment/fail']) {
        expect(
          (await postJson(`${host.url}/${path}`, postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId })))
            .status,
        ).toBe(404);
      }
      await sandbox.pay(billId);
      clock.advance(60_000);
      await settle();
      expect(await effects()).toMatchObject([{ event: 'payment.succeeded', orderId: 'A-1' }]);
    });

    test('the role "all" with autoStart does both, and stops with the application', async () => {
      let taken = (): void => undefined;
      const done = new Promise<void>((resolve) => (taken = resolve));
      @Injectable()
      class Listener {
        @OnPaymentSucceeded({ consumer: 'listener' })
        take(): void {
          taken();
        }
      }
      const { host, sandbox } = await open({ options: { autoStart: true }, providers: [Listener] });
      const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
      await sandbox.pay(billId);
      await done;
    });
  });

  describe('several shops', () => {
    test('several shops have orders, bills, routes and events of their own', async () => {
      @Injectable()
      class EuOrders {
        @OnPaymentSucceeded({ consumer: 'eu-orders', shops: ['eu'] })
        async take(
          { paymentId, orderId, name, shop }: { paymentId: string; orderId: string; name: string; shop: string },
          { manager }: { manager: { insert(type: typeof Effect, row: object): Promise<unknown> } },
        ): Promise<void> {
          await manager.insert(Effect, { consumer: shop, event: name, paymentId, orderId });
        }
      }
      const { host, sandbox, settle, effects } = await open({ providers: [EuOrders, EffectWriter] });
      const [main, eu] = [host.payments.shop(), host.payments.shop('eu')];
      const bills = [
        await main.createBill({ orderId: 'A-1', amount: '1' }),
        await eu.createBill({ orderId: 'A-1', amount: '2' }),
      ];
      expect(bills.map(({ currency, attempt }) => [currency, attempt])).toEqual([['RUB', 1], ['EUR', 1]]); // prettier-ignore
      await sandbox.pay(bills[1]!.billId);
      await settle();
      expect((await effects()).map(({ consumer, orderId }) => [consumer, orderId]).sort()).toEqual([
        ['eu', 'A-1'],
        ['orders', 'A-1'],
      ]);
      expect([(await main.findBills('A-1'))[0]!.state, (await eu.findBills('A-1'))[0]!.state]).toEqual([
        'OPEN',
        'PAID',
      ]);
      await sandbox.pay(bills[0]!.billId);
      await settle();
      expect((await effects()).map(({ consumer }) => consumer).sort()).toEqual(['eu', 'orders', 'orders']);
    });
  });

  describe('unreliable handlers', () => {
    @Injectable()
    class Twins {
      @OnPaymentSucceeded({ consumer: 'orders' })
      one(): void {}
      @OnPaymentSucceeded({ consumer: 'orders' })
      other(): void {}
    }

    test('two handlers with the same consumer and event fail the start', async () => {
      const root = PaymentAcceptanceModule.forRoot(moduleOptions('https://api.example'));
      await expect(starting.start([root], { providers: [Twins] })).rejects.toThrow(PaymentHandlerError);
    });
  });

  describe('a host without its body parser', () => {
    const parserOff: HarnessOptions['prepare'] = (app) => {
      // Like NestFactory.create(AppModule, { bodyParser: false }): init registers no parsers.
      Object.assign((app as unknown as { appOptions: object }).appOptions, { bodyParser: false });
    };

    test.each(['express', 'fastify'] as const)(
      'a host with its body parser off takes callbacks on %s',
      async (adapter) => {
        const { host } = await open({ adapter, prepare: parserOff });
        const { billId } = await host.payments.createBill({ orderId: `A-${adapter}`, amount: '1' });
        const fields = postbackFields({ InvId: `A-${adapter}`, OutSum: '1.00', TrsId: billId });
        const answers = [
          await postJson(`${host.url}/postback/payment`, fields),
          await postForm(`${host.url}/postback/payment`, fields),
          await postForm(`${host.url}/redirect/payment/success`, fields),
        ];
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 303]);
      },
    );
  });

  test('a host without EventEmitterModule and without handlers starts', async () => {
    const module = await starting.start([PaymentAcceptanceModule.forRoot({ ...moduleOptions('https://api.example') })]);
    expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
  });
});
