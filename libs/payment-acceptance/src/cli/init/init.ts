import { ownPackage } from '../../peers/own-package.js';
import type { Arguments } from '../arguments.js';
import type { Output } from '../output.js';
import { examine } from './examine.js';
import { lookAtHost } from './look-at-host.js';
import { examinationText } from './print-examination.js';

/** Control characters, which a terminal would obey, and what turns the direction of text. */
const NON_PRINTING = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Says what an application needs to take payments. Reads its folder, runs nothing of it, and changes nothing. Needs none of
 * the packages that the module is built on: they may not be installed yet.
 *
 * @returns the exit code: 1 if something of the application does not fit
 */
export function init({ values }: Arguments, folder: string, output: Output): number {
  const own = ownPackage();
  if (!own) return fail('This runs from a bundle, and not from the package as it is installed.', values.json, output);
  const host = lookAtHost(folder);
  if (typeof host === 'string') return fail(host, values.json, output);
  const examination = examine(host, own, process.versions.node);
  output.out(printable(values.json ? `${JSON.stringify(examination, null, 2)}\n` : examinationText(examination)));
  return examination.fits ? 0 : 1;
}

function fail(text: string, asJson: boolean | undefined, { out, err }: Output): number {
  const message = printable(text);
  const next = 'Run payment-acceptance init in the folder of a NestJS application.';
  if (asJson) out(`${JSON.stringify({ error: { code: 'no-application', message, next } }, null, 2)}\n`);
  else err(`${message}\n`);
  return 1;
}

function printable(text: string): string {
  return text.replace(NON_PRINTING, '\ufffd');
}
