import type { CheckScheduleOptions } from '../config/options.js';
import type { BillState } from '../storage/bill.store.js';
import type { LockedBill } from '../storage/settlement.store.js';

type Schedule = Readonly<Required<CheckScheduleOptions>>;

/**
 * When a bill is looked at next without a hint; `null` for never again. A check that only answered a hint leaves the
 * schedule as it was, so that hints neither push it back nor use it up.
 */
export function nextCheck(bill: LockedBill, state: BillState, scheduled: boolean, options: Schedule): Date | null {
  const now = bill.now.getTime();
  if (state === bill.state && !scheduled) return bill.nextCheckAt;
  if (state === 'PAID') {
    const paidAt = bill.state === 'PAID' ? (bill.paidAt ?? bill.now) : bill.now;
    return within(now + options.paidEveryMs, paidAt.getTime() + options.paidForMs);
  }
  if (state === 'EXPIRED') {
    const endedAt = bill.state === 'EXPIRED' ? (bill.endedAt ?? bill.now) : bill.now;
    return within(now + options.expiredEveryMs, endedAt.getTime() + options.expiredForMs);
  }
  const step = Math.min(bill.checks + 1, options.openMs.length - 1);
  const regular = now + (options.openMs[step] ?? options.expiredEveryMs);
  const end = endOfLife(bill, options);
  return new Date(now < end ? Math.min(regular, end) : regular);
}

/** From this moment on an unpaid bill without a running payment is expired. */
export function endOfLife(bill: LockedBill, options: Schedule): number {
  return bill.openedAt.getTime() + options.lifetimeMs;
}

function within(at: number, end: number): Date | null {
  return at <= end ? new Date(at) : null;
}
