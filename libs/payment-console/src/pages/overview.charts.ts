import type { PaymentFigures } from 'nestjs-payment-acceptance/operations';
import { columnChart, rowChart, type Column } from './charts.js';
import { html, type Html } from '../common/html.js';
import { duration } from '../labels/text.js';

/** Age buckets of the backlog, in milliseconds. */
export const AGES = [0, 10_000, 60_000, 300_000, 3_600_000, 86_400_000] as const;

/**
 * Upper limits of the buckets for the time from payment to settlement, in milliseconds; the rest took longer. The first is
 * for clocks that differ.
 */
const DELAYS = [-5_000, 5_000, 15_000, 60_000, 300_000, 3_600_000] as const;

export function overviewCharts(figures: PaymentFigures): Html {
  const { hours, settlementDelaysMs, waiting, errors, truncated } = figures;
  const note = truncated ? ' There were too many to count: the early hours are incomplete.' : '';
  return html`<div class="halves">
    ${card('Payments by hour', {
      chart:
        hours.some(({ succeeded, failed, reviews }) => succeeded + failed + reviews > 0) &&
        columnChart('Payments by hour', hourColumns(hours), {
          good: 'succeeded',
          bad: 'failed',
          warn: 'to be reviewed',
        }),
      note: `The last 24 hours, in UTC.${note}`,
      none: 'No payment was settled in the last 24 hours.',
    })}
    ${card('From payment to settlement', {
      chart:
        settlementDelaysMs.length > 0 &&
        columnChart('From payment to settlement', settledColumns(settlementDelaysMs), { plain: 'payments' }),
      note:
        'The time from a payment at the service until its event was written: the newest payments of the last 24 hours. A ' +
        'negative time means that the timeZone of the shop is wrong, or that the clocks differ.',
      none: 'No payment succeeded in the last 24 hours.',
    })}
    ${card('Pending work by age', {
      chart:
        waiting.length > 0 &&
        columnChart('Pending work by age', waitingColumns(waiting), {
          plain: 'checks of bills',
          warn: 'events to deliver',
        }),
      note: 'Bill checks that are due, and events not yet delivered to a consumer.',
      none: 'Nothing is pending.',
    })}
    ${card('Errors by kind', {
      chart:
        errors.length > 0 &&
        rowChart(
          errors.map(({ where, kind, count }) => ({
            label: html`<code>${kind}</code> <span class="soft">${where}</span>`,
            value: count,
          })),
        ),
      note: 'Errors of bills created in the last 24 hours, and of events from that time that are still undelivered.',
      none: 'There were none in the last 24 hours.',
    })}
  </div>`;
}

function card(title: string, { chart, note, none }: { chart: Html | false; note: string; none: string }): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    <p class="soft">${chart ? note : none}</p>
    ${chart}
  </section>`;
}

function hourColumns(rows: PaymentFigures['hours']): Column[] {
  return rows.map(({ hour, succeeded, failed, reviews }) => ({
    label: hour.slice(11, 16),
    parts: [
      { kind: 'good', value: succeeded },
      { kind: 'bad', value: failed },
      { kind: 'warn', value: reviews },
    ],
  }));
}

function settledColumns(delays: PaymentFigures['settlementDelaysMs']): Column[] {
  const limits = [...DELAYS, Infinity];
  const bucketOf = (delay: number): number => limits.findIndex((limit) => delay < limit);
  const columns = limits.map((_, bucket) => ({
    label: bucket === 0 ? 'negative' : span(DELAYS[bucket], DELAYS.at(-1)),
    value: delays.filter((delay) => bucketOf(delay) === bucket).length,
  }));
  return columns
    .slice(columns[0]?.value === 0 ? 1 : 0)
    .map(({ label, value }) => ({ label, parts: [{ kind: 'plain', value }] }));
}

function waitingColumns(rows: PaymentFigures['waiting']): Column[] {
  const counted = (kind: string, age: number): number =>
    rows.filter((row) => row.kind === kind && row.age === age).reduce((sum, { count }) => sum + count, 0);
  return AGES.map((_, age) => ({
    label: span(AGES[age + 1], AGES.at(-1)),
    parts: [
      { kind: 'plain', value: counted('check', age) },
      { kind: 'warn', value: counted('delivery', age) },
    ],
  }));
}

/** Labels a range: up to the limit, or beyond the last one. */
function span(limit: number | undefined, last: number | undefined): string {
  return limit === undefined ? `over ${duration(last ?? 0)}` : `under ${duration(limit)}`;
}
