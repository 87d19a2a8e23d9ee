import type {
  DroppedCounts,
  PaymentFigures,
  PaymentStats,
  PaymentWorkload,
  ShopState,
} from 'nestjs-payment-acceptance/operations';
import { html, type Html, type Part } from '../common/html.js';
import type { Page, Tone, PageContext } from '../common/page-context.js';
import { count, duration } from '../labels/text.js';
import { AGES, overviewCharts } from './overview.charts.js';
import { facts, section, stateName, time } from './parts.js';

/** Work that waits longer than this is late, as in the health indicator. */
const LATE_AFTER_MS = 5 * 60_000;

export async function overviewPage(context: PageContext): Promise<Page> {
  const { operations, records } = context;
  const stats = await operations.stats();
  const shops = await operations.shopStates();
  const refused = shops.filter(({ refusedSince }) => refusedSince !== null);
  const figures = await records.figures(AGES);
  return {
    title: 'Overview',
    place: '',
    content: html`<section class="stack" aria-labelledby="now">
        <h2 id="now" class="visually-hidden">What needs attention now</h2>
        ${verdict(stats, refused)}
        <ul class="tiles">
          ${tiles(context, stats, refused)}
        </ul>
      </section>
      ${refused.length > 0 && refusedShops(refused)}
      ${section('day', 'Bills of the last 24 hours', billsByState(context, figures))} ${overviewCharts(figures)}
      ${workloadCard(operations.workload(), stats.dropped)}`,
  };
}

function billsByState({ link }: PageContext, { states }: PaymentFigures): Html {
  if (states.length === 0) return html`<p class="soft">No bills were requested.</p>`;
  return html`<ul class="tiles plain">
    ${states.map(
      ({ state, count: number }) =>
        html`<li>
          <a href="${link('bills', { state })}"><strong>${number}</strong> ${stateName(state)}</a>
        </li>`,
    )}
  </ul>`;
}

function workloadCard({ checks, deliveries }: PaymentWorkload, dropped: DroppedCounts): Html {
  const refused = dropped.malformedCallbacks + dropped.unseenCallbacks + dropped.refusedPostbacks;
  const { running, inTransactions, limit } = deliveries;
  const content = html`${facts([
      ...checks.map(
        (check) =>
          [
            check.shop,
            html`${check.running} of ${count(check.limit, 'request')} at once, ${check.requestsPerSecond} a second at
            most${check.pausedUntil !== null && html`, paused by the service until ${time(check.pausedUntil)}`}`,
          ] as const,
      ),
      ['Handlers', html`${inTransactions} of ${limit} at once in transactions, ${running} deliveries in all`] as const,
      [
        'Callbacks refused',
        refused === 0
          ? 'none since startup'
          : html`<strong class="warn">${refused}</strong> since startup: see the log for reasons
              (<code>callback-refused</code>, <code>callbacks-bounded</code>)`,
      ] as const,
    ])}
    <p class="soft">Both limits depend on how the service responds and on what the host's pool leaves free.</p>`;
  return section('workload', 'This instance now', content);
}

function verdict(stats: PaymentStats, refused: readonly ShopState[]): Html {
  const attentionCount = stats.openReviews + stats.deadLetters + stats.unknownBills + stats.lostBills + refused.length;
  const late = Math.max(stats.oldestDeliveryMs ?? 0, stats.oldestCheckMs ?? 0) >= LATE_AFTER_MS;
  if (attentionCount > 0)
    return html`<p class="message bad">
      <strong>${count(attentionCount, 'thing')}</strong> ${attentionCount === 1 ? 'needs' : 'need'} attention.
    </p>`;
  if (late) {
    return html`<p class="message warn">
      Nothing needs a decision, but work is late: check that the worker instances are running and that the service
      answers.
    </p>`;
  }
  return html`<p class="message good">Nothing needs your attention now.</p>`;
}

function tiles({ link }: PageContext, stats: PaymentStats, refused: readonly ShopState[]): Html[] {
  const counted = (to: string, number: number, noun: string): Html =>
    tile(html`<a href="${link(to)}">${noun}</a>`, number, number > 0 ? 'bad' : undefined);
  const aged = (name: string, ms: number | null): Html =>
    tile(name, ms === null ? 'none' : duration(ms), ms !== null && ms >= LATE_AFTER_MS ? 'warn' : undefined);
  return [
    counted('reviews', stats.openReviews, 'Open reviews'),
    counted('dead-letters', stats.deadLetters, 'Dead letters'),
    counted('unknown-outcomes', stats.unknownBills, 'Unknown outcomes'),
    counted('lost-bills', stats.lostBills, 'Lost bills'),
    tile('Refused shops', refused.length, refused.length > 0 ? 'bad' : undefined),
    aged('Longest overdue check', stats.oldestCheckMs),
    aged('Oldest undelivered event', stats.oldestDeliveryMs),
    tile('Pending deliveries', stats.pendingDeliveries),
    tile(html`<a href="${link('unknown-outcomes')}">Postbacks without a bill</a>`, stats.waitingCallbacks),
  ];
}

function tile(name: Part, value: Part, tone?: Tone): Html {
  return html`<li class="${tone ?? ''}"><span>${name}</span> <strong class="${tone ?? ''}">${value}</strong></li>`;
}

function refusedShops(refused: readonly ShopState[]): Html {
  const content = html`<p>
      While a shop is refused, its bills can be neither checked nor created. Either its token is wrong, or the service
      has blocked it: correct the options, or ask the service. Each shop is retried once a minute, and resumes
      automatically.
    </p>
    ${facts(
      refused.map(
        ({ shop, refusedSince, refusedReason }) =>
          [shop, html`${refusedReason} <span class="soft">since ${refusedSince && time(refusedSince)}</span>`] as const,
      ),
    )}`;
  return section('refused', `The service refuses ${count(refused.length, 'shop')}`, content, 'attention');
}
