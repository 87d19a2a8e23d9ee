import type { DeadLetter } from 'nestjs-payment-acceptance/operations';
import type { Filter } from '../common/filter.js';
import { html } from '../common/html.js';
import { billLink, facts, time } from '../pages/parts.js';
import type { PageContext } from '../common/page-context.js';
import { filterText } from '../labels/action.js';
import { count } from '../labels/text.js';
import type { ImpossibleAction, OperatorAction } from './operator-action.js';

const REPLAY_EFFECTS = html`retried at once, with a fresh set of attempts. What a handler writes through its manager
  happens exactly once; anything else it does may happen again. An event overtaken by later ones of its bill has
  <code>late: true</code>.`;

export function replayOne(context: PageContext, letter: DeadLetter | undefined): OperatorAction | ImpossibleAction {
  if (!letter) return ALREADY_REPLAYED;
  const { deliveryId, consumer, event, attempts, replays, lastError, endedAt } = letter;
  return {
    title: `Replay ${event} to ${consumer}?`,
    place: 'dead-letters',
    label: 'Replay',
    fields: [],
    content: html`${facts([
        ['Order', billLink(context, letter)],
        context.scope === null && ['Shop', letter.shop],
        ['Event', html`<code>${event}</code>`],
        ['Consumer', html`<code>${consumer}</code>`],
        ['Given up', html`${endedAt && time(endedAt)}, after ${count(attempts, 'attempt')}`],
        replays > 0 && ['Replayed before', count(replays, 'time')],
        ['Last error', html`<code class="bad">${lastError}</code>`],
      ])}
      <p><strong>What will happen:</strong> it is ${REPLAY_EFFECTS}</p>
      <p>Unless its cause is fixed, it becomes a dead letter again.</p>`,
    async perform(operator, input) {
      const number = await context.operations.replay({ deliveryId }, { operator, note: input('note') });
      return { to: 'dead-letters', query: { done: 'replayed', count: String(number) } };
    },
  };
}

/** @param waiting how many matching deliveries wait for an order that was not found: they are retried, too */
export function replayFilter(
  context: PageContext,
  filter: Filter,
  dead: number,
  waiting: number,
): OperatorAction | ImpossibleAction {
  if (dead + waiting === 0) return ALREADY_REPLAYED;
  return {
    title: `Replay ${count(dead, 'dead letter')}?`,
    place: 'dead-letters',
    label: `Replay ${dead + waiting}`,
    fields: [],
    content: html`<p>
        You are about to replay
        <strong>${filterText(filter)}</strong>${context.scope !== null && ` in shop ${context.scope}`}.
      </p>
      ${
        waiting > 0 &&
        html`<p>
          ${count(waiting, 'delivery', 'deliveries')} whose order was not found will be retried with them, and not
          later.
        </p>`
      }
      <p>
        <strong>What will happen:</strong> they are ${REPLAY_EFFECTS} Any that become dead letters in the meantime are
        included.
      </p>
      <p>Unless their cause is fixed, they become dead letters again.</p>`,
    async perform(operator, input) {
      const number = await context.operations.replay(filter, { operator, note: input('note') });
      const done = waiting > 0 ? 'deliveries-replayed' : 'replayed';
      return { to: 'dead-letters', query: { done, count: String(number) } };
    },
  };
}

const ALREADY_REPLAYED: ImpossibleAction = {
  place: 'dead-letters',
  impossible: 'This dead letter no longer exists: it was already replayed.',
};
