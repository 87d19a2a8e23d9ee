import type { BillDetails } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import { billLink, facts, stateName, time } from '../pages/parts.js';
import { requireFound, type PageContext } from '../common/page-context.js';
import { money } from '../labels/text.js';
import { impossible, InputError, readYesOrNo, type OperatorAction } from './operator-action.js';

export async function attachBill(context: PageContext, intentId: string): Promise<OperatorAction> {
  const bill = await unknownBill(context, intentId);
  return {
    title: `Attach the bill of order ${bill.orderId}?`,
    place: 'unknown-outcomes',
    label: 'Attach',
    fields: [
      { name: 'billId', label: 'Bill id', hint: 'As shown by the service.', required: true },
      {
        name: 'linkPageUrl',
        label: 'Payment page',
        hint: 'Its link_page_url, if the payer can still pay. Without it the bill can be checked, but not offered again.',
        inputMode: 'url',
      },
      {
        name: 'despitePostbacks',
        label: 'Attach it despite its postbacks?',
        hint: 'Enter yes if you know that they are wrong: a payer can forge one.',
      },
    ],
    content: html`${describeBill(context, bill)}
      <p>
        Make sure that the bill at the service is for this order and this amount: anything paid on it will count for
        this order.
      </p>
      <p>
        <strong>What will happen:</strong> the service is asked for the bill. If the service has it, the bill becomes
        open, is checked at once, and settles like any other; if not, nothing is changed.
      </p>`,
    async perform(by, input) {
      const billId = input('billId');
      if (!/^[\x21-\x7e]{1,128}$/.test(billId)) {
        throw new InputError('A bill id must be 1 to 128 visible characters without spaces.');
      }
      const linkPageUrl = input('linkPageUrl') || undefined;
      const despitePostbacks = readYesOrNo(input('despitePostbacks'));
      await context.operations.attachBill(bill.intentId, billId, { ...by, linkPageUrl, despitePostbacks });
      return { done: 'attached', bill: bill.intentId };
    },
  };
}

export async function voidBill(context: PageContext, intentId: string): Promise<OperatorAction> {
  const bill = await unknownBill(context, intentId);
  return {
    title: `Void the attempt to create a bill for order ${bill.orderId}?`,
    place: 'unknown-outcomes',
    label: 'Void',
    content: html`${describeBill(context, bill)}
      <p>
        <strong>What will happen:</strong> the attempt is closed as one that created no bill. If the service created one
        after all and it is paid, no one will notice. This cannot be undone.
      </p>`,
    async perform(by) {
      await context.operations.voidBill(bill.intentId, by);
      return { done: 'voided', bill: bill.intentId };
    },
  };
}

function describeBill(context: PageContext, bill: BillDetails): Html {
  return facts([
    ['Order', billLink(context, bill)],
    ['Amount', money(bill.amount, bill.currency)],
    context.scope === null && ['Shop', bill.shop],
    ['Requested', time(bill.createdAt)],
    ['Description', bill.description],
    ['custom', html`<code>${bill.custom}</code>`],
    ['Why it is unknown', bill.failure],
  ]);
}

async function unknownBill({ records }: PageContext, intentId: string): Promise<BillDetails> {
  const bill = requireFound(await records.bill(intentId), 'bill');
  if (bill.state === 'UNKNOWN') return bill;
  throw impossible('unknown-outcomes', `This is no longer an unknown outcome: it is ${stateName(bill.state)}.`);
}
