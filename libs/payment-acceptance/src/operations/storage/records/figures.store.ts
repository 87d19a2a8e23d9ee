import { Injectable } from '@nestjs/common';
import { BILL_STATES } from '../../../domain/bill.js';
import type { ErrorCount, HourOfPayments, PaymentFigures, WaitingWork } from '../../records.js';
import { Database } from '../../../database/database.js';
import { instant, integer } from '../../../database/reading.js';
import { ofScope, type ShopScope } from '../../../database/scope.js';
import { rawSql, countWhere, join, sql, type Statement } from '../../../database/statement.js';

/** Maximum rows read for one figure, so that the cost of a busy day is limited. */
const MAX_EVENTS = 20_000;
const MAX_SETTLED = 5_000;
const MAX_ERROR_KINDS = 8;

const HOUR = 3_600_000;
const HOURS = 24;

/** Has both times of each settled payment instead of delays, because the times are on different clocks. */
export interface RecordedFigures extends Omit<PaymentFigures, 'settlementDelaysMs'> {
  readonly settled: readonly SettledPayment[];
}

export interface SettledPayment {
  readonly shop: string;
  readonly createdAtText: string;
  readonly settledAt: Date;
}

/** Each statement reads a limited number of rows. */
@Injectable()
export class FiguresStore {
  constructor(private readonly database: Database) {}

  /**
   * Runs one statement at a time, so that a person's page takes no more than one of the module's connections from
   * payments.
   * @param ages lower bounds of the age groups of waiting work, in milliseconds, ascending
   */
  async read(scope: ShopScope, ages: readonly number[]): Promise<RecordedFigures> {
    const events = await this.hours(scope);
    const settled = await this.settled(scope);
    const waiting = await this.waiting(scope, ages);
    const errors = await this.errors(scope);
    return { ...events, settled, waiting, errors, states: await this.states(scope) };
  }

  private async hours(scope: ShopScope): Promise<Pick<PaymentFigures, 'hours' | 'truncated'>> {
    const { dialect } = this.database;
    const count = (name: string): Statement => countWhere(sql`${ofScope('e.shop', scope)} AND e.name = ${name}`);
    const rows = await this.database.rows<Omit<HourOfPayments, 'hour'> & { at: number; all: number }>({
      at: integer,
      all: integer,
      succeeded: integer,
      failed: integer,
      reviews: integer,
    })`
      SELECT floor(${dialect.epochMs('e.occurred_at')} / ${rawSql(String(HOUR))}) AS at, count(*) AS "all",
        ${count('payment.succeeded')} AS succeeded, ${count('payment.failed')} AS failed,
        ${count('payment.review')} AS reviews
      FROM (${this.newestEvents(sql`name`, MAX_EVENTS)}) e GROUP BY 1`;
    const [clock] = await this.database.rows<{ now: number }>({
      now: integer,
    })`SELECT ${dialect.epochMs(this.database.now())} AS now`;
    const first = Math.floor(Number(clock?.now) / HOUR) - HOURS + 1;
    const hours = Array.from({ length: HOURS }, (_, index) => {
      const { succeeded = 0, failed = 0, reviews = 0 } = rows.find(({ at }) => at === first + index) ?? {};
      return { hour: new Date((first + index) * HOUR).toISOString(), succeeded, failed, reviews };
    });
    return { hours, truncated: rows.reduce((sum, { all }) => sum + all, 0) === MAX_EVENTS };
  }

  private settled(scope: ShopScope): Promise<SettledPayment[]> {
    const { dialect } = this.database;
    return this.database.rows<SettledPayment>({ settledAt: instant })`
      SELECT e.shop, p.service_created_at AS "createdAtText", ${dialect.epochMs('e.occurred_at')} AS "settledAt"
      FROM (${this.newestEvents(sql`name, payload`, MAX_SETTLED)}) e
      JOIN payment_acceptance.payment p
        ON p.shop = e.shop AND p.payment_id = ${dialect.jsonText('e.payload', 'paymentId')}
      WHERE ${ofScope('e.shop', scope)} AND e.name = 'payment.succeeded' AND p.service_created_at IS NOT NULL`;
  }

  private waiting(scope: ShopScope, ages: readonly number[]): Promise<WaitingWork[]> {
    const passed = ages.map((ms) => sql`CASE WHEN since <= ${this.database.now(-ms)} THEN 1 ELSE 0 END`);
    return this.database.rows<WaitingWork>({ age: integer, count: integer })`
      SELECT kind, ${join([...passed, rawSql('0')], ' + ')} - 1 AS age, count(*) AS count FROM (
        (SELECT 'check' AS kind, next_check_at AS since FROM payment_acceptance.bill
         WHERE next_check_at <= ${this.database.now()} AND ${ofScope('shop', scope)} LIMIT ${MAX_EVENTS})
        UNION ALL
        (SELECT 'delivery', e.occurred_at FROM payment_acceptance.delivery d
         JOIN payment_acceptance.event e ON e.id = d.event_id
         WHERE d.state = 'PENDING' AND ${ofScope('e.shop', scope)} LIMIT ${MAX_EVENTS})
      ) due GROUP BY 1, 2`;
  }

  /** Grouped by the error's name, which is the text before the first colon, because the message varies. */
  private errors(scope: ShopScope): Promise<ErrorCount[]> {
    return this.database.rows<ErrorCount>({ count: integer })`
      SELECT place AS "where", left(left(error, position(':' IN concat(error, ':')) - 1), 60) AS kind, count(*) AS count
      FROM (
        (SELECT CASE WHEN failure IS NULL THEN 'check' ELSE 'creation' END AS place, coalesce(failure, last_check_error) AS error
         FROM payment_acceptance.bill WHERE ${this.isFromLastDay(scope)}
           AND (failure IS NOT NULL OR last_check_error IS NOT NULL) LIMIT ${MAX_EVENTS})
        UNION ALL
        (SELECT d.consumer, d.last_error FROM payment_acceptance.delivery d
         JOIN payment_acceptance.event e ON e.id = d.event_id
         WHERE d.state IN ('PENDING', 'DEAD') AND d.last_error IS NOT NULL AND ${ofScope('e.shop', scope)}
           AND coalesce(d.ended_at, d.due_at) > ${this.database.now(-(HOURS * HOUR))} LIMIT ${MAX_EVENTS})
      ) errors GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ${MAX_ERROR_KINDS}`;
  }

  private states(scope: ShopScope): Promise<PaymentFigures['states'][number][]> {
    return this.database.rows<PaymentFigures['states'][number]>({ count: integer })`
      SELECT state, count(*) AS count FROM (
        SELECT state FROM payment_acceptance.bill WHERE ${this.isFromLastDay(scope)} LIMIT ${10 * MAX_EVENTS}) made
      GROUP BY state ORDER BY 2 DESC, 1`;
  }

  /** Names all states, so that the index of the lists can be used. */
  private isFromLastDay(scope: ShopScope): Statement {
    const { oneOf } = this.database.dialect;
    return sql`${ofScope('shop', scope)} AND state ${oneOf(BILL_STATES, 'text')} AND created_at > ${this.database.now(-(HOURS * HOUR))}`;
  }

  private newestEvents(columns: Statement, limit: number): Statement {
    return sql`SELECT * FROM (
        SELECT shop, occurred_at, ${columns} FROM payment_acceptance.event ${this.database.dialect.bySeq} ORDER BY seq DESC LIMIT ${limit}) newest
      WHERE newest.occurred_at > ${this.database.now(-(HOURS * HOUR))}`;
  }
}
