import { hiddenFields, type Html, html } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Instant } from '../../model/entities.js';
import { CONSOLE_SCRIPT } from './script.js';

export type Tone = 'good' | 'warn' | 'bad' | '';

const PLACES = {
  bills: ['/sandbox', 'Bills'],
  requests: ['/sandbox/console/requests', 'Requests'],
  faults: ['/sandbox/console/faults', 'Faults'],
  clock: ['/sandbox/console/clock', 'Clock'],
  shops: ['/sandbox/console/shops', 'Shops'],
} as const;

export interface ConsolePage {
  status?: number;
  title: string;
  place?: keyof typeof PLACES;
  /** The introduction under the title. */
  lead?: string | Html;
  /** The outcome of the last action. */
  message?: { tone: Tone; text: string | Html };
  /** Beside the title. */
  tag?: Html;
  content: Html;
}

/**
 * Scrolls by itself where the window is narrow.
 * @param rows elements `tr`
 */
export function table(label: string, heads: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="scroll flows" role="region" aria-label="${label}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th> `)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

export function consolePage({ status = 200, title, place, lead, message, tag, content }: ConsolePage): Page {
  return {
    status,
    title: `${title}: payment sandbox`,
    script: CONSOLE_SCRIPT,
    body: html`<body class="console">
      <header>
        <div class="bar">
          <a class="brand" href="/sandbox"
            ><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8h16M4 5h16v14H4zM7 15h4" /></svg>Payment
            sandbox</a
          >
          <span class="note">No money moves here.</span>
        </div>
        <nav aria-label="Console">
          ${Object.entries(PLACES).map(
            ([key, [address, name]]) =>
              html`<a href="${address}" ${key === place && html` aria-current="page"`}>${name}</a> `,
          )}
        </nav>
      </header>
      <main id="main">
        <div class="title">
          <h1>${title}</h1>
          ${tag} ${lead !== undefined && html`<p>${lead}</p>`}
        </div>
        ${message && html`<p class="message ${message.tone}" role="status">${message.text}</p>`} ${content}
      </main>
    </body>`,
  };
}

export function tag(text: string, tone: Tone = ''): Html {
  return html`<span class="tag ${tone}">${text}</span>`;
}

export function shopAddress(shopId: string): string {
  return `/sandbox/console/shops/${encodeURIComponent(shopId)}`;
}

/** If the sentence names a setting of the shop, that name becomes a link to the setting. */
export function linkSetting(sentence: string, shopId: string | null): Html {
  const match = /\b(?:postback(?:Format|Signature)|roundAmounts|billAddresses)\b/.exec(sentence);
  if (!match || shopId === null) return html`${sentence}`;
  const [name] = match;
  const [before, after] = [sentence.slice(0, match.index), sentence.slice(match.index + name.length)];
  return html`${before}<a href="${shopAddress(shopId)}#${name}">${name}</a>${after}`;
}

/**
 * `21 Nov 2026, 12:00:00 UTC`, machine-readable too.
 * @param exact adds milliseconds
 * @param after the time shown above: if it is on the same day, the day is left out
 */
export function time(instant: Instant, exact = false, after?: Instant): Html {
  const [, year, month, day, seconds, ms] = /^(\d+)-(\d+)-(\d+)T([\d:]+)(\.\d+)/.exec(instant) ?? [];
  const clock = `${seconds ?? ''}${exact ? (ms ?? '') : ''}`;
  if (after?.slice(0, 10) === instant.slice(0, 10)) return html`<time datetime="${instant}">${clock} UTC</time>`;
  const name = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')[Number(month) - 1];
  return html`<time datetime="${instant}">${Number(day)} ${name} ${year}, ${clock} UTC</time>`;
}

/** `1 bill`, `2 bills`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

export function button(action: string, label: string, fields: Record<string, string> = {}): Html {
  return html`<form method="post" action="${action}">
    ${hiddenFields(fields)}<button class="quiet">${label}</button>
  </form>`;
}

/** @param id of the element that holds the text */
export function copyable(id: string, text: string): Html {
  return html`<pre tabindex="0" id="${id}">${text}</pre>
    <button class="quiet scripted" type="button" data-copy="${id}">Copy</button>`;
}

export function option(value: string, label: string, chosen: string | undefined): Html {
  return html`<option value="${value}" ${value === chosen && html` selected`}>${label}</option>`;
}
