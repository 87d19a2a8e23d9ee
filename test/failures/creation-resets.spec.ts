import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HttpService } from '@nestjs/axios';
import axios, { type AxiosInstance } from 'axios';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ClientRequest, RequestOptions } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PaymentServiceClient } from '../../libs/payment-acceptance/src/client/payment-service.client.js';
import { PaymentServiceError } from '../../libs/payment-acceptance/src/client/service.errors.js';
import { PaymentClock } from '../../libs/payment-acceptance/src/common/clock.js';
import { PaymentProbe } from '../../libs/payment-acceptance/src/common/probe.js';
import { PaymentRandom } from '../../libs/payment-acceptance/src/common/random.js';
import { ShopRegistry } from '../../libs/payment-acceptance/src/config/shop-registry.js';
import { PaymentMetrics } from '../../libs/payment-acceptance/src/telemetry/payment-metrics.js';
import { Telemetry } from '../../libs/payment-acceptance/src/telemetry/telemetry.js';
import { WHOLE_FORM } from '../support/forms.js';
import { SEED } from '../support/seed.js';
import { resolved } from '../support/units.js';

/** How a service treats connections; see resetting-service.mjs. */
interface Service {
  readonly idleMs?: number;
  readonly silent?: boolean;
  readonly restartMs?: number;
  readonly resets?: boolean;
}

/** `most`: how many more creations than on new connections may cross an end that is under way, by chance. */
const FORM = WHOLE_FORM ? { creations: 20_000, waves: 1_000, most: 200 } : { creations: 240, waves: 12, most: 24 };

const SERVICES: readonly (readonly [string, Service])[] = [
  ['closes idle connections after 0.2 s', { idleMs: 200 }],
  ['closes them after 0.5 s', { idleMs: 500 }],
  ['closes them after 1 s', { idleMs: 1_000 }],
  ['closes them after 2 s', { idleMs: 2_000 }],
  ['closes them after 5 s', { idleMs: 5_000 }],
  ['closes them after each answer, without a word', { silent: true }],
  ['restarts', { restartMs: WHOLE_FORM ? 5_000 : 700 }],
  ['resets some at random', { resets: true }],
];

/** Creations at once. */
const ABREAST = 4;

/** The longest pause between two waves: longer than any connection is kept. */
const PAUSE_MS = 1_200;

/** No request takes longer than this to arrive on this machine. Later, its port may belong to another connection. */
const CROSSING_MS = 2_000;

/** So long before it closes a connection the service may note it, where the machine is busy. */
const NOTED_MS = 50;

/** How a creation ended, and what its last connection was. */
interface Creation {
  outcome: 'made' | 'none' | 'unknown';
  /** When it began, in milliseconds of the machine's clock. */
  readonly begunAt: number;
  port?: number;
  kept?: boolean;
}

/** What the service knows; see resetting-service.mjs. */
interface Truth {
  readonly reads: Readonly<Record<string, number>>;
  readonly unread: readonly { readonly port: number; readonly at: number }[];
}

interface Run {
  readonly creations: ReadonlyMap<string, Creation>;
  readonly truth: Truth;
  /** Unknown, although the service read nothing of the request. */
  readonly unread: readonly Creation[];
}

const milliseconds = (): number => Number(process.hrtime.bigint()) / 1e6;

/** An axios instance that reports the connection of each request. */
function watchedAxios(creations: ReadonlyMap<string, Creation>): AxiosInstance {
  const instance = axios.create();
  instance.interceptors.request.use((config) => {
    type Request = (options: RequestOptions, onAnswer: () => void) => ClientRequest;
    const { request } = config.transport as { request: Request };
    const [, orderId = ''] = /name="order_id"\r\n\r\n([^\r]+)/.exec(String(config.data)) ?? [];
    const creation = creations.get(orderId)!;
    const watched: Request = (options, onAnswer) => {
      const sent = request(options, onAnswer);
      return sent.once('socket', (socket) => {
        Object.assign(creation, { kept: sent.reusedSocket, port: socket.localPort });
        if (socket.connecting) socket.once('connect', () => (creation.port = socket.localPort));
      });
    };
    return { ...config, transport: { request: watched } };
  });
  return instance;
}

async function createAll(port: number): Promise<ReadonlyMap<string, Creation>> {
  const options = resolved({ apiBaseUrl: `http://127.0.0.1:${port}` }, { http: { retryBaseMs: 1, retryCapMs: 1 } });
  const creations = new Map<string, Creation>();
  const clock = new PaymentClock();
  const client = new PaymentServiceClient(
    new HttpService(watchedAxios(creations)),
    ...([options, clock, new PaymentRandom(), new PaymentProbe(), new ShopRegistry(options, clock)] as const),
    new PaymentMetrics(new Telemetry()),
  );
  const create = async (): Promise<void> => {
    const orderId = `order-${creations.size}`;
    const creation: Creation = { outcome: 'made', begunAt: milliseconds() };
    creations.set(orderId, creation);
    const money = { amount: '1.00', currency: 'RUB', payerPaysCommission: false };
    try {
      await client.createBill(options.shops.get('main')!, { ...money, orderId, type: 'normal', custom: 'c' });
    } catch (error) {
      if (!(error instanceof PaymentServiceError)) throw error;
      creation.outcome = error.mayHaveCreatedBill ? 'unknown' : 'none';
    }
  };
  for (let wave = 1; wave <= FORM.waves; wave += 1) {
    const caller = async (): Promise<void> => {
      while (creations.size < (wave * FORM.creations) / FORM.waves) await create();
    };
    await Promise.all(Array.from({ length: ABREAST }, caller));
    // Connections of every age.
    await pause(Math.random() * PAUSE_MS);
  }
  client.onApplicationShutdown();
  return creations;
}

function told(name: string, { creations, unread }: Run): string {
  const all = [...creations.values()];
  const count = (outcome: Creation['outcome']): number => all.filter((each) => each.outcome === outcome).length;
  const kept = all.filter((each) => each.kept).length;
  return (
    `${name}: ${all.length} creations, ${kept} on kept connections; ${count('made')} made, ${count('none')} none, ` +
    `${count('unknown')} unknown, of ${unread.length} of these the service has read nothing`
  );
}

describe(`creations while the service closes connections (${FORM.creations} for each, seed ${SEED})`, () => {
  let service: ChildProcess | undefined;
  /** On kept connections, and on new ones at the same service. */
  let runs: { name: string; how: Service; kept: Run; fresh: Run }[];

  beforeAll(
    async () => {
      const services = SERVICES.flatMap(([, how]) => [how, { ...how, fresh: true }]);
      const env = { ...process.env, SERVICE_OPTIONS: JSON.stringify({ services, seed: SEED }) };
      const program = fileURLToPath(new URL('../support/resetting-service.mjs', import.meta.url));
      service = fork(program, { env, execArgv: [] });
      const [ports] = (await once(service, 'message')) as [number[]];
      const made = await Promise.all(ports.map(createAll));
      service.send('the truth');
      const [truths] = (await once(service, 'message')) as [Truth[]];
      const run = (index: number): Run => {
        const [creations, truth] = [made[index]!, truths[index]!];
        const unread = [...creations].flatMap(([orderId, creation]) =>
          creation.outcome === 'unknown' && truth.reads[orderId] === undefined ? [creation] : [],
        );
        return { creations, truth, unread };
      };
      runs = SERVICES.map(([name, how], index) => ({ name, how, kept: run(2 * index), fresh: run(2 * index + 1) }));
      if (WHOLE_FORM) {
        for (const { name, kept, fresh } of runs) console.log(`${told(name, kept)}\n${told('fresh', fresh)}`);
      }
    },
    WHOLE_FORM ? 3_600_000 : 60_000,
  );
  afterAll(() => service?.disconnect());

  test('no creation is sent twice, and every reported outcome is true', () => {
    for (const { kept, fresh } of runs) {
      for (const { creations, truth } of [kept, fresh]) {
        expect(Object.values(truth.reads).filter((count) => count !== 1)).toEqual([]);
        const wrong = [...creations].filter(
          ([orderId, { outcome }]) => outcome !== 'unknown' && (outcome === 'made') !== (truth.reads[orderId] === 1),
        );
        expect(wrong).toEqual([]);
      }
    }
  });

  test('creations reuse connections, unless the service closes them after each answer', () => {
    for (const { name, how, kept, fresh } of runs) {
      const used = (run: Run): number => [...run.creations.values()].filter((each) => each.kept).length;
      // The number depends on the machine; without any, the rest proves nothing.
      if (how.silent) expect([name, used(kept)]).toEqual([name, 0]);
      else expect(used(kept)).toBeGreaterThan(0);
      expect(used(fresh)).toBe(0);
    }
  });

  test('no creation is sent on a connection that the service has already closed', () => {
    for (const { kept } of runs) {
      const crossed = ({ port, begunAt }: Creation): boolean =>
        kept.truth.unread.some(
          ({ port: ended, at }) => ended === port && at >= begunAt - NOTED_MS && at < begunAt + CROSSING_MS,
        );
      expect(kept.unread.filter((creation) => creation.kept && !crossed(creation))).toEqual([]);
    }
  });

  test('hardly more creations meet a closing connection on kept connections than on new ones', () => {
    for (const { name, kept, fresh } of runs) {
      const more = kept.unread.filter((creation) => creation.kept).length - fresh.unread.length;
      expect([name, Math.max(0, more - FORM.most)]).toEqual([name, 0]);
    }
  });
});
