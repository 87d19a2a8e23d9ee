import { afterEach, describe, expect, test } from '@jest/globals';
import { HttpService } from '@nestjs/axios';
import axios, { type AxiosInstance } from 'axios';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ClientRequest, RequestOptions } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { mayHaveMadeABill } from '../../libs/payment-acceptance/src/bills/outcome.js';
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

/** The full run uses production timings; the short one is faster in everything. */
const FORM = WHOLE_FORM
  ? { creations: 100_000, waves: 40, abreast: 16, openAheadMs: 2_000, idleMs: 5_000 }
  : { creations: 600, waves: 12, abreast: 8, openAheadMs: 80, idleMs: 200 };

/** No request takes longer than this to arrive on this machine. Later, its port may belong to another connection. */
const CROSSING_MS = 2_000;

/** How a creation ended, and what its last connection was. */
interface Creation {
  outcome: 'made' | 'none' | 'unknown';
  port?: number;
  /** When the connection was assigned to it, in milliseconds of the machine's clock. */
  givenAt?: number;
  openedAhead?: boolean;
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
    const creation = creations.get((config.data as FormData).get('order_id') as string)!;
    const watched: Request = (options, onAnswer) =>
      request(options, onAnswer).once('socket', (socket) => {
        Object.assign(creation, { givenAt: milliseconds(), openedAhead: !socket.connecting, port: socket.localPort });
        socket.once('connect', () => (creation.port = socket.localPort));
      });
    return { ...config, transport: { request: watched } };
  });
  return instance;
}

describe('creations while the service closes idle connections and resets others at random', () => {
  const services: ChildProcess[] = [];
  afterEach(() => {
    for (const service of services.splice(0)) service.disconnect();
  });

  async function run(openAheadMs: number): Promise<Run> {
    const env = { ...process.env, SERVICE_OPTIONS: JSON.stringify({ idleMs: FORM.idleMs, seed: SEED }) };
    const program = fileURLToPath(new URL('../support/resetting-service.mjs', import.meta.url));
    const service = fork(program, { env, execArgv: [] });
    services.push(service);
    const [{ port }] = (await once(service, 'message')) as [{ port: number }];
    const http = { openAheadMs, retryBaseMs: 1, retryCapMs: 1 };
    const options = resolved({ apiBaseUrl: `http://127.0.0.1:${port}` }, { http });
    const creations = new Map<string, Creation>();
    const clock = new PaymentClock();
    const client = new PaymentServiceClient(
      new HttpService(watchedAxios(creations)),
      ...([options, clock, new PaymentRandom(), new PaymentProbe(), new ShopRegistry(options, clock)] as const),
      new PaymentMetrics(new Telemetry()),
    );
    const create = async (): Promise<void> => {
      const orderId = `order-${creations.size}`;
      const creation: Creation = { outcome: 'made' };
      creations.set(orderId, creation);
      const fields = {
        amount: '1.00',
        orderId,
        type: 'normal',
        currency: 'RUB',
        custom: 'c',
        payerPaysCommission: false,
      };
      try {
        await client.createBill(options.shops.get('main')!, fields);
      } catch (error) {
        if (!(error instanceof PaymentServiceError)) throw error;
        creation.outcome = mayHaveMadeABill(error) ? 'unknown' : 'none';
      }
    };
    const inWave = FORM.creations / FORM.waves;
    for (let wave = 1; wave <= FORM.waves; wave += 1) {
      const end = wave * inWave;
      const caller = async (): Promise<void> => {
        while (creations.size < end) await create();
      };
      await Promise.all(Array.from({ length: FORM.abreast }, caller));
      // Connections of every age, and some that no creation uses.
      await pause((openAheadMs * 1.5 * wave) / FORM.waves);
    }
    client.onApplicationShutdown();
    service.send('the truth');
    const [truth] = (await once(service, 'message')) as [Truth];
    const unread = [...creations].flatMap(([orderId, creation]) =>
      creation.outcome === 'unknown' && truth.reads[orderId] === undefined ? [creation] : [],
    );
    return { creations, truth, unread };
  }

  function told({ creations, unread }: Run): string {
    const all = [...creations.values()];
    const count = (outcome: Creation['outcome']): number => all.filter((each) => each.outcome === outcome).length;
    const ahead = all.filter(({ openedAhead }) => openedAhead).length;
    const unreadAhead = unread.filter(({ openedAhead }) => openedAhead).length;
    return (
      `${all.length} creations, ${ahead} on connections opened ahead: ${count('made')} made, ${count('none')} none, ` +
      `${count('unknown')} unknown. Of ${unread.length} of these the service has read nothing; ${unreadAhead} of them were ` +
      'on connections opened ahead.'
    );
  }

  test(
    `none is unknown that would have been known on a fresh connection (${FORM.creations}, seed ${SEED})`,
    async () => {
      const ahead = await run(FORM.openAheadMs);
      const fresh = await run(0);
      if (WHOLE_FORM) console.log(`opened ahead: ${told(ahead)}\nfresh: ${told(fresh)}`);
      for (const { creations, truth } of [ahead, fresh]) {
        // Nothing is sent twice, and every reported outcome is true.
        expect(Object.values(truth.reads).filter((count) => count !== 1)).toEqual([]);
        const wrong = [...creations].filter(
          ([orderId, { outcome }]) => outcome !== 'unknown' && (outcome === 'made') !== (truth.reads[orderId] === 1),
        );
        expect(wrong).toEqual([]);
      }
      const used = [...ahead.creations.values()].filter(({ openedAhead }) => openedAhead);
      // The number depends on the machine; without any, the rest proves nothing.
      expect(used.length).toBeGreaterThan(FORM.creations / 20);
      // None was sent on a connection that the service had already closed; crossing resets also hit fresh connections.
      const crossed = ({ port, givenAt }: Creation): boolean =>
        ahead.truth.unread.some((end) => end.port === port && end.at >= givenAt! && end.at < givenAt! + CROSSING_MS);
      expect(ahead.unread.filter((creation) => creation.openedAhead && !crossed(creation))).toEqual([]);
      // Crossings are as rare as on fresh connections, chance aside. Creations that opened their own used fresh ones.
      const crossing = ahead.unread.filter(({ openedAhead }) => openedAhead);
      expect(crossing.length).toBeLessThanOrEqual(fresh.unread.length + FORM.creations / 20_000);
    },
    WHOLE_FORM ? 3_600_000 : 60_000,
  );
});
