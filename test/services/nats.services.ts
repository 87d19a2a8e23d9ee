import { expect, test } from '@jest/globals';
import { createPaymentInbox, processOnce, readPaymentEvent } from 'nestjs-payment-acceptance/inbox';
import { PaymentNatsModule, type PaymentNatsOptions } from 'nestjs-payment-acceptance/nats';
import { RetentionPolicy } from '@nats-io/jetstream';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DataSource } from 'typeorm';
import type { TestedOptions } from '../support/options.js';
import { closing } from '../support/closing.js';
import { connectionOf, createTestDatabase } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { LocalServer } from '../support/local-server.js';
import { onServer } from './support/nats.js';
import { pay } from './support/pay.js';
import { eventually } from './support/outage.js';
import { describeOn, service } from './support/service.js';

const closeLater = closing();

/** A service that has given every shop the same bill, which is paid. */
class OneBill extends LocalServer {
  protected override receive(request: IncomingMessage, response: ServerResponse): void {
    const payment = { id: 'P-1', bill_id: 'B-1', status: 'SUCCESS', amount: '10.00', amount_received: '10.00' };
    const [link, page] = ['link', 'transfer'].map((path) => `${this.url}/${path}/B-1`);
    const answer =
      request.method === 'POST'
        ? { success: 'true', bill_id: 'B-1', link_url: link, link_page_url: page }
        : { success: true, data: [{ ...payment, currency_in: 'RUB', created_at: '2026-01-01 10:00:00' }] };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  }
}

describeOn(await service('TEST_NATS_URL'), (url) => {
  const newStream = async (
    more: { no_ack?: boolean; retention?: RetentionPolicy } = {},
    subjects?: string[],
  ): Promise<string> => {
    const name = `payments-test-${randomBytes(6).toString('hex')}`;
    await onServer(url, (manager) => manager.streams.add({ name, subjects: subjects ?? [`${name}.>`], ...more }));
    closeLater(() => onServer(url, (manager) => manager.streams.delete(name)));
    return name;
  };

  async function startHost(
    stream: string,
    prefix: string,
    more: Partial<PaymentNatsOptions> = {},
    options: TestedOptions = {},
  ): Promise<Harness> {
    const subject: PaymentNatsOptions['subject'] = ({ type }) => `${prefix}.${type}`;
    const imports = [PaymentNatsModule.register({ servers: url, stream, subject, ...more })];
    const harness = await startHarness({ imports, options });
    closeLater(() => harness.close());
    return harness;
  }

  const deliveriesOf = async (harness: Harness) => (await harness.host.ledger()).events[0]!.deliveries;
  const countIn = (stream: string) =>
    onServer(url, async (manager) => (await manager.streams.info(stream)).state.messages);

  test('a NATS message to a subject without a stream does not count as delivered', async () => {
    const stream = await newStream();
    const harness = await startHost(stream, 'nobody-takes-this');
    await pay(harness);
    const [delivery] = await deliveriesOf(harness);
    expect(delivery!.state).toBe('PENDING');
    expect(delivery!.lastError).toContain(
      `No stream accepts the subject "nobody-takes-this.payment.succeeded". Add the subject to the stream "${stream}".`,
    );
  });

  test('a NATS subject of another stream is refused', async () => {
    const [stream, other] = [await newStream(), await newStream()];
    const harness = await startHost(stream, other);
    await pay(harness);
    const [delivery] = await deliveriesOf(harness);
    expect(delivery!.state).toBe('PENDING');
    expect(delivery!.lastError).toContain('JetStream did not accept the event');
    expect(await countIn(other)).toBe(0);
  });

  test('events wait while the NATS stream does not exist or acknowledges nothing', async () => {
    const silent = await newStream({ no_ack: true });
    const harness = await startHost(silent, silent);
    await pay(harness);
    expect(await deliveriesOf(harness)).toMatchObject([{ state: 'PENDING', attempts: 0 }]);
    await onServer(url, (manager) => manager.streams.update(silent, { no_ack: false }));
    await eventually(
      () => harness.host.deliveries.runOnce(),
      (done) => done > 0,
      'the event goes out',
    );
    expect(await deliveriesOf(harness)).toMatchObject([{ state: 'DONE', attempts: 1 }]);
    expect(await countIn(silent)).toBe(1);
  });

  test('a NATS stream that keeps only messages with interested consumers is not used', async () => {
    const stream = await newStream({ retention: RetentionPolicy.Interest });
    const harness = await startHost(stream, stream);
    await pay(harness);
    expect(await deliveriesOf(harness)).toMatchObject([{ state: 'PENDING', attempts: 0 }]);
  });

  test('two consumers can share a NATS stream, and each gets its own copies', async () => {
    const stream = await newStream();
    const subject =
      (to: string): PaymentNatsOptions['subject'] =>
      () =>
        `${stream}.${to}`;
    const servers = url;
    const imports = ['books', 'mail'].map((consumer) =>
      PaymentNatsModule.register({ servers, stream, consumer, subject: subject(consumer) }),
    );
    const harness = await startHarness({ imports });
    closeLater(() => harness.close());
    await pay(harness);
    expect(await deliveriesOf(harness)).toMatchObject([{ state: 'DONE' }, { state: 'DONE' }]);
    expect(await countIn(stream)).toBe(2);
  });

  test('two companies with equal shops, bills and payments can share a NATS stream and an inbox', async () => {
    const stream = await newStream();
    const service = await new OneBill().open();
    closeLater(() => service.close());
    for (const shopId of ['company-a', 'company-b']) {
      const shop = { shopId, apiToken: `token-of-${shopId}-0123456789`, apiBaseUrl: service.url };
      const harness = await startHost(stream, stream, {}, { shops: { main: shop } });
      await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
      harness.clock.advance(3_600_000);
      await harness.settle();
      expect(await deliveriesOf(harness)).toMatchObject([{ state: 'DONE' }]);
    }
    expect(await countIn(stream)).toBe(2);

    const database = await createTestDatabase();
    closeLater(() => database.drop());
    const inbox = await new DataSource(connectionOf(database.url)).initialize();
    closeLater(() => inbox.destroy());
    await createPaymentInbox(inbox.manager);
    const events = await onServer(url, (manager) =>
      Promise.all(
        [1, 2].map(async (seq) => readPaymentEvent((await manager.streams.getMessage(stream, { seq }))!.data)),
      ),
    );
    const data = { shop: 'main', billId: 'B-1', paymentId: 'P-1' };
    expect(events).toMatchObject([{ data }, { data }]);
    const processed: boolean[] = [];
    for (const event of [...events, ...events])
      processed.push(await processOnce(inbox.manager, event, () => Promise.resolve()));
    expect(processed).toEqual([true, true, false, false]);
  });
});
