import { columnChart, rowChart, type Column } from './charts.js';
import { html, type Html } from '../common/html.js';
import { AGES, DELAYS, type Overview } from './overview.js';
import { duration } from '../labels/text.js';

export function overviewCharts({ figures, delays }: Overview): Html {
  const note = figures.truncated ? ' There were too many to count: the early hours are incomplete.' : '';
  return html`<div class="halves">
    ${card('Payments by hour', {
      chart: columnChart('Payments by hour', hourColumns(figures.hours), {
        good: 'succeeded',
        bad: 'failed',
        warn: 'to be reviewed',
      }),
      some: figures.hours.some(({ succeeded, failed, reviews }) => succeeded + failed + reviews > 0),
      note: `The last 24 hours, in UTC.${note}`,
      none: 'No payment was settled in the last 24 hours.',
    })}
    ${card('From payment to settlement', {
      chart: columnChart('From payment to settlement', settledColumns(delays), { plain: 'payments' }),
      some: delays.some((number) => number > 0),
      note: 'The time from a payment at the service until its event was written: the newest payments of the last 24 hours.',
      none: 'No payment succeeded in the last 24 hours.',
    })}
    ${card('Pending work by age', {
      chart: columnChart('Pending work by age', waitingColumns(figures.waiting), {
        plain: 'checks of bills',
        warn: 'events to deliver',
      }),
      some: figures.waiting.length > 0,
      note: 'Bill checks that are due, and events not yet delivered to a consumer.',
      none: 'Nothing is pending.',
    })}
    ${card('Errors by kind', {
      chart: rowChart(
        figures.errors.map(({ where, kind, count }) => ({
          label: html`<code>${kind}</code> <span class="soft">${where}</span>`,
          value: count,
        })),
      ),
      some: figures.errors.length > 0,
      note: 'Errors of bills created in the last 24 hours, and of events from that time that are still undelivered.',
      none: 'There were none in the last 24 hours.',
    })}
  </div>`;
}

function card(
  title: string,
  { chart, some, note, none }: { chart: Html; some: boolean; note: string; none: string },
): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    ${
      some
        ? html`<p class="soft">${note}</p>
            ${chart}`
        : html`<p class="soft">${none}</p>`
    }
  </section>`;
}

function hourColumns(rows: Overview['figures']['hours']): Column[] {
  return rows.map(({ hour, succeeded, failed, reviews }) => ({
    label: hour.slice(11, 16),
    parts: [
      { kind: 'good', value: succeeded },
      { kind: 'bad', value: failed },
      { kind: 'warn', value: reviews },
    ],
  }));
}

function settledColumns(delays: Overview['delays']): Column[] {
  return delays.map((value, index) => ({
    label: span(DELAYS[index], DELAYS.at(-1)),
    parts: [{ kind: 'plain', value }],
  }));
}

function waitingColumns(rows: Overview['figures']['waiting']): Column[] {
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
