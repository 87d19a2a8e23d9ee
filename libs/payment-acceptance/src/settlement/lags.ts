import type { ClaimedBill } from '../domain/claim.js';
import { firstAssertion } from '../domain/hints.js';
import type { ReportedPayment } from '../domain/payment.js';
import type { NewEvent } from '../domain/settlement.js';
import type { PaymentMetrics } from '../telemetry/payment-metrics.js';

/** Records how long ago the outcomes that a check settled were known to the service, and asserted by a postback. */
export function recordLags(
  metrics: PaymentMetrics,
  claim: ClaimedBill,
  listed: readonly ReportedPayment[],
  events: readonly NewEvent[],
  now: Date,
): void {
  const outcomes = events.filter(({ name }) => name === 'payment.succeeded' || name === 'payment.failed');
  if (outcomes.length === 0) return;
  const createdAts = new Map<unknown, Date | null>(listed.map(({ paymentId, createdAt }) => [paymentId, createdAt]));
  for (const { payload } of outcomes) {
    const createdAt = createdAts.get((payload as { paymentId?: unknown }).paymentId);
    if (createdAt) metrics.lagOfPayment(claim.shop, now.getTime() - createdAt.getTime());
  }
  const assertedAt = firstAssertion(claim.hints);
  if (assertedAt) metrics.lagOfCallback(claim.shop, now.getTime() - assertedAt.getTime());
}
