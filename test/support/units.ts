import { PaymentConfigurationError } from '../../libs/payment-acceptance/src/config/configuration.error.js';
import type { PaymentAcceptanceOptions } from '../../libs/payment-acceptance/src/config/options.js';
import { resolveOptions } from '../../libs/payment-acceptance/src/config/resolve-options.js';
import type { ResolvedOptions, Shop } from '../../libs/payment-acceptance/src/config/resolved-options.js';
import type { PaymentShopOptions } from '../../libs/payment-acceptance/src/config/service-options.js';
import type { LockedBill } from '../../libs/payment-acceptance/src/domain/bill.js';
import type { ClaimedBill } from '../../libs/payment-acceptance/src/domain/claim.js';
import type { ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';
import { withConstants, type TestedOptions } from './options.js';

export const TOKEN = 'unit-token-0123456789abcdef';

/** Valid options of a shop. */
export const shopOptions = (more: Partial<PaymentShopOptions> = {}): PaymentShopOptions => ({
  shopId: 'shop-1',
  apiToken: TOKEN,
  apiBaseUrl: 'https://api.example',
  ...more,
});

/** Resolved options of one shop, `main`. */
export const resolved = (shop: Partial<PaymentShopOptions> = {}, more: TestedOptions = {}): ResolvedOptions =>
  resolveOptions({ shops: { main: shopOptions(shop) }, ...withConstants(more) }, 'test');

/** Options of the module with one shop and these. */
export const withOptions = (more: Record<string, unknown>) => ({ shops: { main: shopOptions() }, ...more });

/** Every problem with these options of the module. */
export function problemsOf(options: unknown, environment = 'test'): readonly string[] {
  try {
    resolveOptions(options as PaymentAcceptanceOptions, environment);
    return [];
  } catch (error) {
    if (error instanceof PaymentConfigurationError) return error.problems;
    throw error;
  }
}

export const shopOf = (more: Partial<PaymentShopOptions> = {}): Shop => resolved(more).shops.get('main')!;

/** A payment as the service lists it: SUCCESS, with the amount of `lockedBill()`. */
export const reported = (more: Partial<ReportedPayment> = {}): ReportedPayment => ({
  paymentId: 'p-1',
  billId: 'b-1',
  status: 'SUCCESS',
  statusText: 'SUCCESS',
  amount: '100.05',
  amountReceived: '98.05',
  commission: null,
  currency: 'RUB',
  fromCard: '411111******1111',
  createdAtText: '2026-11-21 12:00:00',
  createdAt: new Date('2026-11-21T12:00:00Z'),
  ...more,
});

/** An open bill of 100.05 RUB. */
export const lockedBill = (more: Partial<LockedBill> = {}): LockedBill => ({
  intentId: '00000000-0000-4000-8000-000000000001',
  shop: 'main',
  shopId: 'shop-main',
  orderId: 'A-1',
  attempt: 1,
  billId: 'b-1',
  state: 'OPEN',
  amount: '100.05',
  currency: 'RUB',
  payerPaysCommission: false,
  custom: 'cart 7',
  customGiven: true,
  redacted: false,
  checks: 0,
  openedAt: new Date('2026-11-21T12:00:00Z'),
  paidAt: null,
  endedAt: null,
  nextCheckAt: new Date('2026-11-21T12:01:00Z'),
  now: new Date('2026-11-21T12:00:30Z'),
  ...more,
});

/** An open bill that a scheduled check has claimed. */
export const claimedBill = (more: Partial<ClaimedBill> = {}): ClaimedBill => {
  const { intentId: id, shop, orderId, billId, openedAt, paidAt, endedAt, now } = lockedBill();
  const claim = {
    state: 'OPEN' as const,
    token: 'claim-1',
    scheduled: true,
    failedChecks: 0,
    traceparent: null,
    shopRefused: false,
    hints: [],
  };
  return { intentId: id, shop, orderId, billId, openedAt, paidAt, endedAt, now, ...claim, ...more };
};
