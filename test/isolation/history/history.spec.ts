import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WHOLE_FORM } from '../../support/forms.js';
import { SEED } from '../../support/seed.js';
import { FAULTS, type Fault, type Statement } from './database-proxy.js';
import { journey, steps, type Step } from './steps.js';
import type { Hosts } from './seats.js';
import { SETTLED_WITHIN_MS, World } from './world.js';

/**
 * The whole form strikes every moment in every way, and plays 60 random histories of each pair of hosts; in the short one
 * every second moment has its turn, in one way, by the seed. `HISTORY_RUNS` says how many histories are played.
 */
const RUNS = Number(process.env.HISTORY_RUNS ?? (WHOLE_FORM ? 60 : 3));

const MINUTES = SETTLED_WITHIN_MS / 60_000;

describe('a history of payments with losses of the database', () => {
  describe.each<Hosts>(['two instances', 'two applications'])('%s', (hosts) => {
    let world: World;
    beforeAll(async () => {
      world = await World.start(hosts);
    });
    afterAll(() => world.close());

    test(
      `each SUCCESS has one event or a review ${MINUTES} minutes after the last fault (seed ${SEED})`,
      async () => {
        const play = async (sequence: readonly Step[]): Promise<void> => {
          await world.clear();
          for (const step of sequence) await step.run(world);
          expect(await world.account()).toEqual([]);
        };
        await fc.assert(fc.asyncProperty(steps, play), {
          seed: SEED,
          numRuns: RUNS,
          endOnFailure: !WHOLE_FORM,
        });
      },
      60_000 + RUNS * 60_000,
    );
  });

  test(`each commit, lost ${WHOLE_FORM ? 'in every way' : 'in its turn'}, leaves a correct history (seed ${SEED})`, async () => {
    const world = await World.start('two instances');
    try {
      const moments = await momentsOf(world);
      // Found out, not written down; these only show that nothing was left out.
      for (const writes of [
        /INSERT bill/,
        /INSERT event/,
        /INSERT effect,UPDATE delivery/,
        /operator_action/,
        /payment_inbox/,
      ]) {
        expect(moments.join('\n')).toMatch(writes);
      }
      const problems: string[] = [];
      for (const [index, moment] of moments.entries()) {
        const turn = SEED + index;
        const faults = WHOLE_FORM ? FAULTS : turn % 2 === 0 ? [FAULTS[(turn / 2) % FAULTS.length]!] : [];
        for (const fault of faults) {
          const found = await strike(world, moment, fault);
          problems.push(...found.map((problem) => `${fault} ${moment}: ${problem}`));
        }
      }
      expect(problems).toEqual([]);
    } finally {
      await world.close();
    }
  }, 600_000);
});

const commits = ({ kind }: Statement): boolean => kind === 'commit' || kind === 'lone write';
const nameOf = ({ kind, writes }: Statement): string => `${kind} ${writes.join()}`;

/** What commits on a journey that nothing disturbs: each kind of moment once. */
async function momentsOf(world: World): Promise<string[]> {
  const seen: Statement[] = [];
  const [{ proxy }] = world.seats;
  proxy.onStatement = (statement) => seen.push(statement);
  await journey(world);
  proxy.onStatement = () => undefined;
  expect(await world.account()).toEqual([]);
  return [...new Set(seen.filter(commits).map(nameOf))];
}

async function strike(world: World, moment: string, fault: Fault): Promise<string[]> {
  const [{ proxy }] = world.seats;
  await world.clear();
  const struck = proxy.struck;
  proxy.arm(fault, (statement) => commits(statement) && nameOf(statement) === moment);
  try {
    await journey(world);
    const missed = proxy.struck === struck ? ['It never came to this.'] : [];
    return [...missed, ...(await world.account())];
  } catch (error) {
    return [String(error)];
  }
}
