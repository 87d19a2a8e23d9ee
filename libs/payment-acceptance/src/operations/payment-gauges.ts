import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { withTimeout } from '../common/timeout.js';
import { Telemetry, type Measurement } from '../telemetry/telemetry.js';
import { Snapshots } from './snapshot.js';

const GAUGES = {
  'payment_acceptance.checks.overdue.age': { unit: 's', description: 'How long the longest overdue check has waited.' },
  'payment_acceptance.deliveries.oldest.age': { unit: 's', description: 'Age of the oldest event not yet taken.' },
  'payment_acceptance.deliveries.pending': { unit: '{delivery}', description: 'Events that a consumer has not taken.' },
  'payment_acceptance.dead_letters': {
    unit: '{delivery}',
    description: 'Deliveries given up, for a person to replay.',
  },
  'payment_acceptance.reviews.open': { unit: '{review}', description: 'What does not match, for a person to decide.' },
  'payment_acceptance.bills.unknown': { unit: '{bill}', description: 'Creations whose outcome never became known.' },
  'payment_acceptance.callbacks.waiting': { unit: '{callback}', description: 'Postbacks that name no bill of ours.' },
  'payment_acceptance.shops.refused': { unit: '{shop}', description: 'Shops that the service refuses.' },
} as const;

const TIME_LIMIT_MS = 5_000;

/** How things stand in the tables, for the host's metrics. Every instance shows the same: take the maximum, not the sum. */
@Injectable()
export class PaymentGauges implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private end = (): void => undefined;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly snapshots: Snapshots,
  ) {}

  onApplicationBootstrap(): void {
    this.end = this.telemetry.gauges(GAUGES, () => this.measure());
  }

  /** While the database is still there. */
  beforeApplicationShutdown(): void {
    this.end();
  }

  private async measure(): Promise<(Measurement & { gauge: keyof typeof GAUGES })[]> {
    const now = await withTimeout(TIME_LIMIT_MS, this.snapshots.read());
    return [
      { gauge: 'payment_acceptance.checks.overdue.age', value: (now.oldestCheckMs ?? 0) / 1_000 },
      { gauge: 'payment_acceptance.deliveries.oldest.age', value: (now.oldestDeliveryMs ?? 0) / 1_000 },
      { gauge: 'payment_acceptance.deliveries.pending', value: now.pendingDeliveries },
      { gauge: 'payment_acceptance.dead_letters', value: now.deadLetters },
      { gauge: 'payment_acceptance.reviews.open', value: now.openReviews },
      { gauge: 'payment_acceptance.bills.unknown', value: now.unknownBills },
      { gauge: 'payment_acceptance.callbacks.waiting', value: now.waitingCallbacks },
      { gauge: 'payment_acceptance.shops.refused', value: now.refusedShops.length },
    ];
  }
}
