import { afterEach, describe, expect, test } from '@jest/globals';
import { WHOLE_FORM } from '../support/forms.js';
import { until } from '../support/until.js';
import { members, type Member } from './support/members.js';
import { p99, type Load } from './support/traffic.js';
import { startWorld, type World } from './support/world.js';

const MINUTE = 60_000;

/** More orders of the sick one than there are slots. The short form sees what waits for a limit or for the next look, the whole one also what only takes longer. */
const FORM = WHOLE_FORM
  ? { events: 500, everyMs: 25, sick: 100, leastMs: 250 }
  : { events: 20, everyMs: 20, sick: 20, leastMs: 2_000 };

/** Whatever else the machine does slows everybody for once; what the sick one does, it does each time. */
const ATTEMPTS = 3;

describe('payments beside a failing neighbour', () => {
  let world: World;
  afterEach(() => world.close());

  /** How late the healthy ones are without the sick one, and then beside it. */
  async function measure({ sicken, everyMs = FORM.everyMs, eventsPerOrder = 1 }: Member) {
    const load: Load = { orders: Math.ceil(FORM.events / eventsPerOrder), everyMs };
    const alone = p99(await world.traffic.lags(load));
    const recover = await sicken(world, FORM.sick);
    const beside = p99(await world.traffic.lags(load));
    return { alone, beside, recover };
  }

  /** What health has named within ten minutes, in which the workers go on. */
  async function degradationsOfTenMinutes(): Promise<string[]> {
    const found = new Set<string>(await world.degraded());
    for (let minutes = 0; minutes < 10; minutes += 2) {
      world.pass(2 * MINUTE);
      for (const reason of await world.degraded()) found.add(reason);
    }
    return [...found];
  }

  /** Nothing is under way any more and, in the whole form, health says so. */
  async function allIsWell(): Promise<void> {
    await until(
      async () => {
        world.pass(MINUTE);
        return [...(await world.unfinished()), ...(WHOLE_FORM ? await world.degraded() : [])];
      },
      (left) => left.length === 0,
    );
  }

  const chosen = members.filter(({ onlyWhole }) => WHOLE_FORM || !onlyWhole);

  test.each(chosen.map((member) => [`a ${member.dimension} ${member.name}`, member] as const))(
    'payments settle in time beside %s, which health names, and nothing is left behind',
    async (_name, member) => {
      world = await startWorld(member.neighbours?.());
      await world.traffic.lags({ orders: Math.ceil(10 / (member.eventsPerOrder ?? 1)), everyMs: 25 });
      const measured: string[] = [];
      for (let attempt = 1; ; attempt += 1) {
        const { alone, beside, recover } = await measure(member);
        const isSlowed = beside > Math.max(FORM.leastMs, 3 * alone);
        measured.push(`${Math.round(beside)} ms beside it, ${Math.round(alone)} ms without`);
        if (isSlowed && attempt < ATTEMPTS) {
          await recover();
          continue;
        }
        if (WHOLE_FORM) expect(await degradationsOfTenMinutes()).toEqual(expect.arrayContaining([...member.degraded]));
        await recover();
        expect(isSlowed ? measured : []).toEqual([]);
        break;
      }
      await allIsWell();
    },
    240_000,
  );
});
