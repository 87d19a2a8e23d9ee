/** @import { FaultDocument, PostbackFaultSettings, RequestFaultSettings } from 'nestjs-payment-sandbox' */
/** @import { SeededRandom } from './random.mjs' */

/**
 * Faults of the API as they come together in bad times; all of them rare enough that most requests get through.
 * @type {Record<string, (random: SeededRandom) => number | RequestFaultSettings>}
 */
const REQUESTS = {
  resetBefore: (random) => random.fraction() * 0.06,
  loseAnswer: (random) => random.fraction() * 0.06,
  slow: (random) => ({ p: random.fraction() * 0.06, ms: random.pick([300, 1_500, 5_000]) }),
  status500: (random) => ({ p: random.fraction() * 0.06, done: random.chance(0.5) }),
  html: (random) => ({ p: random.fraction() * 0.05, done: random.chance(0.5) }),
  malformed: (random) => ({ p: random.fraction() * 0.05, done: random.chance(0.7) }),
  empty: (random) => ({ p: random.fraction() * 0.05, done: random.chance(0.7) }),
  unauthenticated: refusal,
  merchantNotFound: refusal,
  merchantBanned: refusal,
  billNotFound: (random) => random.fraction() * 0.05,
};

/** @type {Record<string, string>[]} */
const CHANGES = [{ OutSum: '1.00' }, { InvId: 'somebody-else' }, { Status: 'FAIL' }, { custom: 'changed' }];

/** @type {Record<string, (random: SeededRandom) => number | PostbackFaultSettings>} */
const POSTBACKS = {
  drop: (random) => random.pick([0.2, 0.5, 1]),
  duplicate: (random) => ({ p: random.fraction() * 0.5, copies: random.whole(1, 5) }),
  delay: (random) => ({ p: random.fraction() * 0.4, by: `${random.whole(1, 5)}s` }),
  reorder: (random) => ({ p: random.fraction() * 0.4, within: '3s' }),
  change: (random) => ({
    p: random.fraction() * 0.3,
    resign: random.chance(0.5),
    set: random.pick(CHANGES),
  }),
  forge: (random) => random.fraction() * 0.3,
};

/**
 * Upon a refused check the module leaves the whole shop alone for a minute: that may happen, but not all the time.
 * @param {SeededRandom} random
 * @returns {RequestFaultSettings}
 */
function refusal(random) {
  return random.chance(0.03)
    ? { p: 1, times: 1, operation: 'payments' }
    : { p: random.fraction() * 0.04, operation: 'create' };
}

/**
 * A random fault document. `dropAll` loses every postback whatever else happens.
 * @param {SeededRandom} random
 * @param {boolean} dropAll
 * @returns {FaultDocument}
 */
export function randomFaults(random, dropAll) {
  return {
    seed: random.whole(0, 1_000_000),
    requests: some(REQUESTS, random, 0.5),
    postbacks: dropAll ? { drop: 1 } : some(POSTBACKS, random, 0.4),
  };
}

/**
 * The faults that stay to the end.
 * @param {boolean} dropAll
 * @returns {FaultDocument}
 */
export function lastFaults(dropAll) {
  return dropAll ? { postbacks: { drop: 1 } } : {};
}

/**
 * @template Settings
 * @param {Record<string, (random: SeededRandom) => Settings>} faults
 * @param {SeededRandom} random
 * @param {number} share
 */
function some(faults, random, share) {
  const chosen = Object.entries(faults).filter(() => random.chance(share));
  return Object.fromEntries(chosen.map(([name, settings]) => [name, settings(random)]));
}
