import { expect, test } from '@jest/globals';
import { PaymentNatsModule, type PaymentNatsOptions } from 'nestjs-payment-acceptance/nats';
import { randomBytes } from 'node:crypto';
import { closing } from '../support/closing.js';
import { startHarness, type Harness } from '../support/harness.js';
import { onServer } from './support/nats.js';
import { pay } from './support/pay.js';
import { eventually } from './support/outage.js';
import { describeOn, service } from './support/service.js';

const closeLater = closing();

describeOn(await service('TEST_NATS_URL'), (url) => {
  const newStream = async (more: { no_ack?: boolean } = {}, subjects?: string[]): Promise<string> => {
    const name = `payments-test-${randomBytes(6).toString('hex')}`;
    await onServer(url, (manager) => manager.streams.add({ name, subjects: subjects ?? [`${name}.>`], ...more }));
    closeLater(() => onServer(url, (manager) => manager.streams.delete(name)));
    return name;
  };

  async function startHost(stream: string, prefix: string, more: Partial<PaymentNatsOptions> = {}): Promise<Harness> {
    const subject: PaymentNatsOptions['subject'] = ({ type }) => `${prefix}.${type}`;
    const imports = [PaymentNatsModule.register({ servers: url, stream, subject, ...more })];
    const harness = await startHarness({ imports });
    closeLater(() => harness.close());
    return harness;
  }

  const deliveriesOf = async (harness: Harness) => (await harness.host.ledger()).events[0]!.deliveries;
  const countIn = (stream: string) =>
    onServer(url, async (manager) => (await manager.streams.info(stream)).state.messages);

  test('a message to a subject without a stream does not count as delivered', async () => {
    const stream = await newStream();
    const harness = await startHost(stream, 'nobody-takes-this');
    await pay(harness);
    const [delivery] = await deliveriesOf(harness);
    expect(delivery!.state).toBe('PENDING');
    expect(delivery!.lastError).toContain(
      `No stream takes "nobody-takes-this.payment.succeeded". Add it to "${stream}".`,
    );
  });

  test('a subject of another stream is refused', async () => {
    const [stream, other] = [await newStream(), await newStream()];
    const harness = await startHost(stream, other);
    await pay(harness);
    const [delivery] = await deliveriesOf(harness);
    expect(delivery!.state).toBe('PENDING');
    expect(delivery!.lastError).toContain('JetStream has not taken the event');
    expect(await countIn(other)).toBe(0);
  });

  test('while the stream does not exist or acknowledges nothing, the events wait', async () => {
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

  test('two consumers can share a stream: each gets its own copies', async () => {
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
});
