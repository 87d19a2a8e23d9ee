import { hostileBodies, hostileForms } from './lib/hostile-bodies.mjs';
import { startContestant } from './lib/processes.mjs';
import { exactly, target } from './lib/report.mjs';
import { shown } from './lib/chart.mjs';
import { summary } from './lib/statistics.mjs';

/** @import { Context } from './lib/report.mjs' */
/** @import { Contestant } from './lib/processes.mjs' */
/** @typedef {{ name: string, body: string, type: string }} Shape */

export const title = 'Postbacks that anybody sends to keep a process busy';
export const order = 15;

/** What the adapters' parsers accept with nothing configured, less some room. */
const SIZES = { express: 100_000, fastify: 1_040_000 };

/**
 * How long one answer keeps the event loop busy: sent one after another, so that nothing else is in it.
 * @param {Contestant} contestant
 * @param {Shape} shape
 * @param {number} count
 */
async function timeOf(contestant, { body, type }, count) {
  const times = [];
  for (let sent = 0; sent < count; sent++) {
    const { busyMs: before } = await contestant.ask('usage');
    const answer = await fetch(contestant.about.url, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    await answer.text();
    const { busyMs: after } = await contestant.ask('usage');
    times.push(after - before);
  }
  return summary(times).median;
}

/** @param {Context} context */
export async function run({ quick, database, log }) {
  const rows = [];
  const targets = [];
  for (const [adapter, size] of Object.entries(SIZES)) {
    const databaseUrl = await database.create();
    const module = await startContestant('module.mjs', { adapter, databaseUrl });
    const alone = await startContestant('nest-alone.mjs', { adapter });
    /** @type {Shape[]} */
    const shapes = [
      ...Object.entries(hostileBodies(size)).map(([name, body]) => ({
        name,
        body: JSON.stringify(body),
        type: 'application/json',
      })),
      // Compressed or not, a form is read up to the limit of the callbacks.
      ...Object.entries(hostileForms(100_000)).map(([name, body]) => ({
        name,
        body,
        type: 'application/x-www-form-urlencoded',
      })),
    ];
    const [ordinary] = shapes;
    if (!ordinary) throw new Error('There are no bodies.');
    for (const contestant of [module, alone]) await timeOf(contestant, ordinary, 200);
    const genuine = (await timeOf(module, ordinary, 50)) - (await timeOf(alone, ordinary, 50));
    const measured = [];
    for (const shape of shapes) {
      if (Buffer.byteLength(shape.body) > size) continue;
      const count = quick ? 1 : 9;
      const host = await timeOf(alone, shape, count);
      measured.push({ name: shape.name, host, own: (await timeOf(module, shape, count)) - host });
    }
    await module.stop();
    await alone.stop();
    measured.sort((a, b) => b.own - a.own);
    const worst = measured[0] ?? { name: 'none', own: NaN };
    log(`${adapter}: at most ${shown(worst.own)} ms for ${worst.name}, ${shown(genuine)} ms for a genuine one`);
    targets.push(target(`the module's own time for one postback on ${adapter}, ms`, exactly(worst.own), { atMost: 5 }));
    rows.push(...measured.slice(0, 5).map(({ name, own, host }) => [adapter, name, shown(own), shown(host)]), [
      adapter,
      'a genuine one',
      shown(genuine),
      '',
    ]);
  }
  return {
    about:
      'Bodies as large as the adapter accepts, made of what is dear to look at (`lib/hostile-bodies.mjs`): how long the event loop of the process with the module is busy, less that of Nest that answers the same body without looking at it. The five dearest shapes of each adapter.',
    targets,
    tables: [{ columns: ['adapter', 'body', "the module's own, ms", 'Nest and its parser, ms'], rows }],
  };
}
