import { type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Instant } from '../../model/entities.js';
import { button, consolePage, table, time } from './layout.js';

export interface Upcoming {
  at: Instant;
  billId: string;
  what: string;
}

const STEPS = ['1m', '10m', '1h', '6h', '1d', '3d'];

export function clockPage(now: Instant, aheadMs: number, upcoming: readonly Upcoming[], hiddenCount: number): Page {
  const row = ({ at, billId, what }: Upcoming): Html =>
    html`<tr>
      <td>${time(at)}</td>
      <td>${what}</td>
      <td><a href="/sandbox/console/bills/${billId}">Bill</a></td>
    </tr> `;
  return consolePage({
    title: 'Clock',
    place: 'clock',
    lead: 'Advancing the clock triggers everything that falls due, including redeliveries. The shop’s clock does not change.',
    content: html`<section class="card" aria-labelledby="now">
        <h2 id="now">${time(now)}</h2>
        <p class="note">
          ${aheadMs === 0 ? 'In sync with the machine’s clock.' : `Ahead of the machine’s clock by ${inWords(aheadMs)}.`}
        </p>
        <div class="row steps">
          ${STEPS.map((step) => button('/sandbox/console/clock', `+ ${step}`, { advance: step }))}
        </div>
        <form class="row" method="post" action="/sandbox/console/clock">
          <label>Advance by<input name="advance" placeholder="90s" autocomplete="off" required /></label>
          <button>Advance</button>
        </form>
      </section>
      <section class="card">
        <h2>What is due</h2>
        ${
          upcoming.length === 0
            ? html`<p class="note">Nothing: no payments or postbacks are pending.</p>`
            : table('What is due', ['When', 'What', 'Bill'], upcoming.map(row))
        }
        ${hiddenCount > 0 && html`<p class="note">… and ${hiddenCount} more.</p>`}
      </section>`,
  });
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.flatMap(([value, unit]) => (value > 0 ? [`${value} ${unit}`] : [])).join(' ') || 'less than a second';
}
