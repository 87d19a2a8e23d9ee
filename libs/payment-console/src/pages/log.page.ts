import { html } from '../common/html.js';
import { notFoundRefusal, type Page, type PageContext } from '../common/page-context.js';
import { actionTitle } from '../labels/action.js';
import { billLink, empty, next, table, time } from './parts.js';

/** The log covers all shops, so only operators who see all of them may read it. */
export async function logPage(context: PageContext): Promise<Page> {
  if (context.scope !== null) throw notFoundRefusal('page');
  const { rows, more } = await context.records.actions(context.query.get('before') ?? undefined);
  return {
    title: 'Operator actions',
    place: 'log',
    lead: "Every action, newest first: in the console and through the module's services.",
    content: html`${
      rows.length === 0
        ? empty('No actions yet.')
        : html`<section class="card" aria-label="Actions">
            ${table({
              caption: 'Operator actions, newest first',
              flows: true,
              columns: ['When', 'Who', 'What', 'Order', 'Note'],
              rows: rows.map((action) => [
                time(action.at),
                action.operator,
                actionTitle(action),
                action.intentId !== null &&
                  billLink(context, { intentId: action.intentId, orderId: action.orderId ?? '' }),
                typeof action.detail.note === 'string' && action.detail.note,
              ]),
            })}
          </section>`
    }
    ${next(more, context.link('log', { before: rows.at(-1)?.id }), 'Older')}`,
  };
}
