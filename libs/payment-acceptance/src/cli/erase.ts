import { shownText } from '../common/text.js';
import type { ErasedPart } from '../operations/records.js';
import { PaymentOperations } from '../operations/payment-operations.service.js';
import { UsageError } from './arguments.js';
import { operatorOf, type Command } from './commands.js';
import { printFields, printJson } from './output.js';

const PART_LABELS: Readonly<Record<ErasedPart, string>> = {
  bills: 'bills: description, name, custom, error texts',
  payments: 'payments: card number',
  events: 'events: custom, card number',
  callbacks: 'callbacks: raw fields',
  deliveries: 'deliveries: error text',
  waitingCallbacks: 'postbacks without a bill: raw fields',
  lostBills: 'lost bills: listed payments',
  notes: "operators' actions: note",
};

const NOT_COVERED_NOTE =
  'Not covered: your own tables, events already delivered, brokers, logs, backups, and the service.\n';

export const erase: Command = async (context, { values }, output) => {
  const { order, shop } = values;
  if (order === undefined || order === '') throw new UsageError('Specify an order: --order ID.');
  const erased = await context
    .get(PaymentOperations)
    .eraseOrder({ orderId: order, ...(shop !== undefined && { shop }) }, { operator: operatorOf(values.operator) });
  if (values.json) {
    printJson(output, erased);
    return 0;
  }
  const { removed, bills } = erased;
  output.out(
    `Removed from the records of ${bills.length === 1 ? 'one bill' : `${bills.length} bills`} of order "${shownText(order)}":\n`,
  );
  printFields(
    output,
    Object.fromEntries(Object.entries(PART_LABELS).map(([part, label]) => [label, removed[part as ErasedPart]])),
  );
  output.out(NOT_COVERED_NOTE);
  return 0;
};
