import { html } from '../common/html.js';
import { requireFound, type PageContext } from '../common/page-context.js';
import { lostBillFacts } from '../pages/lost-bills.page.js';
import { assertAmount, InputError, readYesOrNo, type OperatorAction } from './operator-action.js';

export async function takeInBill(context: PageContext, id: string): Promise<OperatorAction> {
  const lost = requireFound(await context.records.lostBill(id), LOST_BILL);
  return {
    title: `Import bill ${lost.billId}?`,
    place: 'lost-bills',
    label: 'Import',
    fields: [
      {
        name: 'orderId',
        label: 'Order',
        hint: 'As shown by the service or your own books. What a postback names is no proof: a payer can forge one.',
        required: true,
      },
      {
        name: 'amount',
        label: 'Amount of the bill',
        hint: 'The amount billed, such as 100.05. Payments are compared with it.',
        required: true,
        inputMode: 'decimal',
      },
      { name: 'currency', label: 'Currency', hint: "Three capital letters, if it differs from the shop's." },
      {
        name: 'payerPaysCommission',
        label: 'Does the payer pay the commission on top?',
        hint: 'Enter yes or no, if it differs from what the shop sends.',
      },
      {
        name: 'linkPageUrl',
        label: 'Payment page',
        hint: 'Its link_page_url, if the payer can still pay.',
        inputMode: 'url',
      },
    ],
    content: html`${lostBillFacts(context, lost)}
      <p>Make sure that the bill belongs to the order: anything paid on it will count for this order.</p>
      <p>
        <strong>What will happen:</strong> the bill is imported as an open bill of the order. It is checked at once, and
        settles like any other: a successful payment of the amount emits its <code>payment.succeeded</code>.
      </p>`,
    async perform(by, input) {
      const [orderId, amount] = [input('orderId'), input('amount')];
      if (orderId.trim() === '') throw new InputError('Specify the order that the bill was created for.');
      if (orderId !== lost.namedOrderId && UNSEEN_PATTERN.test(orderId)) {
        throw new InputError('The order id has a space at one end or an invisible character: remove it.');
      }
      assertAmount(amount);
      const payerPaysCommission = readYesOrNo(input('payerPaysCommission'));
      await context.operations.takeInLostBill(lost.id, {
        ...by,
        orderId,
        amount,
        currency: input('currency') || undefined,
        payerPaysCommission,
        linkPageUrl: input('linkPageUrl') || undefined,
      });
      return { done: 'taken-in' };
    },
  };
}

const LOST_BILL = 'lost bill; if it was imported or dismissed, the log says by whom';

/** What copying adds without anybody seeing it. */
const UNSEEN_PATTERN = /^\s|\s$|\p{C}/u;

export async function dismissLostBill(context: PageContext, id: string): Promise<OperatorAction> {
  const lost = requireFound(await context.records.lostBill(id), LOST_BILL);
  return {
    title: `Dismiss bill ${lost.billId}?`,
    place: 'lost-bills',
    label: 'Dismiss',
    noteRequired: true,
    content: html`${lostBillFacts(context, lost)}
      <p>
        <strong>What will happen:</strong> the bill no longer counts as lost, and the service is not asked about it
        again. Payments on it go unnoticed here. This cannot be undone; the bill can still be imported.
      </p>`,
    async perform(by) {
      await context.operations.dismissLostBill(lost.id, by);
      return { done: 'bill-dismissed' };
    },
  };
}
