import type { BillDetails } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import { billLink, facts, stateName, time } from '../pages/parts.js';
import type { PageContext } from '../common/page-context.js';
import { money } from '../labels/text.js';
import { InputError, type ImpossibleAction, type OperatorAction } from './operator-action.js';

export function attachBill(context: PageContext, bill: BillDetails): OperatorAction | ImpossibleAction {
  if (bill.state !== 'UNKNOWN') return known(bill);
  return {
    title: `Attach the bill of order ${bill.orderId}?`,
    place: 'unknown-outcomes',
    label: 'Attach',
    fields: [
      { name: 'billId', label: 'Bill id', hint: 'As the service shows it.', required: true },
      {
        name: 'linkPageUrl',
        label: 'Payment page',
        hint: 'Its link_page_url, where the payer can still pay. Without it the bill can be checked, but not offered again.',
        required: false,
        inputMode: 'url',
      },
    ],
    content: html`${about(context, bill)}
      <p>
        Be sure that the bill at the service is the one of this order, over this amount: what is paid on it then counts
        for this order.
      </p>
      <p>
        <strong>What will happen:</strong> the service is asked for the bill. Where it shows it, the bill is open, is
        checked at once, and settles like any other; where it does not, nothing is changed.
      </p>`,
    async perform(operator, input) {
      const billId = input('billId');
      if (!/^[\x21-\x7e]{1,128}$/.test(billId)) {
        throw new InputError('A bill id has 1 to 128 visible characters and no space.');
      }
      const page = input('linkPageUrl');
      await context.operations.attachBill(
        bill.intentId,
        billId,
        operator,
        page === '' ? undefined : page,
        input('note'),
      );
      return { to: 'unknown-outcomes', query: { done: 'attached', bill: bill.intentId } };
    },
  };
}

export function voidBill(context: PageContext, bill: BillDetails): OperatorAction | ImpossibleAction {
  if (bill.state !== 'UNKNOWN') return known(bill);
  return {
    title: `Void the attempt of order ${bill.orderId}?`,
    place: 'unknown-outcomes',
    label: 'Void',
    fields: [],
    content: html`${about(context, bill)}
      <p>
        <strong>What will happen:</strong> the attempt is closed as one that made no bill. If the service has made one
        after all and it is paid, nobody will notice. This cannot be taken back.
      </p>`,
    async perform(operator, input) {
      await context.operations.voidBill(bill.intentId, operator, input('note'));
      return { to: 'unknown-outcomes', query: { done: 'voided', bill: bill.intentId } };
    },
  };
}

function about(context: PageContext, bill: BillDetails): Html {
  return facts([
    ['Order', billLink(context, bill)],
    ['Amount', money(bill.amount, bill.currency)],
    context.scope === null && ['Shop', bill.shop],
    ['Asked for', time(bill.createdAt)],
    ['Description', bill.description],
    ['custom', html`<code>${bill.custom}</code>`],
    ['Why it is unknown', bill.failure],
  ]);
}

function known({ state }: BillDetails): ImpossibleAction {
  return { place: 'unknown-outcomes', impossible: `This is no unknown outcome any more: it is ${stateName(state)}.` };
}
