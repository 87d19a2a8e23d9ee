import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Lane } from './lane.js';

/** `CRASH_POINTS=all npm test -- test/crash` also kills at points between which nothing outside the process changes. */
const ALL = process.env.CRASH_POINTS === 'all';

let lanes: readonly [Lane, Lane];
beforeAll(async () => {
  lanes = await Promise.all([Lane.open(), Lane.open()]);
});
afterAll(() => Promise.all(lanes.map((lane) => lane.close())));

test('a process killed at any point between two steps of a payment leaves everything to be finished', async () => {
  const points = await lanes[0].points();
  // Found out, not written down; these only show that nothing was left out.
  expect(points).toEqual(expect.arrayContaining(['before createBill', 'before listPayments', 'before handler']));
  const line = [...points.entries()].filter(([at, point]) => ALL || !leavesTheSame(point, points[at + 1])).values();
  const problems: string[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      // Both lanes draw from one line.
      for (const [at, point] of line) {
        await lane.crash(at).catch((error: unknown) => {
          problems.push(`killed at ${at}, ${point}: ${error instanceof Error ? error.message : String(error)}`);
        });
      }
    }),
  );
  expect(problems).toEqual([]);
}, 600_000);

/** Whether a kill at either point leaves the same world: nothing is done between them, or something is only read. */
function leavesTheSame(point = '', next = ''): boolean {
  const read = point.startsWith('before SELECT') && next.startsWith('after SELECT');
  return read || (point.startsWith('after ') && next.startsWith('before '));
}
