import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Telemetry, type Measurement } from '../telemetry/telemetry.js';
import { PaymentHealthIndicator, type PaymentDegradation, type PaymentHealth } from './payment-health.indicator.js';
import { Workload } from './workload.js';

const GAUGES = {
  'payment_acceptance.degraded': { unit: '{reason}', description: '1 for each reason that health reports, else 0.' },
  'payment_acceptance.checks.overdue.age': { unit: 's', description: 'How long the most overdue check has waited.' },
  'payment_acceptance.deliveries.oldest.age': { unit: 's', description: 'Age of the oldest undelivered event.' },
  'payment_acceptance.deliveries.pending': {
    unit: '{delivery}',
    description: 'Events not yet delivered to a consumer.',
  },
  'payment_acceptance.deliveries.failing.age': {
    unit: 's',
    description: 'Age of the oldest event whose delivery is failing, by consumer and reason.',
  },
  'payment_acceptance.dead_letters': {
    unit: '{delivery}',
    description: 'Deliveries that exhausted their attempts, for a person to replay.',
  },
  'payment_acceptance.reviews.open': { unit: '{review}', description: 'Mismatches for a person to decide.' },
  'payment_acceptance.bills.unknown': { unit: '{bill}', description: 'Bill creations with an unknown outcome.' },
  'payment_acceptance.bills.lost': {
    unit: '{bill}',
    description: 'Bills at the service that the ledger does not have.',
  },
  'payment_acceptance.callbacks.waiting': { unit: '{callback}', description: 'Postbacks that name none of our bills.' },
  'payment_acceptance.shops.refused': { unit: '{shop}', description: 'Shops that the service refuses.' },
} as const;

const WORKLOAD_GAUGES = {
  'payment_acceptance.checks.running': { unit: '{request}', description: "Running requests for bills' payments." },
  'payment_acceptance.checks.limit': {
    unit: '{request}',
    description: "Current limit of concurrent requests for bills' payments.",
  },
  'payment_acceptance.checks.rate.limit': { unit: '{request}/s', description: 'Limit of requests per second.' },
  'payment_acceptance.deliveries.running': { unit: '{delivery}', description: 'Deliveries in progress.' },
  'payment_acceptance.handlers.running': { unit: '{handler}', description: 'Handlers running in transactions.' },
  'payment_acceptance.handlers.limit': {
    unit: '{handler}',
    description: 'Current limit of handlers in transactions, derived from the pool.',
  },
} as const;

/** Where each reason is seen: in this process, or in the tables that all instances share. */
const REASONS: Readonly<Record<PaymentDegradation, 'process' | 'tables'>> = {
  'checks-overdue': 'tables',
  'checks-failing': 'tables',
  'deliveries-late': 'tables',
  'deliveries-failing': 'tables',
  'dead-letters': 'tables',
  'open-reviews': 'tables',
  'unknown-statuses': 'tables',
  'unknown-outcomes': 'tables',
  'lost-bills': 'tables',
  'shops-refused': 'tables',
  'callbacks-refused': 'process',
  'events-without-consumer': 'process',
  'backlog-unknown': 'process',
  'service-not-answering': 'process',
  'worker-stalled': 'process',
};

const TIMEOUT_MS = 5_000;

type StateMeasurement = Measurement & { readonly gauge: keyof typeof GAUGES };
type WorkloadMeasurement = Measurement & { readonly gauge: keyof typeof WORKLOAD_GAUGES };

/** Adds 0 for what was measured before with attributes, and is not now: an SDK would repeat its last value. */
function addingEnded<Each extends Measurement>(): (now: readonly Each[]) => Each[] {
  const measured = new Map<string, Each>();
  return (now) => {
    const ended = new Map(measured);
    for (const measurement of now.filter(({ attributes }) => attributes)) {
      const key = JSON.stringify([measurement.gauge, measurement.attributes]);
      measured.set(key, measurement);
      ended.delete(key);
    }
    return [...now, ...Array.from(ended.values(), (measurement) => ({ ...measurement, value: 0 }))];
  };
}

/**
 * Gauges for the host's metrics. Every instance reports the same figures from the tables: aggregate them by maximum,
 * not by sum. The workload gauges are per instance, and so are the reasons of health that concern a process.
 *
 * While the database is down, `degraded` reports the reason `database`, and the figures from the tables are not
 * measured: an SDK that accumulates then repeats the last ones.
 */
@Injectable()
export class PaymentGauges implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private ends: (() => void)[] = [];
  private readonly addEndedState = addingEnded<StateMeasurement>();
  private readonly addEndedWorkload = addingEnded<WorkloadMeasurement>();

  constructor(
    private readonly telemetry: Telemetry,
    private readonly health: PaymentHealthIndicator,
    private readonly workload: Workload,
  ) {}

  onApplicationBootstrap(): void {
    this.ends = [
      this.telemetry.gauges(GAUGES, () => this.measure()),
      this.telemetry.gauges(WORKLOAD_GAUGES, () => Promise.resolve(this.measureWorkload())),
    ];
  }

  /** Runs in this hook because the database is still connected. */
  beforeApplicationShutdown(): void {
    for (const end of this.ends) end();
  }

  private measureWorkload(): WorkloadMeasurement[] {
    const { checks, deliveries } = this.workload.read(null);
    return this.addEndedWorkload([
      ...checks.flatMap(({ shop, running, limit, requestsPerSecond }) => {
        const attributes = { 'payment.shop': shop };
        return [
          { gauge: 'payment_acceptance.checks.running', value: running, attributes },
          { gauge: 'payment_acceptance.checks.limit', value: limit, attributes },
          { gauge: 'payment_acceptance.checks.rate.limit', value: requestsPerSecond, attributes },
        ] as const;
      }),
      { gauge: 'payment_acceptance.deliveries.running', value: deliveries.running },
      { gauge: 'payment_acceptance.handlers.running', value: deliveries.inTransactions },
      { gauge: 'payment_acceptance.handlers.limit', value: deliveries.limit },
    ]);
  }

  private async measure(): Promise<StateMeasurement[]> {
    const { payments } = await this.health.isHealthy('payments', { timeoutMs: TIMEOUT_MS });
    return [
      ...measureReasons(payments),
      ...(payments.backlog ? this.addEndedState(measureTables(payments.backlog)) : []),
    ];
  }
}

function measureReasons({ status, degraded, backlog }: PaymentHealth): StateMeasurement[] {
  const knownReasons = (Object.keys(REASONS) as PaymentDegradation[]).filter(
    (reason) => backlog !== undefined || REASONS[reason] === 'process',
  );
  return [
    degradedGauge('database', status === 'down'),
    ...knownReasons.map((reason) => degradedGauge(reason, degraded.includes(reason))),
  ];
}

function degradedGauge(reason: PaymentDegradation | 'database', holds: boolean): StateMeasurement {
  return { gauge: 'payment_acceptance.degraded', value: holds ? 1 : 0, attributes: { 'payment.reason': reason } };
}

function measureTables(backlog: NonNullable<PaymentHealth['backlog']>): StateMeasurement[] {
  return [
    { gauge: 'payment_acceptance.checks.overdue.age', value: (backlog.oldestCheckMs ?? 0) / 1_000 },
    { gauge: 'payment_acceptance.deliveries.oldest.age', value: (backlog.oldestDeliveryMs ?? 0) / 1_000 },
    { gauge: 'payment_acceptance.deliveries.pending', value: backlog.pendingDeliveries },
    ...backlog.failingConsumers.map(({ consumer, reason, oldestMs }) => ({
      gauge: 'payment_acceptance.deliveries.failing.age' as const,
      value: oldestMs / 1_000,
      attributes: { 'payment.consumer': consumer, 'payment.reason': reason },
    })),
    { gauge: 'payment_acceptance.dead_letters', value: backlog.deadLetters },
    { gauge: 'payment_acceptance.reviews.open', value: backlog.openReviews },
    { gauge: 'payment_acceptance.bills.unknown', value: backlog.unknownBills },
    { gauge: 'payment_acceptance.bills.lost', value: backlog.lostBills },
    { gauge: 'payment_acceptance.callbacks.waiting', value: backlog.waitingCallbacks },
    { gauge: 'payment_acceptance.shops.refused', value: backlog.refusedShops.length },
  ];
}
