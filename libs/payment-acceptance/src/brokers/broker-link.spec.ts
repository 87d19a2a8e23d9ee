import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import type { PaymentCloudEvent } from './cloud-event.js';
import { BrokerLink } from './broker-link.js';

const EVENT = {} as PaymentCloudEvent;

/** How the broker handles an event. */
let publish: () => Promise<void>;
let lose: (reason: string) => void;
/** How many reactions to the connection's loss are pending. */
let listeners: number;
let link: BrokerLink;

describe('broker link', () => {
  beforeEach(async () => {
    for (const level of ['log', 'warn', 'error', 'debug'] as const)
      jest.spyOn(Logger.prototype, level).mockReturnValue(undefined);
    listeners = 0;
    const lost = new Promise<string>((resolve) => (lose = resolve));
    const then = lost.then.bind(lost);
    lost.then = ((...reactions: Parameters<typeof then>) => {
      listeners += 1;
      return then(...reactions);
    }) as typeof lost.then;
    publish = () => Promise.resolve();
    link = new BrokerLink(
      {
        consumer: 'broker',
        connectTimeoutMs: 1_000,
        acknowledgeTimeoutMs: 60_000,
        connect: () => Promise.resolve({ ready: true, lost, publish: () => publish(), close: () => Promise.resolve() }),
        random: new PaymentRandom(),
        onReady: () => undefined,
      },
      new PaymentLogger('Test'),
    );
    link.connect();
    expect(link.isReady()).toBe(false);
    await link.connecting;
    expect(link.isReady()).toBe(true);
  });
  afterEach(async () => {
    await link.close();
    jest.restoreAllMocks();
  });

  test('a broker link leaves no listener on the connection after an event was sent', async () => {
    const before = listeners;
    for (let count = 0; count < 100; count += 1) await link.publish(EVENT, new AbortController().signal);
    expect(listeners).toBe(before);
  });

  test('an application that ends does not report a lost broker', async () => {
    await link.close();
    expect(JSON.stringify(jest.mocked(Logger.prototype.warn).mock.calls)).not.toContain('broker-lost');
  });

  test('losing the connection rejects every event that is still unacknowledged', async () => {
    publish = () => new Promise(() => undefined);
    const sent = [1, 2, 3].map(() => link.publish(EVENT, new AbortController().signal));
    lose('the broker went away');
    const ends = await Promise.allSettled(sent);
    expect(ends.map((end) => end.status === 'rejected' && String(end.reason))).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('lost before the acknowledgement: the broker went away')),
    );
  });
});
