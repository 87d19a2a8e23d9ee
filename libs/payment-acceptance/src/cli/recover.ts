import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { shownText } from '../common/text.js';
import { PaymentRecovery, type RecoveryReport } from '../operations/payment-recovery.service.js';
import { UsageError } from './arguments.js';
import { instantOf, operatorOf, type Command } from './commands.js';
import { jsonText, printJson, type Output } from './output.js';

export const recover: Command = async (context, { values }, output) => {
  const since = instantOf('--since', values.since);
  if (!since) throw new UsageError('Specify since when commits may be missing: --since 2026-11-21T00:00:00Z.');
  const { out, shop, 'dry-run': dryRun = false } = values;
  // An existing file is never overwritten: a person may have confirmed bills in it.
  if (out !== undefined && existsSync(out)) throw new UsageError(`--out: ${out} already exists: choose a new file.`);
  const report = await context.get(PaymentRecovery).recover({
    since,
    operator: operatorOf(values.operator),
    dryRun,
    ...(shop !== undefined && { shop }),
  });
  const writtenFile = out !== undefined && !dryRun && report.bills.length > 0 ? out : null;
  if (writtenFile !== null) await writeBills(writtenFile, report);
  if (values.json) printJson(output, { ...report, written: writtenFile });
  else {
    printReport(report, output);
    printNext(report, writtenFile, output);
  }
  return report.failed.length > 0 ? 1 : 0;
};

/** One bill per line, so that a person can confirm them one by one. Only the file's owner can read it. */
async function writeBills(file: string, { bills }: RecoveryReport): Promise<void> {
  const lines = bills.map((bill) => `${jsonText(bill)}\n`);
  try {
    await writeFile(file, lines.join(''), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UsageError(`--out: ${(error as Error).message}`);
  }
}

function printReport(report: RecoveryReport, { out, err }: Output): void {
  const { dryRun, shops, failed, bills, unknownOutcomes } = report;
  for (const { shop, error } of failed)
    err(shownText(`${shop}: its known bills will not be rechecked. ${error}`) + '\n');
  for (const { shop, rechecked, withinSeconds } of shops) {
    out(`${shop}: ${rechecked} known bills ${dryRun ? 'would be' : 'will be'} rechecked within ${withinSeconds} s\n`);
  }
  out(`bills named by postbacks but not known here: ${bills.length}\n`);
  if (unknownOutcomes > 0)
    out(`bill creations with an unknown outcome: ${unknownOutcomes}; look them up at the service\n`);
}

function printNext({ bills, dryRun }: RecoveryReport, writtenFile: string | null, { out }: Output): void {
  const steps: string[] = [];
  if (bills.length > 0) {
    const file = writtenFile ?? 'FILE';
    if (writtenFile === null)
      steps.push(`Run this command again${dryRun ? ' without --dry-run,' : ''} with --out FILE.`);
    steps.push(
      `Look up each bill listed in ${file} in the merchant's account and among the orders. Correct its line and set "verified" to true, or remove the line.`,
    );
    steps.push(`Restore the orders, then run payment-acceptance import ${file}.`);
  }
  steps.push(
    "This does not find bills that are in neither a log nor a postback. The merchant's account shows them: export its " +
      'payments since then, and compare them with the ledger: payment-acceptance reconcile --against FILE.',
  );
  out(`\nNext:\n${steps.map((step, index) => `${index + 1}. ${shownText(step)}\n`).join('')}`);
}
