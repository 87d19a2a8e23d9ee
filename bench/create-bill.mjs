import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { certificate } from '../scripts/lib/certificate.mjs';
import { barChart } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';

/** @import { Contestant } from './lib/processes.mjs' */
/** @import { Context, Result } from './lib/report.mjs' */
/** @import { Measured, Samples } from './lib/rounds.mjs' */

export const title = 'Creating bills';
export const order = 20;

const ROUND_TRIP_MS = 40;
const QUICK = 'a service beside it that takes 0 ms';
const SLOW = 'a service beside it that takes 50 ms';
const DISTANT = `a service ${ROUND_TRIP_MS} ms of round trip away, by TLS`;
/** @param {string} service */
const ours = (service) => `createBill, ${service}`;
/** @param {string} service */
const bare = (service) => `axios and one insert, ${service}`;

/** Callers at once, each one bill after the other. */
const ABREAST = { [QUICK]: 4, [SLOW]: 4, [DISTANT]: 8 };

/** @param {Context} context */
export async function run({ quick, database, log }) {
  /** @type {Contestant[]} */
  const servers = [];
  /** @type {typeof startContestant} */
  const start = async (...given) => {
    const server = await startContestant(...given);
    servers.push(server);
    return server;
  };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-create-bill-'));
  try {
    const samples = await measureAll({ quick, database, log, start, folder });
    return report(samples);
  } finally {
    for (const server of servers.reverse()) await server.stop();
    fs.rmSync(folder, { recursive: true });
  }
}

/** @param {Pick<Context, 'quick' | 'database' | 'log'> & { start: typeof startContestant; folder: string }} about */
async function measureAll({ quick, database, log, start, folder }) {
  /** @type {Measured[]} */
  const contestants = [];
  /** @type {(name: string, file: string, service: keyof typeof ABREAST, options: object, env?: NodeJS.ProcessEnv) => Promise<void>} */
  const add = async (name, file, service, options, env = {}) => {
    const server = await start(file, { ...options, databaseUrl: await database.create() }, { env });
    contestants.push({ name, measure: () => measure(server, quick ? 1 : 3, ABREAST[service]) });
  };
  for (const [service, takesMs] of /** @type {const} */ ([
    [QUICK, 0],
    [SLOW, 50],
  ])) {
    const { about } = await start('creating-service.mjs', { takesMs });
    await add(ours(service), 'creating-module.mjs', service, { serviceUrl: about.url });
    await add(bare(service), 'creating-bare.mjs', service, { serviceUrl: about.url });
  }
  const tls = certificate();
  const trusted = path.join(folder, 'certificate.pem');
  fs.writeFileSync(trusted, tls.cert);
  const env = { NODE_EXTRA_CA_CERTS: trusted };
  const service = await start('creating-service.mjs', { takesMs: 0, tls });
  const network = { targetPort: service.about.port, roundTripMs: ROUND_TRIP_MS };
  const { about: proxy } = await start('delaying-proxy.mjs', network);
  const serviceUrl = `https://127.0.0.1:${proxy.port}`;
  await add(ours(DISTANT), 'creating-module.mjs', DISTANT, { serviceUrl }, env);
  await add(bare(DISTANT), 'creating-bare.mjs', DISTANT, { serviceUrl }, env);
  return interleave(contestants, { rounds: quick ? 1 : 5, log });
}

/**
 * @param {Samples} samples
 * @returns {Result}
 */
function report(samples) {
  const names = samples.names;
  /** @type {(name: string, of: string) => string} */
  const figure = (name, of) => spread(samples.summary(name, of));
  /** @type {(name: string, service: string) => string[]} */
  const againstBare = (name, service) => [
    name,
    ...['p50', 'p99', 'cpu'].map((of) => spread(samples.ratio(name, bare(service), of))),
  ];
  return {
    about:
      'Callers at once, each one bill after the other: 4, and 8 where the service is distant. The module stores its intent ' +
      'before the request is sent, uses a kept connection only while nothing has happened on it for 100 ms to 1 s, and stores what came of it, so that no bill ' +
      'is ever lost or made twice; the other does one request on a kept connection and one insert. Times of a call in ' +
      'milliseconds; processor time of the process in microseconds for each bill.\n\n' +
      `The distance is a proxy, a process of its own, which holds all bytes for ${ROUND_TRIP_MS / 2} ms each way. TLS is real and ` +
      "goes through it, with its handshake. TCP's handshake with the proxy is the machine's own and takes no time: instead the " +
      'first bytes of a connection wait one round trip longer. Loss of packets and the width of a line are not simulated; the ' +
      'database is near.',
    targets: [
      target(
        'p50 of createBill against the bare call, where the service takes 50 ms',
        samples.ratio(ours(SLOW), bare(SLOW), 'p50'),
        { atMost: 1.25 },
      ),
      target(
        `p50 of createBill against the bare call, where the service is ${ROUND_TRIP_MS} ms of round trip away`,
        samples.ratio(ours(DISTANT), bare(DISTANT), 'p50'),
        { atMost: 1.1 },
      ),
    ],
    tables: [
      {
        columns: ['', 'p50', 'p99', 'per second', 'CPU µs'],
        rows: names.map((name) => [name, ...['p50', 'p99', 'rate', 'cpu'].map((of) => figure(name, of))]),
      },
      {
        caption: 'Against the bare call, of the same service:',
        columns: ['', 'p50', 'p99', 'CPU'],
        rows: [againstBare(ours(QUICK), QUICK), againstBare(ours(SLOW), SLOW), againstBare(ours(DISTANT), DISTANT)],
      },
    ],
    charts: {
      'create-bill': barChart({
        title,
        unit: 'milliseconds, p50',
        bars: names.map((label) => ({
          label,
          ours: label.startsWith('createBill'),
          ...samples.summary(label, 'p50'),
        })),
      }),
    },
  };
}

/**
 * @param {Contestant} server
 * @param {number} seconds
 * @param {number} abreast
 */
async function measure(server, seconds, abreast) {
  const before = await server.ask('usage');
  const { bills, ...figures } = await server.ask('create', { seconds, abreast });
  const after = await server.ask('usage');
  return { ...figures, cpu: ((after.cpuSeconds - before.cpuSeconds) / bills) * 1e6 };
}
