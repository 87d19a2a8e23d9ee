import { postbackBody, redirectOf } from '../../callbacks/messages.js';
import { html, type Html, money } from '../../common/html.js';
import {
  type Callback,
  type CallbackTry,
  type Instant,
  isFinal,
  type Payment,
  type PaymentStatus,
  type Visit,
} from '../../model/entities.js';
import type { ApiRequest } from '../../storage/request-log.js';
import { callbackState } from './bill-state.js';
import type { BillRow } from './bills.page.js';
import { button, linkSetting, shopAddress, tag, time, type Tone } from './layout.js';

export interface History extends BillRow {
  visits: readonly Visit[];
  /** Contains only requests that are still stored. */
  requests: readonly ApiRequest[];
}

interface Entry {
  at: Instant;
  id: string;
  tone?: Tone;
  content: Html;
  /** Consecutive entries with the same value are shown as one. */
  run?: string;
}

const STATUS_TONES: Readonly<Record<PaymentStatus, Tone>> = { NEW: '', PROCESS: '', SUCCESS: 'good', FAIL: 'bad' };
const VISITS: Readonly<Record<Visit['page'], string>> = {
  link: 'Payment link opened',
  form: 'Payment page opened',
  redirect: 'Result shown, and the payer sent to the shop',
};
const KINDS: Readonly<Record<Callback['kind'], string>> = {
  postback: 'Postback',
  duplicate: 'Postback, a duplicate',
  replay: 'Postback, replayed',
  forged: 'Postback, forged',
};

export function timeline(history: History): Html {
  const { bill } = history;
  const entries: Entry[] = [
    { at: bill.createdAt, id: 'created', content: html`Bill created for ${money(bill.amount, bill.currency)}` },
    ...history.visits.map(visitEntry),
    ...history.payments.flatMap(statusEntries),
    ...history.callbacks.map((callback) => callbackEntry(callback, bill.shopId)),
    ...history.payments.flatMap((payment) => missingRedirect(history, payment)),
    ...history.requests.flatMap(requestEntries),
  ];
  // What happened at one instant stays in this order: sorting is stable.
  entries.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return html`<ol class="timeline" id="timeline">
    ${withoutRuns(entries).map(
      ({ at, id, tone, content }, index, all) =>
        html`<li id="${id}" class="${tone ?? ''}">${time(at, true, all[index - 1]?.at)} ${content}</li> `,
    )}
  </ol>`;
}

function visitEntry({ at, page, url }: Visit, index: number): Entry {
  return {
    at,
    id: `visit-${index}`,
    content: html`${VISITS[page]}${url !== null && html` <code>POST ${url}</code>`}`,
  };
}

function statusEntries(payment: Payment): Entry[] {
  return payment.history.map(({ status, at }, index) => ({
    at,
    id: `payment-${payment.id}-${index}`,
    tone: STATUS_TONES[status],
    content: html`Payment ${index > 0 && html`${payment.history[index - 1]?.status ?? ''} → `}<strong>${status}</strong>
      <span class="note"
        >${index === 0 ? html`${money(payment.amount, payment.currency)}, card ${payment.fromCard}` : ''}
        <code>${payment.id}</code></span
      >`,
  }));
}

/** Adds an entry for a payer who stays on the result page because the shop has no address for the result. */
function missingRedirect({ bill, shop, visits }: History, payment: Payment): Entry[] {
  const end = payment.history.at(-1);
  if (!end || !isFinal(end) || visits.length === 0 || redirectOf(shop, bill, payment)) return [];
  const [label, name] = end.status === 'SUCCESS' ? ['Success URL', 'successUrl'] : ['Fail URL', 'failUrl'];
  return [
    {
      at: end.at,
      id: `left-${payment.id}`,
      tone: 'warn',
      content: html`The payer stays on the result page: the shop has no
        <a href="${shopAddress(shop.id)}#${name}">${label}</a> (<code>${name}</code>)`,
    },
  ];
}

function callbackEntry(callback: Callback, shopId: string): Entry {
  const [state, tone] = callbackState(callback);
  const { Status: status = '(no Status)' } = callback.fields;
  const next = callback.nextTryAt !== null && callback.tries.length > 0 && callback.nextTryAt;
  return {
    at: callback.createdAt,
    id: `callback-${callback.id}`,
    tone,
    content: html`${KINDS[callback.kind]} <strong>${status}</strong> ${tag(state, tone)}
      ${callback.held && html`<span class="note">held back until another has gone out</span>`}
      ${callback.tries.length === 0 && requestOf(callback)}
      ${callback.tries.map((callbackTry) => attempt(callback, callbackTry))} ${adviceOn(callback, shopId)}
      ${next && html`<p class="note">Next attempt: ${time(next)}</p>`} ${replayForms(callback)}`,
  };
}

function attempt(callback: Callback, callbackTry: CallbackTry): Html {
  const answer =
    callbackTry.status === null
      ? html`No answer: ${callbackTry.error}`
      : html`${callbackTry.status} ${callbackTry.body.trim() || '(empty)'}`;
  const good = callbackTry.status === 200 && callbackTry.advice === undefined;
  return html`<details id="try-${callback.id}-${callbackTry.at}">
    <summary>
      ${tag(callbackTry.status === null ? 'no answer' : String(callbackTry.status), good ? 'good' : 'bad')} in
      ${callbackTry.durationMs} ms
    </summary>
    <pre tabindex="0">${requestText(callback, callbackTry)}</pre>
    <pre tabindex="0">${answer}</pre>
  </details>`;
}

/** Advice on earlier answers is left out: it is the same, or no longer true. */
function adviceOn(callback: Callback, shopId: string): Html | false {
  const lastTry = callback.tries.at(-1);
  if (lastTry?.status === 200 && lastTry.advice === undefined) {
    return html`<p class="note">Not paid at the shop? <a href="${shopAddress(shopId)}#check">Check the shop</a></p>`;
  }
  const { remedy: format } = lastTry ?? {};
  const label = format === 'form' ? 'Resend as a form' : 'Resend as JSON';
  return (
    lastTry?.advice !== undefined &&
    html`<p class="advice">${linkSetting(lastTry.advice, shopId)}.</p>
      ${format && button(`/sandbox/console/callbacks/${callback.id}/replay`, label, { format })}`
  );
}

function requestOf(callback: Callback): Html {
  return html`<details id="fields-${callback.id}">
    <summary>Fields</summary>
    <pre tabindex="0">${JSON.stringify(callback.fields, null, 2)}</pre>
  </details>`;
}

function requestText(callback: Callback, { url, format }: CallbackTry): string {
  const { type, text } = postbackBody(callback.fields, format);
  const body = format === 'form' ? text.replaceAll('&', '\n&') : JSON.stringify(callback.fields, null, 2);
  return `POST ${url}\nContent-Type: ${type}\n\n${body}`;
}

/** A creation that went well is left out, because it says nothing new. */
function requestEntries({ operation, at, status, faults }: ApiRequest, index: number): Entry[] {
  if (operation === 'create' && status === 200 && faults.length === 0) return [];
  const what = operation === 'create' ? 'The shop asked to create the bill' : 'The shop asked for the payments';
  const answer = `${status ?? 'no answer'}${faults.length > 0 ? ` (${faults.join(', ')})` : ''}`;
  return [
    {
      at,
      id: `asked-${index}`,
      tone: status === 200 && faults.length === 0 ? '' : 'warn',
      content: html`${what}: ${answer}`,
      run: `${operation} ${answer}`,
    },
  ];
}

/** Reduces each run of like entries to the first, which then says how many there are. */
function withoutRuns(entries: readonly Entry[]): Entry[] {
  const runs: (Entry & { times: number })[] = [];
  for (const entry of entries) {
    const before = runs.at(-1);
    if (before && entry.run !== undefined && before.run === entry.run) before.times += 1;
    else runs.push({ ...entry, times: 1 });
  }
  return runs.map(({ times, ...entry }) =>
    times === 1 ? entry : { ...entry, content: html`${entry.content} ${tag(`${times} times`)}` },
  );
}

/** Every field of 2.5 can be set, even one that the postback lacks. */
const POSTBACK_FIELDS = ['Status', 'InvId', 'OutSum', 'CurrencyIn', 'Commission', 'TrsId', 'custom', 'SignatureValue'];

const FIELD_PREFIX = 'field.';

function replayForms(callback: Callback): Html {
  const action = `/sandbox/console/callbacks/${callback.id}/replay`;
  const names = [...new Set([...POSTBACK_FIELDS, ...Object.keys(callback.fields)])];
  return html`<div class="replay">
    ${button(action, 'Replay')}
    <details id="change-${callback.id}">
      <summary>Change and replay</summary>
      <form method="post" action="${action}">
        <div class="fields">
          ${names.map(
            (name) =>
              html`<label
                >${name}<input name="${FIELD_PREFIX}${name}" value="${callback.fields[name] ?? ''}" autocomplete="off"
              /></label>`,
          )}
        </div>
        <p>
          <label><input type="checkbox" name="resign" />Re-sign, as only the service could</label>
        </p>
        <button>Send</button>
      </form>
    </details>
  </div>`;
}

export function changedFields(form: URLSearchParams, { fields }: Callback): Record<string, string> {
  const before = new Map(Object.entries(fields));
  const set = new Map<string, string>();
  for (const [key, value] of form) {
    const name = key.startsWith(FIELD_PREFIX) ? key.slice(FIELD_PREFIX.length) : '';
    // A text field drops line breaks.
    if (name !== '' && value !== (before.get(name) ?? '').replace(/[\r\n]/g, '')) set.set(name, value);
  }
  return Object.fromEntries(set);
}
