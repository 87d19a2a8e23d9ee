import type { BillState } from 'nestjs-payment-acceptance';
import type {
  BillHistory,
  RecordedAction,
  RecordedCallback,
  RecordedDelivery,
  RecordedEvent,
  RecordedPayment,
  RecordedReview,
} from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Tone, PageContext } from '../common/page-context.js';
import { actionTitle } from '../labels/action.js';
import { callbackReasons, callbackTitle, comparedFields } from '../labels/callback.js';
import { reasonOf } from '../labels/reasons.js';
import { count, money } from '../labels/text.js';
import { actionLink, table, tag, time } from './parts.js';

interface Entry {
  readonly at: string;
  readonly tone?: Tone | undefined;
  readonly title: string | Html;
  readonly content?: Html;
}

/** Shows what happened in the order in which it became known here. */
export function timeline(context: PageContext, history: BillHistory): Html {
  const entries: Entry[] = [
    ...ofBill(history),
    // Callbacks come newest first; entries of the same millisecond keep this order.
    ...[...history.callbacks].reverse().map((callback) => ofCallback(callback, history)),
    ...history.actions.map(ofAction),
    ...history.payments.flatMap(ofPayment),
    ...history.events.map((event) => ofEvent(context, event)),
    ...history.reviews.map(ofReview),
  ];
  const inOrder = [...entries].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return html`<ol class="timeline">
    ${inOrder.map(
      ({ at, tone, title, content }, index) =>
        html`<li class="${tone ?? ''}">
          ${time(at, inOrder[index - 1]?.at)}
          <p><strong>${title}</strong></p>
          ${content}
        </li>`,
    )}
  </ol>`;
}

function ofBill({ bill, actions }: BillHistory): Entry[] {
  const { createdAt, openedAt, endedAt, failure, orderCancelledAt } = bill;
  const end = bill.state === 'UNKNOWN' || bill.state === 'REJECTED' ? ENDS[bill.state] : undefined;
  const isAttached = actions.some(({ action }) => action === 'attach-bill');
  const wasUnknown = isAttached || bill.state === 'VOIDED';
  return [
    {
      at: createdAt,
      title: `A bill for ${money(bill.amount, bill.currency)} was requested`,
      content: html`<p class="soft">
        Attempt ${bill.attempt} of the order. The intent was stored before the request was sent.
      </p>`,
    },
    ...(wasUnknown ? [{ at: createdAt, ...ENDS.UNKNOWN }] : []),
    ...(openedAt === null
      ? []
      : [
          {
            at: openedAt,
            title: html`The service ${isAttached ? 'has' : 'created'} bill <code>${bill.billId}</code>, which can be
              paid`,
          },
        ]),
    ...(orderCancelledAt === null ? [] : [{ at: orderCancelledAt, title: 'The shop cancelled the order' }]),
    ...(end ? [{ at: endedAt ?? createdAt, ...end, content: html`<p>${failure}</p>` }] : []),
  ];
}

/** The ends that no other entry shows. */
const ENDS = {
  UNKNOWN: { tone: 'bad', title: 'It is unknown whether the service created the bill' },
  REJECTED: { tone: 'warn', title: 'No bill was created' },
} satisfies Partial<Record<BillState, Pick<Entry, 'tone' | 'title'>>>;

function ofCallback(callback: RecordedCallback, { bill }: BillHistory): Entry {
  const compared = comparedFields(callback, bill);
  const raw = Object.keys(callback.fields).length > 0;
  return {
    at: callback.receivedAt,
    tone: callback.outcome === 'unconfirmed' ? 'warn' : undefined,
    title: `${callbackTitle(callback)} received`,
    content: html`<ul class="reasons">
        ${callbackReasons(callback, bill).map((sentence) => html`<li>${sentence}</li>`)}
      </ul>
      ${
        compared.length + Number(raw) > 0 &&
        html`<details>
          <summary>What it said</summary>
          ${
            compared.length > 0 &&
            table({
              caption: 'Fields of the callback compared with our bill',
              columns: ['Field', 'It said', 'Our bill', 'Result'],
              rows: compared.map(({ name, received, ours, result }) => [
                html`<code class="keep">${name}</code>`,
                received === undefined ? html`<span class="soft">not kept</span>` : html`<code>${received}</code>`,
                html`<code>${ours}</code>`,
                result === 'mismatch' ? tag('differs', 'warn') : result === 'match' ? 'matches' : 'absent',
              ]),
            })
          }
          ${raw && html`<pre tabindex="0" aria-label="All fields">${JSON.stringify(callback.fields, null, 2)}</pre>`}
          ${!raw && html`<p class="soft">Its fields were removed due to age, or with the personal data of its bill.</p>`}
        </details>`
      }`,
  };
}

function ofPayment(payment: RecordedPayment): Entry[] {
  const { paymentId, status, serviceStatus, verdict, firstSeenAt, changedAt } = payment;
  const changed = changedAt !== firstSeenAt;
  const shown = serviceStatus ?? status;
  const details = html`<p class="soft">
    ${money(payment.amount, payment.currency)}${payment.amountReceived && `, ${payment.amountReceived} of it received`}${
      payment.fromCard && html`, card <code>${payment.fromCard}</code>`
    }${payment.serviceCreatedAt && `, created ${payment.serviceCreatedAt} by the service’s clock`}.
    ${VERDICTS[verdict]?.text}
  </p>`;
  const name = html`Payment <code>${paymentId}</code>`;
  const last: Entry = {
    at: changedAt,
    tone: VERDICTS[verdict]?.tone,
    title: changed ? html`${name} became ${shown}` : html`${name} seen: ${shown}`,
    content: details,
  };
  return changed ? [{ at: firstSeenAt, title: html`${name} seen for the first time` }, last] : [last];
}

const VERDICTS: Readonly<Record<string, { readonly tone?: Tone; readonly text: string }>> = {
  pending: { text: 'Not decided yet.' },
  failed: { tone: 'bad', text: 'It failed; the bill stays open.' },
  succeeded: { tone: 'good', text: 'It counts as a successful payment.' },
  review: { tone: 'warn', text: 'It does not count unless a person accepts it.' },
};

const EVENT_TONES: Readonly<Record<string, Tone>> = {
  'payment.succeeded': 'good',
  'payment.failed': 'bad',
  'payment.review': 'warn',
};

function ofEvent(context: PageContext, { name, occurredAt, payload, deliveries }: RecordedEvent): Entry {
  const dead = deliveries.some(({ state }) => state === 'DEAD');
  return {
    at: occurredAt,
    tone: dead ? 'bad' : EVENT_TONES[name],
    title: html`Event <code>${name}</code>`,
    content: html`${
        deliveries.length === 0
          ? html`<p class="soft">
              It has no stored deliveries: no consumer handles it, or they were removed due to age.
            </p>`
          : html`<ul class="deliveries">
              ${deliveries.map((delivery) => html`<li>${deliveryOf(context, delivery, occurredAt)}</li>`)}
            </ul>`
      }
      <details>
        <summary>What it says</summary>
        <pre tabindex="0" aria-label="Payload of ${name}">${JSON.stringify(payload, null, 2)}</pre>
      </details>`,
  };
}

/** @param after when the event was written: the day is already shown with that time */
function deliveryOf(context: PageContext, delivery: RecordedDelivery, after: string): Html {
  const { consumer, state, attempts, replays, endedAt, dueAt, lastError, deliveryId } = delivery;
  const attemptText = `${count(attempts, 'attempt')}${replays > 0 ? `, replayed ${count(replays, 'time')}` : ''}`;
  switch (state) {
    case 'DONE':
      return html`${tag('delivered', 'good')} to <code>${consumer}</code>, ${endedAt && time(endedAt, after)},
        ${attemptText}`;
    case 'PENDING':
      return html`${tag('pending')} for <code>${consumer}</code>, due ${time(dueAt, after)},
        ${attemptText}${lastError !== null && html`<br /><code class="bad">${lastError}</code>`}`;
    case 'DEAD':
      return html`${tag('dead letter', 'bad')} of <code>${consumer}</code>, ${endedAt && time(endedAt, after)},
        ${attemptText} <br /><code class="bad">${lastError}</code>
        ${actionLink(context, 'replay', deliveryId, 'Replay', `to ${consumer}`)}`;
  }
}

function ofReview({ openedAt, reason, state }: RecordedReview): Entry {
  return {
    at: openedAt,
    tone: state === 'OPEN' ? 'bad' : 'warn',
    title: html`Review <code>${reason}</code> opened`,
    content: html`<p class="soft">${reasonOf(reason).shows}${state === 'OPEN' && ' It is awaiting a decision.'}</p>`,
  };
}

function ofAction(action: RecordedAction): Entry {
  const { note } = action.detail;
  return {
    at: action.at,
    title: html`${action.operator} ${actionTitle(action)}`,
    content: html`${typeof note === 'string' && note !== '' && html`<p>“${note}”</p>`}`,
  };
}
