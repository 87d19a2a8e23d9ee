import type { INestApplicationContext } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { shownText } from '../common/text.js';
import { zonedInstant } from '../config/time-zone.js';
import type { BillToImport } from '../operations/bill-to-import.js';
import { PaymentChecks } from '../operations/payment-checks.service.js';
import { PaymentHealthIndicator } from '../health/payment-health.indicator.js';
import { PaymentImport } from '../operations/payment-import.service.js';
import { PaymentOperations } from '../operations/payment-operations.service.js';
import { UsageError, type Arguments } from './arguments.js';
import { openStatement } from './statement-file.js';
import { printFields, printJson, type Output } from './output.js';

/** @returns the exit code */
export type Command = (context: INestApplicationContext, invocation: Arguments, output: Output) => Promise<number>;

/** Exits with 1 unless the module is healthy. */
export const status: Command = async (context, { values }, output) => {
  const { payments } = await context
    .get(PaymentHealthIndicator)
    .isHealthy('payments', { timeoutMs: 10_000, degradedStatus: 'degraded' });
  const { status: state, degraded, database, backlog } = payments;
  const summary = { status: state, degraded, database: database.error ?? 'reachable', ...backlog };
  if (values.json) printJson(output, summary);
  else printFields(output, summary);
  return state === 'up' ? 0 : 1;
};

export const check: Command = async (context, { operand, values }, output) => {
  const checked = await context.get(PaymentChecks).check(operand, values.shop);
  if (values.json) {
    printJson(output, checked);
    return 0;
  }
  const { payments, stateBefore, stateAfter, ...rest } = checked;
  printFields(output, {
    ...rest,
    state: stateBefore === stateAfter ? stateAfter : `${stateBefore}, now ${stateAfter}`,
  });
  for (const { paymentId, status: paymentStatus, amount, currency } of payments) {
    output.out(`payment ${paymentId}: ${paymentStatus}, ${amount ?? 'no amount'} ${currency ?? ''}\n`);
  }
  return 0;
};

export const replay: Command = async (context, { values }, output) => {
  const filter = {
    ...(values.delivery !== undefined && { deliveryId: values.delivery }),
    ...(values.consumer !== undefined && { consumer: values.consumer }),
    ...(values.event !== undefined && { event: values.event }),
    ...(values.shop !== undefined && { shop: values.shop }),
    ...(values.order !== undefined && { orderId: values.order }),
  };
  const none = Object.keys(filter).length === 0;
  if (none !== (values.all === true)) {
    throw new UsageError(
      none
        ? 'Specify which deliveries with a filter such as --consumer NAME, or pass --all.'
        : '--all cannot be combined with a filter.',
    );
  }
  const dryRun = values['dry-run'] === true;
  const operations = context.get(PaymentOperations);
  const replayed = dryRun
    ? await operations.countReplayable(filter)
    : await operations.replay(filter, { operator: operatorOf(values.operator) });
  if (values.json) printJson(output, { dryRun, replayed });
  else
    output.out(`${replayed} ${replayed === 1 ? 'delivery' : 'deliveries'} ${dryRun ? 'would' : 'will'} be retried.\n`);
  return 0;
};

export const deliver: Command = async (context, { values }, output) => {
  const { consumer, event, shop, order } = values;
  if (consumer === undefined) throw new UsageError('Specify the consumer that gets the events: --consumer NAME.');
  const [from, to] = [instantOf('--from', values.from), instantOf('--to', values.to)];
  const filter = {
    consumer,
    ...(event !== undefined && { event }),
    ...(shop !== undefined && { shop }),
    ...(order !== undefined && { orderId: order }),
    ...(from && { from }),
    ...(to && { to }),
  };
  const operations = context.get(PaymentOperations);
  const dryRun = values['dry-run'] === true;
  const eventCount = dryRun
    ? await operations.countPastEvents(filter)
    : await operations.deliverPastEvents(filter, { operator: operatorOf(values.operator) });
  if (values.json) printJson(output, { dryRun, made: eventCount });
  else
    output.out(
      `${eventCount} ${eventCount === 1 ? 'event' : 'events'} ${dryRun ? 'would' : 'will'} be delivered to "${shownText(consumer)}".\n`,
    );
  return 0;
};

export const retireConsumer: Command = async (context, { values }, output) => {
  const { consumer, operator } = values;
  if (consumer === undefined) throw new UsageError('Specify the consumer: --consumer NAME.');
  const removed = await context.get(PaymentOperations).retireConsumer(consumer, { operator: operatorOf(operator) });
  if (values.json) printJson(output, { consumer, removed });
  else
    output.out(
      `Removed ${removed} ${removed === 1 ? 'delivery' : 'deliveries'} that consumer "${shownText(consumer)}" no longer takes.\n`,
    );
  return 0;
};

/** @throws UsageError if the text is not a time with a zone */
export function instantOf(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const instant = zonedInstant(text);
  if (!instant) {
    throw new UsageError(
      `${option}: must be a time with a time zone, such as 2026-11-21T00:00:00Z, not "${shownText(text)}".`,
    );
  }
  return instant;
}

/** Exits with 1 if a bill is refused. */
export const importFile: Command = async (context, { operand, values }, output) => {
  const { shop, 'from-log': isLog } = values;
  const imports = context.get(PaymentImport);
  const options = { operator: operatorOf(values.operator), dryRun: values['dry-run'] === true };
  const logged = isLog
    ? await (shop === undefined ? imports : imports.forShop(shop)).importLog(
        (await openStatement(operand)).readLines(),
        options,
      )
    : undefined;
  const bills = isLog ? [] : await readBills(operand);
  const report =
    logged ??
    (await imports.importBills(shop === undefined ? bills : bills.map((bill) => withDefaultShop(bill, shop)), options));
  if (values.json) printJson(output, report);
  else {
    const { dryRun, imported, present, refused } = report;
    output.out(
      `${imported} ${dryRun ? 'would be ' : ''}imported, ${present} already here, ${refused.length} refused\n`,
    );
    for (const { index, billId, orderId, problems } of refused) {
      output.out(`${shownText(`bill ${index + 1} (${billId}, order ${orderId}): ${problems.join(' ')}`)}\n`);
    }
    for (const { shop: shopName, orderId, billId } of logged?.bills ?? []) {
      output.out(`${shownText(`bill ${billId} of order ${orderId} of shop ${shopName}`)}\n`);
    }
  }
  return report.refused.length > 0 ? 1 : 0;
};

function withDefaultShop(bill: BillToImport, shop: string): BillToImport {
  return typeof bill === 'object' && (bill as object | null) !== null ? { shop, ...bill } : bill;
}

async function readBills(file: string): Promise<BillToImport[]> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
    if (text.trim() === '') throw new Error('the file is empty.');
    if (text.trimStart().startsWith('[')) return JSON.parse(text) as BillToImport[];
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => JSON.parse(line) as BillToImport);
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}

/**
 * Defaults to the system user who runs the command.
 * @throws UsageError
 */
export function operatorOf(operator: string | undefined): string {
  if (operator?.trim() === '') throw new UsageError('--operator: must not be empty.');
  if (operator !== undefined) return operator;
  try {
    return `cli:${userInfo().username}`;
  } catch {
    throw new UsageError('This system has no name for its user, as in a container: specify --operator NAME.');
  }
}
