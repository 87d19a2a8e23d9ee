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
export function init({ values }: Arguments, folder: string, { out, err }: Output): number {
  const own = ownPackage();
  if (!own) {
    err('init runs from the package as it is installed, not from a bundle.\n');
    return 1;
  }
  const host = lookAtHost(folder);
  if (typeof host === 'string') {
    err(`${printable(host)}\n`);
    return 1;
  }
  const examination = examine(host, own, process.versions.node);
  out(printable(values.json ? `${JSON.stringify(examination, null, 2)}\n` : examinationText(examination)));
  return examination.fits ? 0 : 1;
}

function printable(text: string): string {
  return text.replace(NON_PRINTING, '\ufffd');
}
