import { filterOf } from '../common/filter.js';
import { html } from '../common/html.js';
import { billLink, facts, time } from '../pages/parts.js';
import { notFoundRefusal, type PageContext } from '../common/page-context.js';
import { filterText } from '../labels/action.js';
import { count } from '../labels/text.js';
import { impossible, type OperatorAction } from './operator-action.js';

const REPLAY_EFFECTS = html`retried at once, with a fresh set of attempts. What a handler writes through its manager
  happens exactly once; anything else it does may happen again. An event overtaken by later ones of its bill has
  <code>late: true</code>.`;

export function replay(context: PageContext, target: string): Promise<OperatorAction> {
  return target === 'all' ? replayFiltered(context) : replayOne(context, target);
}

async function replayOne(context: PageContext, id: string): Promise<OperatorAction> {
  if (!UUID_PATTERN.test(id)) throw notFoundRefusal('dead letter');
  const [letter] = await context.operations.deadLetters({ deliveryId: id }, 1);
  if (!letter) throw ALREADY_REPLAYED;
  const { deliveryId, consumer, event, attempts, replays, lastError, endedAt } = letter;
  return {
    title: `Replay ${event} to ${consumer}?`,
    place: 'dead-letters',
    label: 'Replay',
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
    async perform(by) {
      const number = await context.operations.replay({ deliveryId }, by);
      return { done: 'replayed', count: String(number) };
    },
  };
}

async function replayFiltered(context: PageContext): Promise<OperatorAction> {
  const filter = filterOf(context.query);
  const [dead, replayable] = await Promise.all([
    context.records.countDeadLetters(filter),
    context.operations.countReplayable(filter),
  ]);
  /** Deliveries that wait for an order that was not found: they are retried, too. */
  const waiting = Math.max(0, replayable - dead);
  if (dead + waiting === 0) throw ALREADY_REPLAYED;
  return {
    title: `Replay ${count(dead, 'dead letter')}?`,
    place: 'dead-letters',
    label: `Replay ${dead + waiting}`,
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
    async perform(by) {
      const number = await context.operations.replay(filter, by);
      return { done: waiting > 0 ? 'deliveries-replayed' : 'replayed', count: String(number) };
    },
  };
}

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const ALREADY_REPLAYED = impossible('dead-letters', 'This dead letter no longer exists: it was already replayed.');
