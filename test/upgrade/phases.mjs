/** @import { Supervised } from '../chaos/supervised.mjs' */
/** @import { Fleet } from './fleet.mjs' */

/** @typedef {'previous' | 'present'} ReleaseName */
/** @typedef {[Supervised, Supervised]} Pair of instances of one release */
/** @typedef {{ name: string; releases: readonly ReleaseName[]; joins?: ReleaseName; leaves?: ReleaseName }} Phase */
/** @typedef {{ orders: Record<ReleaseName, number>; payments: number; events: number; migrations: number }} Counts */
/** @typedef {Counts & Phase & { seconds: number }} PhaseRow */

/**
 * The way forward and back, with two instances of each release. Where one `joins`, both run side by side until its
 * instances have all the traffic; else one is alone.
 * @type {Phase[]}
 */
export const phases = [
  { name: 'previous alone', releases: ['previous'] },
  { name: 'present joins', releases: ['previous', 'present'], joins: 'present', leaves: 'previous' },
  { name: 'present alone', releases: ['present'] },
  { name: 'previous joins again', releases: ['previous', 'present'], joins: 'previous', leaves: 'present' },
  { name: 'previous alone again', releases: ['previous'] },
];

/**
 * The newcomers start beside the residents; of each release one is killed, and one is stopped and started.
 * @param {Pick<Fleet, 'start' | 'kill' | 'restart'>} fleet
 * @param {Pair} newcomers
 * @param {Pair} residents
 */
export async function join(fleet, newcomers, residents) {
  await fleet.start(newcomers[0]);
  await Promise.all([fleet.kill(newcomers[0]), fleet.kill(residents[0]), fleet.start(newcomers[1])]);
  await Promise.all([fleet.restart(newcomers[0]), fleet.restart(residents[1])]);
}

/**
 * What came about between two counts; of the migrations, how many there are.
 * @param {Counts} before
 * @param {Counts} after
 * @returns {Counts}
 */
export function between(before, after) {
  return {
    orders: {
      previous: after.orders.previous - before.orders.previous,
      present: after.orders.present - before.orders.present,
    },
    payments: after.payments - before.payments,
    events: after.events - before.events,
    migrations: after.migrations,
  };
}

/**
 * What a phase proves nothing without.
 * @param {Omit<PhaseRow, 'seconds'>} phase
 */
export function problemsOf({ name, releases, orders, payments, events }) {
  const idle = releases.filter((release) => orders[release] === 0);
  return [
    ...idle.map((release) => `in the phase "${name}" the ${release} release took no order`),
    ...(payments === 0 ? [`in the phase "${name}" no payment was made`] : []),
    ...(events === 0 ? [`in the phase "${name}" nothing was settled`] : []),
  ];
}
