import { describe, expect, test } from '@jest/globals';
import { Controller, Injectable, type INestMicroservice, type Provider } from '@nestjs/common';
import { ClientsModule, EventPattern, Payload, Transport, type ClientProxy } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { OnPaymentSucceeded, PaymentAcceptanceModule, PaymentConfigurationError } from 'nestjs-payment-acceptance';
import { PaymentHandlerError } from 'nestjs-payment-acceptance/operations';
import {
  createPaymentInbox,
  processOnce,
  readPaymentEvent,
  type PaymentCloudEvent,
} from 'nestjs-payment-acceptance/inbox';
import { PaymentMicroservicesModule, type PaymentMicroservicesOptions } from 'nestjs-payment-acceptance/microservices';
import { createServer, type AddressInfo } from 'node:net';
import { EMPTY } from 'rxjs';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { Starting } from '../support/starting.js';
import { until } from '../support/until.js';

/** Another service, which takes payment events over TCP. */
@Controller()
class Accounting {
  readonly taken: PaymentCloudEvent[] = [];

  @EventPattern(['payment.succeeded', 'payment.failed'])
  take(@Payload() message: unknown): void {
    this.taken.push(readPaymentEvent(message));
  }
}

describe('microservices', () => {
  const closeLater = closing();

  async function startAccounting(
    port = 0,
  ): Promise<{ service: INestMicroservice; accounting: Accounting; port: number }> {
    const module = await Test.createTestingModule({ controllers: [Accounting] }).compile();
    const options = { port, host: '127.0.0.1' };
    const service = module.createNestMicroservice({ transport: Transport.TCP, options, logger: false });
    await service.listen();
    const server = service.unwrap<ReturnType<typeof createServer>>();
    closeLater(() => service.close());
    return { service, accounting: module.get(Accounting), port: (server.address() as AddressInfo).port };
  }

  /** A host that sends its events to the port. */
  async function startHost(port: number, options: Partial<PaymentMicroservicesOptions> = {}): Promise<Harness> {
    const clients = ClientsModule.register([
      { name: 'BUS', transport: Transport.TCP, options: { host: '127.0.0.1', port } },
    ]);
    const bus = PaymentMicroservicesModule.registerAsync({
      imports: [clients],
      inject: ['BUS'],
      useFactory: (client: ClientProxy) => ({ client, ...options }),
    });
    const harness = await startHarness({ imports: [bus] });
    closeLater(() => harness.close());
    return harness;
  }

  async function payAfterAFailure(harness: Harness, orderId: string): Promise<void> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '100.05' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
  }

  /** In settlement order. */
  const deliveriesOf = async (harness: Harness) =>
    (await harness.host.ledger()).events.toReversed().flatMap(({ deliveries }) => deliveries);

  describe('events through a client of @nestjs/microservices', () => {
    test('events sent through a client reach another service in order, in their envelope, and are taken once', async () => {
      const { accounting, port } = await startAccounting();
      const harness = await startHost(port, { source: 'https://shop.example/payments/' });
      await payAfterAFailure(harness, 'A-1');
      await harness.settle();
      await until(
        () => Promise.resolve(accounting.taken.length),
        (count) => count === 2,
      );
      const { events } = await harness.host.ledger();
      expect(accounting.taken).toEqual(
        events.toReversed().map(({ id, name, billId, occurredAt }) =>
          expect.objectContaining({
            specversion: '1.0',
            id,
            source: 'https://shop.example/payments/main',
            type: name,
            subject: 'A-1',
            partitionkey: billId,
            time: occurredAt,
            datacontenttype: 'application/json',
            data: expect.objectContaining({ id, name, orderId: 'A-1', amount: '100.05' }) as object,
          }),
        ),
      );
      expect(accounting.taken.map(({ type }) => type)).toEqual(['payment.failed', 'payment.succeeded']);
      expect(await deliveriesOf(harness)).toMatchObject(
        Array.from({ length: 2 }, () => ({ consumer: 'microservices', state: 'DONE', attempts: 1 })),
      );

      await createPaymentInbox(harness.host.dataSource.manager);
      const ran: boolean[] = [];
      for (const event of [...accounting.taken, ...accounting.taken]) {
        ran.push(await processOnce(harness.host.dataSource.manager, event, () => Promise.resolve()));
      }
      expect(ran).toEqual([true, true, false, false]);
    });

    test('events wait without an attempt while the other service is away, and go out when it is back', async () => {
      const first = await startAccounting();
      const harness = await startHost(first.port);
      await first.service.close();
      await payAfterAFailure(harness, 'A-1');
      await harness.settle();
      expect(await deliveriesOf(harness)).toMatchObject(
        Array.from({ length: 2 }, () => ({ state: 'PENDING', attempts: 0 })),
      );
      const { accounting } = await startAccounting(first.port);
      const work = async (): Promise<number> => {
        await harness.settle();
        return accounting.taken.length;
      };
      await until(work, (count) => count === 2);
      expect(accounting.taken.map(({ type }) => type)).toEqual(['payment.failed', 'payment.succeeded']);
    });

    test('only the chosen events and shops are sent, with the pattern and the message that the transport wants', async () => {
      const sent: unknown[] = [];
      const { port } = await startAccounting();
      const harness = await startHost(port, {
        consumer: 'bus',
        events: ['payment.succeeded'],
        shops: ['main'],
        pattern: ({ data }) => `payments-of-${data.shop}`,
        message: (event) => {
          sent.push([event.type, event.partitionkey]);
          return { key: event.partitionkey, value: event };
        },
      });
      await payAfterAFailure(harness, 'A-1');
      await harness.settle();
      const { events } = await harness.host.ledger();
      expect(sent).toEqual([['payment.succeeded', events[0]!.billId]]);
      expect(await deliveriesOf(harness)).toMatchObject([{ consumer: 'bus', state: 'DONE' }]);
    });

    test('an event that the client refuses is tried again', async () => {
      const { accounting, port } = await startAccounting();
      let refusals = 1;
      const message = (event: PaymentCloudEvent): unknown => {
        refusals -= 1;
        if (refusals >= 0) throw new Error('too large');
        return event;
      };
      const harness = await startHost(port, { message });
      await payAfterAFailure(harness, 'A-1');
      await harness.settle();
      const [failed, succeeded] = await deliveriesOf(harness);
      expect(failed).toMatchObject({ state: 'PENDING', attempts: 1 });
      expect(failed!.lastError).toBe('PaymentBrokerError: The client did not send the event: Error: too large');
      expect(succeeded).toMatchObject({ state: 'PENDING', attempts: 0 });
      harness.clock.advance(60_000);
      await harness.settle();
      await until(
        () => Promise.resolve(accounting.taken.length),
        (count) => count === 2,
      );
    });
  });

  describe('unusable options and consumers', () => {
    const refusal = async (
      options: Partial<PaymentMicroservicesOptions>,
      providers: Provider[] = [],
    ): Promise<unknown> => {
      const starting = new Starting();
      closeLater(() => starting.close('drop'));
      const client = { connect: () => Promise.resolve(), emit: () => EMPTY };
      const bus = PaymentMicroservicesModule.register({ client, ...options });
      const payments = PaymentAcceptanceModule.forRoot(moduleOptions('http://127.0.0.1:1'));
      return starting.start([payments, bus], { providers }).catch((thrown: unknown) => thrown);
    };

    test.each<[Partial<PaymentMicroservicesOptions>, string]>([
      [{ client: {} as ClientProxy }, 'client: must be a ClientProxy'],
      [{ events: [] }, 'events: must list one or more of payment.succeeded'],
      [{ events: ['payment.succeeded', 'payment.succeeded'] }, 'events: lists an event twice'],
      [{ shops: [] }, 'shops: must be a list of shop names; omit it for all.'],
      [{ shop: ['eu'] } as object, 'shop: there is no such option.'],
      [{ source: 'two words' }, 'source: must be a URI reference'],
      [{ connectTimeoutMs: 0 }, 'connectTimeoutMs: must be a whole number'],
      [{ acknowledgeTimeoutMs: 1.5 }, 'acknowledgeTimeoutMs: must be a whole number'],
    ])('unusable options of PaymentMicroservicesModule fail the start (%#)', async (options, sentence) => {
      const error = await refusal(options);
      expect(error).toBeInstanceOf(PaymentConfigurationError);
      expect((error as Error).message).toContain(`PaymentMicroservicesModule cannot start:\n  - ${sentence}`);
    });

    test.each<[Partial<PaymentMicroservicesOptions>, string]>([
      [{ consumer: 'two words' }, 'give its consumer a name of 1 to 100 letters'],
      [{ consumer: 'event-emitter' }, '"event-emitter" is taken'],
      [{ shops: ['us'] }, 'there is no shop "us"'],
      [{ consumer: 'orders' }, 'a handler and a broker share this consumer name'],
    ])('an unusable consumer of PaymentMicroservicesModule fails the start (%#)', async (options, sentence) => {
      const error = await refusal(options, [Orders]);
      expect(error).toBeInstanceOf(PaymentHandlerError);
      expect((error as Error).message).toContain(sentence);
    });
  });

  @Injectable()
  class Orders {
    @OnPaymentSucceeded({ consumer: 'orders' })
    take(): void {}
  }
});
