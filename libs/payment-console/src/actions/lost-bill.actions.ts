import { parseAmount } from 'nestjs-payment-acceptance';
import type { LostBill } from 'nestjs-payment-acceptance/operations';
import { html } from '../common/html.js';
import type { PageContext } from '../common/page-context.js';
import { lostBillFacts } from '../pages/lost-bills.page.js';
import { InputError, type OperatorAction } from './operator-action.js';

export function takeInBill(context: PageContext, lost: LostBill): OperatorAction {
  return {
    title: `Take in bill ${lost.billId}?`,
    place: 'lost-bills',
    label: 'Take in',
    fields: [
      {
        name: 'orderId',
        label: 'Order',
        hint: 'As the service or your own books show it. What a postback names is no proof: a payer can make one up.',
        required: true,
      },
      {
        name: 'amount',
        label: 'Amount of the bill',
        hint: 'What it asked for, as in 100.05. What was paid is held against it.',
        required: true,
        inputMode: 'decimal',
      },
      {
        name: 'currency',
        label: 'Currency',
        hint: 'Three capital letters, where it is not that of the shop.',
        required: false,
      },
    ],
    content: html`${lostBillFacts(context, lost)}
      <p>Be sure that the bill is the one of the order: what is paid on it then counts for this order.</p>
      <p>
        <strong>What will happen:</strong> the bill is imported as an open one of the order. It is checked at once, and
        settles like any other: a successful payment over the amount emits its <code>payment.succeeded</code>.
      </p>`,
    async perform(operator, input) {
      const [orderId, amount, currency] = [input('orderId'), input('amount'), input('currency')];
      if (orderId === '') throw new InputError('Say which order the bill was made for.');
      if (parseAmount(amount) === null) {
        throw new InputError(`"${amount}" is no amount. Write it as in 100.05, with at most two decimals.`);
      }
      await context.operations.takeInLostBill(lost.id, {
        ...{ orderId, amount, operator, note: input('note') },
        ...(currency !== '' && { currency }),
      });
      return { to: 'lost-bills', query: { done: 'taken-in' } };
    },
  };
}

export function dismissLostBill(context: PageContext, lost: LostBill): OperatorAction {
  return {
    title: `Dismiss bill ${lost.billId}?`,
    place: 'lost-bills',
    label: 'Dismiss',
    fields: [],
    noteRequired: true,
    content: html`${lostBillFacts(context, lost)}
      <p>
        <strong>What will happen:</strong> the bill counts as lost no longer, and the service is not asked for it again.
        What is paid on it is not noticed here. This cannot be taken back; the bill can still be imported.
      </p>`,
    async perform(operator, input) {
      await context.operations.dismissLostBill(lost.id, operator, input('note'));
      return { to: 'lost-bills', query: { done: 'bill-dismissed' } };
    },
  };
}
