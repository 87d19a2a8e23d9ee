import path from 'node:path';
import prettier from 'prettier';
import { root } from './project.mjs';

/** @import { LogLine } from '../../libs/payment-acceptance/src/common/log-lines.js' */

/**
 * The log lines as a Markdown table, in their order.
 * @param {Readonly<Record<string, LogLine>>} lines
 */
export async function logLineTable(lines) {
  const rows = Object.entries(lines).map(
    ([code, { level, meaning, action }]) => `| \`${code}\` | ${level} | ${meaning} | ${action} |`,
  );
  const table = ['| code | level | meaning | what to do |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return prettier.format(table, {
    ...(await prettier.resolveConfig(path.join(root, 'docs/operations.md'))),
    parser: 'markdown',
  });
}
