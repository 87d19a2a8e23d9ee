import { Injectable } from '@nestjs/common';
import { BILL_STATES, type BillState } from '../../domain/bill.js';
import { Database } from '../database.js';
import { inScope, type ShopScope } from '../scope.js';
import { NOW, epochMs, instant, iso, type Texts } from '../sql.js';

/** Payments of one hour, by what became of them. */
export interface HourOfPayments {
  /** Its start, ISO 8601. */
  readonly hour: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly reviews: number;
}

export interface SettledPayment {
  readonly shop: string;
  /** `created_at` as the service sent it, on its own clock. */
  readonly createdAtText: string;
  readonly settledAt: Date;
}

/** How much of what is due now has waited how long. */
export interface Waiting {
  readonly kind: 'check' | 'delivery';
  /** Index of the last of the given ages that it has passed; -1 before the first. */
  readonly age: number;
  readonly count: number;
}

export interface ErrorCount {
  /** Where it happened: `creation`, `check`, or the name of a consumer. */
  readonly where: string;
  /** Name of the error. */
  readonly kind: string;
  readonly count: number;
}

/** What the charts of the last day are drawn from. */
export interface ConsoleFigures {
  readonly hours: readonly HourOfPayments[];
  readonly settled: readonly SettledPayment[];
  readonly waiting: readonly Waiting[];
  readonly errors: readonly ErrorCount[];
  /** Bills made, by state. */
  readonly states: readonly { readonly state: BillState; readonly count: number }[];
  /** Whether the day had more events than were read: then the early hours lack some. */
  readonly cut: boolean;
}

/** Most rows that one figure reads, so that a busy day costs no more. */
export const NEWEST = 20_000;
const NEWEST_SETTLED = 5_000;
const KINDS = 8;

const DAY = `${NOW} - interval '1 day'`;

/** Bills of the last day; all states are named, so that the index of the lists serves. */
const MADE_IN_SCOPE = `${inScope('shop', '$2')} AND state = ANY($3) AND created_at > ${DAY}`;

/** Figures of the last day, for charts. Reads only; each statement is bounded. */
@Injectable()
export class ConsoleFiguresStore {
  constructor(private readonly database: Database) {}

  /** @param ages from which on what waits is counted apart, in milliseconds, ascending */
  async read(scope: ShopScope, ages: readonly number[]): Promise<ConsoleFigures> {
    const [events, settled, waiting, errors, states] = await Promise.all([
      this.hours(scope),
      this.settled(scope),
      this.waiting(scope, ages),
      this.errors(scope),
      this.states(scope),
    ]);
    return { ...events, settled, waiting, errors, states };
  }

  protected async hours(scope: ShopScope): Promise<Pick<ConsoleFigures, 'hours' | 'cut'>> {
    const rows = await this.database.query<HourOfPayments & { all: number }>(
      `WITH newest AS (${newestEvents('name', NEWEST)})
       SELECT ${iso('h.hour')} AS hour, (SELECT count(*)::int FROM newest) AS all,
         count(*) FILTER (WHERE ${inScope('e.shop', '$2')} AND e.name = 'payment.succeeded')::int AS succeeded,
         count(*) FILTER (WHERE ${inScope('e.shop', '$2')} AND e.name = 'payment.failed')::int AS failed,
         count(*) FILTER (WHERE ${inScope('e.shop', '$2')} AND e.name = 'payment.review')::int AS reviews
       FROM generate_series(${hour(NOW)} - interval '23 hours', ${hour(NOW)}, '1 hour') h(hour)
       LEFT JOIN newest e ON ${hour('e.occurred_at')} = h.hour GROUP BY h.hour ORDER BY h.hour`,
      [this.database.offsetMs, scope],
    );
    return { hours: rows, cut: rows[0]?.all === NEWEST };
  }

  protected async settled(scope: ShopScope): Promise<SettledPayment[]> {
    const rows = await this.database.query<Texts<SettledPayment, 'settledAt'>>(
      `SELECT e.shop, p.service_created_at AS "createdAtText", ${epochMs('e.occurred_at')} AS "settledAt"
       FROM (${newestEvents('name, payload', NEWEST_SETTLED)}) e
       JOIN payment_acceptance.payment p ON p.shop = e.shop AND p.payment_id = e.payload ->> 'paymentId'
       WHERE ${inScope('e.shop', '$2')} AND e.name = 'payment.succeeded' AND p.service_created_at IS NOT NULL`,
      [this.database.offsetMs, scope],
    );
    return rows.map((row) => ({ ...row, settledAt: instant(row.settledAt) }));
  }

  protected waiting(scope: ShopScope, ages: readonly number[]): Promise<Waiting[]> {
    return this.database.query(
      `SELECT kind, width_bucket(extract(epoch FROM ${NOW} - since)::double precision * 1000, $3::double precision[]) - 1 AS age,
         count(*)::int AS count
       FROM (
         (SELECT 'check' AS kind, next_check_at AS since FROM payment_acceptance.bill
          WHERE next_check_at <= ${NOW} AND ${inScope('shop', '$2')} LIMIT ${NEWEST})
         UNION ALL
         (SELECT 'delivery', e.occurred_at FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id WHERE d.state = 'PENDING' AND ${inScope('e.shop', '$2')} LIMIT ${NEWEST})
       ) due GROUP BY 1, 2`,
      [this.database.offsetMs, scope, ages],
    );
  }

  /** By the name of the error, which stands before the first colon: its sentence differs from time to time. */
  protected errors(scope: ShopScope): Promise<ErrorCount[]> {
    return this.database.query(
      `SELECT place AS "where", left(split_part(error, ':', 1), 60) AS kind, count(*)::int AS count FROM (
         (SELECT CASE WHEN failure IS NULL THEN 'check' ELSE 'creation' END AS place, coalesce(failure, last_check_error) AS error
          FROM payment_acceptance.bill WHERE ${MADE_IN_SCOPE}
            AND (failure IS NOT NULL OR last_check_error IS NOT NULL) LIMIT ${NEWEST})
         UNION ALL
         (SELECT d.consumer, d.last_error FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id
          WHERE d.state IN ('PENDING', 'DEAD') AND d.last_error IS NOT NULL AND ${inScope('e.shop', '$2')}
            AND coalesce(d.ended_at, d.due_at) > ${DAY} LIMIT ${NEWEST})
       ) errors GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ${KINDS}`,
      [this.database.offsetMs, scope, BILL_STATES],
    );
  }

  protected states(scope: ShopScope): Promise<{ state: BillState; count: number }[]> {
    return this.database.query(
      `SELECT state, count(*)::int AS count FROM (
         SELECT state FROM payment_acceptance.bill WHERE ${MADE_IN_SCOPE} LIMIT ${10 * NEWEST}) made
       GROUP BY state ORDER BY 2 DESC, 1`,
      [this.database.offsetMs, scope, BILL_STATES],
    );
  }
}

/** Start of the hour in UTC, whatever the session's time zone is. */
function hour(instant: string): string {
  return `date_trunc('hour', ${instant}, 'UTC')`;
}

/** Events of the last day, found from the newest back. */
export function newestEvents(columns: string, limit: number): string {
  return `SELECT * FROM (SELECT shop, occurred_at, ${columns} FROM payment_acceptance.event ORDER BY seq DESC LIMIT ${limit}) newest
    WHERE newest.occurred_at > ${DAY}`;
}
