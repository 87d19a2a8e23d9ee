import { HELP } from './arguments.js';
import { printJson, type Output } from './output.js';

/**
 * Needs no package and no database.
 * @returns the exit code
 */
export function printHelp(args: readonly string[], output: Output): number {
  if (args.includes('--json')) printJson(output, { help: HELP });
  else output.out(HELP);
  return 0;
}
