import { html } from '../common/html.js';
import type { Message, PageContext } from '../common/page-context.js';
import { count } from './text.js';

const INTENT_ID_PATTERN = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The address only names the message, so it cannot inject other text. */
export function doneMessage({ query, link }: PageContext): Message | undefined {
  const number = Number(/^\d{1,9}$/.exec(query.get('count') ?? '')?.[0] ?? 0);
  const message = messageOf(query.get('done') ?? '', number);
  if (message === undefined) return undefined;
  const bill = query.get('bill') ?? '';
  return {
    ...message,
    text: html`${message.text}
    ${INTENT_ID_PATTERN.test(bill) && html`<a href="${link(`bills/${bill}`)}">See the bill</a>`}`,
  };
}

function messageOf(done: string, number: number): Message | undefined {
  switch (done) {
    case 'accepted':
      return { tone: 'good', text: 'The review was accepted.' };
    case 'dismissed':
      return { tone: 'good', text: 'The review was dismissed.' };
    case 'attached':
      return { tone: 'good', text: 'The bill was attached. It is checked at once, and settles like any other.' };
    case 'voided':
      return { tone: 'good', text: 'The attempt was voided.' };
    case 'taken-in':
      return { tone: 'good', text: 'The bill was imported. It is checked at once, and settles like any other.' };
    case 'bill-dismissed':
      return { tone: 'good', text: 'The bill was dismissed.' };
    case 'deliveries-replayed':
      return { tone: 'good', text: `${count(number, 'delivery is', 'deliveries are')} being retried.` };
    case 'replayed':
      return number === 0
        ? { tone: 'warn', text: 'Nothing was replayed: no dead letter matches any more.' }
        : { tone: 'good', text: `${count(number, 'dead letter')} ${number === 1 ? 'is' : 'are'} being retried.` };
    default:
      return undefined;
  }
}
