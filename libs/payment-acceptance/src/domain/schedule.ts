import type { BillState, LockedBill } from './bill.js';
import type { ClaimedBill } from './claim.js';
import type { CheckScheduleOptions } from './schedule-options.js';

/** The schedule with its constants, see `config/constants.ts`. */
export interface CheckSchedule extends Readonly<Required<CheckScheduleOptions>> {
  readonly expiredEveryMs: number;
  readonly jitterPercent: number;
}

/**
 * When to check a bill next without a hint, spread by a random `fraction` from 0 to 1; `null` for never. A check that
 * only answered a hint leaves the schedule alone, so that hints neither delay it nor use it up. A bill that stays
 * open beyond its lifetime is checked as rarely as an expired one.
 */
export function nextCheck(
  bill: LockedBill,
  state: BillState,
  scheduled: boolean,
  options: CheckSchedule,
  fraction: number,
): Date | null {
  const spread = (pauseMs: number): number => Math.round(pauseMs * (1 + (fraction * options.jitterPercent) / 100));
  const now = bill.now.getTime();
  if (state === bill.state && !scheduled) return bill.nextCheckAt;
  const followUp = followUpOf({ ...bill, state }, bill.now, options);
  const { since, everyMs, forMs } = followUp;
  if (state !== 'PAID' && state !== 'EXPIRED' && now < since) {
    const step = Math.min(bill.checks + 1, options.openMs.length - 1);
    return new Date(Math.min(now + spread(options.openMs[step] ?? everyMs), since));
  }
  const until = since + forMs;
  const next = now + spread(everyMs);
  // However rare the checks of a followed bill are, one comes after the horizon.
  return dateIfBy(now < horizonOf(followUp) ? Math.min(next, until) : next, until);
}

/** Refusals before a bill may be given up: as many as it takes for the default pauses to reach their cap. */
const FAILURES_BEFORE_GIVING_UP = 7;

export interface FailureSchedule {
  /** The bill's next scheduled check; `null` for none, `undefined` to keep the current one. */
  readonly nextCheckAt: Date | null | undefined;
  /** Whether the bill's lifetime ended without an answer. A bill that has already ended gets no review, whatever a postback says. */
  readonly review: boolean;
  /** Whether the bill is no longer checked; its hints are then not answered either. */
  readonly giveUp: boolean;
}

/**
 * A failed check is retried after the pause while the bill is young, and later no more often than successful checks are
 * made. After the last scheduled check, retries end only if the service refuses this very bill (`billRefused`): any
 * other failure may hide a payment.
 */
export function scheduleAfterFailure(
  claim: ClaimedBill,
  pauseMs: number,
  billRefused: boolean,
  options: CheckSchedule,
): FailureSchedule {
  const now = claim.now.getTime();
  const { since, everyMs, forMs } = followUpOf(claim, claim.openedAt, options);
  const until = since + forMs;
  // A brief outage just when a bill ends is no reason to open a review.
  const isYoung = claim.state === 'OPEN' && now < since + everyMs;
  const next = now + (isYoung ? pauseMs : Math.max(pauseMs, everyMs));
  const giveUp = billRefused && now > until && claim.failedChecks >= FAILURES_BEFORE_GIVING_UP;
  return {
    nextCheckAt: claim.scheduled ? dateIfBy(next, billRefused ? until : next) : undefined,
    review: claim.state === 'OPEN' && !isYoung,
    giveUp,
  };
}

/** In epoch milliseconds. A bill that may hold money expires later, at its horizon at the latest. */
export function endOfLife(bill: Pick<LockedBill, 'openedAt'>, options: CheckSchedule): number {
  return bill.openedAt.getTime() + options.lifetimeMs;
}

/** When a payment in progress needs a person: two checks before the last one, or half-way to it if that is later. */
export function horizon(bill: LockedBill, options: CheckSchedule): number {
  return horizonOf(followUpOf(bill, bill.now, options));
}

/** From when on a bill is followed, how often it is then checked, and for how long. In milliseconds. */
interface FollowUp {
  readonly since: number;
  readonly everyMs: number;
  readonly forMs: number;
}

/** @param otherwise when a bill was paid or has expired that does not say so */
function followUpOf(
  bill: Pick<LockedBill, 'state' | 'openedAt' | 'paidAt' | 'endedAt'>,
  otherwise: Date,
  options: CheckSchedule,
): FollowUp {
  const { paidEveryMs, paidForMs, expiredEveryMs, expiredForMs } = options;
  if (bill.state === 'PAID') {
    return { since: (bill.paidAt ?? otherwise).getTime(), everyMs: paidEveryMs, forMs: paidForMs };
  }
  const since = bill.state === 'EXPIRED' ? (bill.endedAt ?? otherwise).getTime() : endOfLife(bill, options);
  return { since, everyMs: expiredEveryMs, forMs: expiredForMs };
}

function horizonOf({ since, everyMs, forMs }: FollowUp): number {
  return since + forMs - Math.min(2 * everyMs, forMs / 2);
}

function dateIfBy(epochMs: number, end: number): Date | null {
  return epochMs <= end ? new Date(epochMs) : null;
}
