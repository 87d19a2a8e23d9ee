import { setTimeout as sleep } from 'node:timers/promises';

/** The longest of those that take long. */
const TAIL_MS = 2_000;
const TAIL_SHARE = 0.05;
/** What it takes to say that it is too much. */
const REFUSAL_MS = 20;

/** @typedef {Record<'taken' | 'refused' | 'lost', number[]>} Asked requests by what became of them, each with its moment */

/**
 * What a real paying service does to those that ask it.
 *
 * @typedef {object} Strain
 * @property {number} [takesMs] a request takes about so long, within a tenth; one in twenty longer, evenly up to two seconds
 * @property {number} [atMost] requests taken a second; others are answered 429
 * @property {number} [capacity] requests finished a second; where more come, they wait for each other
 * @param {Strain} how
 */
export function strain({ takesMs = 0, atMost = Infinity, capacity = Infinity }) {
  let [began, dead, freeAt] = [Date.now(), false, 0];
  /**
   * When each was taken, of the last second.
   * @type {number[]}
   */
  let taken = [];
  /** @type {Asked} */
  const requests = { taken: [], refused: [], lost: [] };
  /** @param {keyof Asked} kind */
  const note = (kind) => requests[kind].push(Date.now() - began);
  return {
    /** Resolves to the status when it is time to answer; 0 where there is nobody who could. */
    async admit() {
      if (dead) return (note('lost'), 0);
      const now = Date.now();
      taken = taken.filter((at) => at > now - 1_000);
      if (taken.length >= atMost) {
        note('refused');
        await sleep(REFUSAL_MS);
        return 429;
      }
      if (atMost < Infinity) taken.push(now);
      note('taken');
      freeAt = Math.max(freeAt, now) + 1_000 / capacity;
      const until = Math.max(now + drawn(takesMs), freeAt);
      if (until > now) await sleep(until - now);
      return dead ? 0 : 200;
    },
    die: () => void (dead = true),
    revive: () => void ([dead, freeAt] = [false, 0]),
    /** When requests came since the last call, in milliseconds since then, by what became of them. */
    log() {
      const seen = { began, ...requests };
      began = Date.now();
      [requests.taken, requests.refused, requests.lost, taken] = [[], [], [], []];
      return seen;
    },
  };
}

/** @param {number} takesMs */
function drawn(takesMs) {
  if (takesMs === 0) return 0;
  if (Math.random() < TAIL_SHARE) return takesMs + Math.random() * (TAIL_MS - takesMs);
  return takesMs * (0.9 + 0.2 * Math.random());
}
