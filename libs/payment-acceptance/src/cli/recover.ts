import { existsSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { shownText } from '../common/text.js';
import { PaymentRecovery, type RecoveryReport } from '../operations/payment-recovery.service.js';
import { UsageError } from './arguments.js';
import { instantOf, operatorOf, type Command } from './commands.js';
import { jsonText, printJson, type Output } from './output.js';

/** Exits with 1 if a line of the log cannot be read, or the service does not show a bill that is in the log. */
export const recover: Command = async (context, { values }, output) => {
  const since = instantOf('--since', values.since);
  if (!since) throw new UsageError('Say since when commits may be missing: --since 2026-11-21T00:00:00Z.');
  const { out, shop, 'from-log': logs = [], 'dry-run': dryRun = false } = values;
  // Never overwrite it: a person may have confirmed bills in it.
  if (out !== undefined && existsSync(out)) throw new UsageError(`--out: ${out} already exists: name a new file.`);
  const report = await context.get(PaymentRecovery).recover({
    since,
    operator: operatorOf(values.operator),
    dryRun,
    log: linesOfLogs(logs),
    ...(shop !== undefined && { shop }),
  });
  const written = out !== undefined && !dryRun && report.bills.length > 0 ? out : null;
  if (written !== null) await writeBills(written, report);
  if (values.json) printJson(output, { ...report, written });
  else {
    printReport(report, logs.length > 0, output);
    printNext(report, written, output);
  }
  return report.log.unreadable.length > 0 || report.attached.some(({ error }) => error !== null) ? 1 : 0;
};

async function* linesOfLogs(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files) {
    const log = await open(file).catch((error: unknown) => {
      throw new UsageError(`--from-log: ${(error as Error).message}`);
    });
    yield* log.readLines();
  }
}

/** One bill per line, so that a person can confirm them one by one. Only the file's owner can read it. */
async function writeBills(file: string, { bills }: RecoveryReport): Promise<void> {
  const lines = bills.map((bill) => `${jsonText(bill)}\n`);
  try {
    await writeFile(file, lines.join(''), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UsageError(`--out: ${(error as Error).message}`);
  }
}

function printReport(report: RecoveryReport, withLog: boolean, { out }: Output): void {
  const { dryRun, shops, attached, bills, underWay, unknownOutcomes, log } = report;
  for (const { shop, rechecked, withinSeconds } of shops) {
    out(`${shop}: ${rechecked} known bills ${dryRun ? 'would be' : 'are'} checked again within ${withinSeconds} s\n`);
  }
  if (withLog) {
    out(`log: ${log.lines} lines, ${log.creations} creations since\n`);
    for (const line of log.unreadable) out(`log: the creation in line ${line} cannot be read\n`);
  }
  for (const { shop, orderId, billId, intentId, error } of attached) {
    const how = error === null ? (dryRun ? 'would be attached' : 'attached') : `not attached: ${error}`;
    out(`${shownText(`${shop}: bill ${billId} of order ${orderId} (intent ${intentId}) ${how}`)}\n`);
  }
  const verified = bills.filter((bill) => bill.verified).length;
  out(
    `${bills.length} bills are not known here: ${verified} by our own record, ${bills.length - verified} to be confirmed\n`,
  );
  if (underWay > 0) out(`${underWay} creations are still in progress: run it again in some minutes\n`);
  if (unknownOutcomes > 0) out(`${unknownOutcomes} creations have no known outcome: look for them at the service\n`);
}

function printNext({ bills, dryRun }: RecoveryReport, written: string | null, { out }: Output): void {
  const steps: string[] = [];
  if (bills.length > 0) {
    const file = written ?? 'FILE';
    if (written === null) steps.push(`Run it${dryRun ? ' without --dry-run,' : ''} with --out FILE.`);
    if (bills.some(({ verified }) => !verified)) {
      steps.push(
        `Look up each bill in ${file} that says "verified": false, in the account and among the orders. Correct it and set true, or remove it.`,
      );
    }
    steps.push(`Restore the orders. Then payment-acceptance import ${file}.`);
  }
  steps.push(
    "This does not find bills that are in neither a log nor a postback. The merchant's account shows them: export its " +
      'payments since then, and compare them with the ledger: payment-acceptance reconcile --against FILE.',
  );
  out(`\nNext:\n${steps.map((step, index) => `${index + 1}. ${shownText(step)}\n`).join('')}`);
}
