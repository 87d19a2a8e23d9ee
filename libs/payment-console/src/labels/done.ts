import { html } from '../common/html.js';
import type { Message, PageContext } from '../common/page-context.js';
import { count } from './text.js';

const INTENT_ID_PATTERN = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const TEXTS = new Map<string, (number: number) => string>([
  ['accepted', () => 'The review was accepted.'],
  ['dismissed', () => 'The review was dismissed.'],
  ['attached', () => 'The bill was attached. It is checked at once, and settles like any other.'],
  ['voided', () => 'The attempt was voided.'],
  ['taken-in', () => 'The bill was imported. It is checked at once, and settles like any other.'],
  ['bill-dismissed', () => 'The bill was dismissed.'],
  ['deliveries-replayed', (number) => `${count(number, 'delivery is', 'deliveries are')} being retried.`],
  ['replayed', (number) => `${count(number, 'dead letter is', 'dead letters are')} being retried.`],
]);

/** The address only names the message, so it cannot inject other text. */
export function doneMessage({ query, link }: PageContext): Message | undefined {
  const done = query.get('done') ?? '';
  const number = Number(/^\d{1,9}$/.exec(query.get('count') ?? '')?.[0] ?? 0);
  const nothing = done === 'replayed' && number === 0;
  const text = nothing ? 'Nothing was replayed: no dead letter matches any more.' : TEXTS.get(done)?.(number);
  if (text === undefined) return undefined;
  const bill = query.get('bill') ?? '';
  return {
    tone: nothing ? 'warn' : 'good',
    text: html`${text} ${INTENT_ID_PATTERN.test(bill) && html`<a href="${link(`bills/${bill}`)}">See the bill</a>`}`,
  };
}
