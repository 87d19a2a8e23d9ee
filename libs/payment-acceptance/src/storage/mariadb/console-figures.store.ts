import { Injectable } from '@nestjs/common';
import {
  ConsoleFiguresStore,
  NEWEST,
  newestEvents,
  type ConsoleFigures,
  type HourOfPayments,
  type Waiting,
} from '../console/console-figures.store.js';
import { NOW, epochMs } from '../sql.js';
import { inScope, type ShopScope } from '../scope.js';
import type { MariaDatabase } from './maria.database.js';

const HOUR = 3_600_000;

@Injectable()
export class MariaConsoleFiguresStore extends ConsoleFiguresStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  protected override async hours(scope: ShopScope): Promise<Pick<ConsoleFigures, 'hours' | 'cut'>> {
    const count = (name: string): string =>
      `COUNT(CASE WHEN ${inScope('e.shop', '$2')} AND e.name = '${name}' THEN 1 END)::int`;
    const rows = await this.maria.query<Omit<HourOfPayments, 'hour'> & { at: number; read: number }>(
      `SELECT TIMESTAMPDIFF(HOUR, TIMESTAMP'1970-01-01 00:00:00', e.occurred_at)::int AS at, count(*)::int AS "read",
         ${count('payment.succeeded')} AS succeeded, ${count('payment.failed')} AS failed,
         ${count('payment.review')} AS reviews
       FROM (${newestEvents('name', NEWEST)}) e GROUP BY 1`,
      [this.maria.offsetMs, scope],
    );
    const [clock] = await this.maria.query<{ now: string }>(`SELECT ${epochMs(NOW)} AS now`, [this.maria.offsetMs]);
    const last = Math.floor(Number(clock?.now) / HOUR);
    const hours = Array.from({ length: 24 }, (_, index) => {
      const { succeeded = 0, failed = 0, reviews = 0 } = rows.find(({ at }) => at === last - 23 + index) ?? {};
      return { hour: new Date((last - 23 + index) * HOUR).toISOString(), succeeded, failed, reviews };
    });
    return { hours, cut: rows.reduce((sum, { read }) => sum + read, 0) === NEWEST };
  }

  protected override waiting(scope: ShopScope, ages: readonly number[]): Promise<Waiting[]> {
    const waited = `TIMESTAMPDIFF(MICROSECOND, since, ${NOW})`;
    const age = ages.map((ms) => `(${waited} >= ${Math.round(ms * 1000)})`).join(' + ');
    return this.maria.query(
      `SELECT kind, (${age || '0'} - 1)::int AS age, count(*)::int AS count FROM (
         (SELECT 'check' AS kind, next_check_at AS since FROM payment_acceptance.bill
          WHERE next_check_at <= ${NOW} AND ${inScope('shop', '$2')} LIMIT ${NEWEST})
         UNION ALL
         (SELECT 'delivery', e.occurred_at FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id WHERE d.state = 'PENDING' AND ${inScope('e.shop', '$2')} LIMIT ${NEWEST})
       ) due GROUP BY 1, 2`,
      [this.maria.offsetMs, scope],
    );
  }
}
