import { countBy } from '../chaos/tables.mjs';

/** The reason alone: a change of colour, or which bill it was about, may follow. */
const REFUSAL = /QueryFailedError: ([^\n\u001b{]+)/g;

/** What the database may say of tables that are as they should be: statements that met each other, and are repeated. */
const BUSY = /deadlock|lock wait timeout|lock timeout|could not serialize|record has changed/i;

/**
 * The statements that the database refused, as sentences, from what the instances logged: `{ name, log }`. Here it neither
 * dies nor loses connections, so there is a reason, even where the other release has made up for it.
 * @param {readonly { name: string; log: string }[]} instances
 */
export function refusedStatements(instances) {
  return instances.flatMap(({ name, log }) => {
    const reasons = [...log.matchAll(REFUSAL)].map(([, reason = '']) => reason.trim());
    const counts = countBy(
      reasons.filter((reason) => !BUSY.test(reason)),
      (reason) => reason,
    );
    return [...counts].map(([reason, times]) => `the database refused ${times} statements of ${name}: ${reason}`);
  });
}
