import { readArguments, type Arguments } from './arguments.js';
import { printHelp } from './help.js';
import { init } from './init.js';
import { printFailure, type Output } from './output.js';

/**
 * Runs a command line in a process of its own. Loads the module only for the commands that need it: help and `init`
 * must work before the packages that the module needs are installed. The other commands say in one sentence which
 * package is missing.
 * @returns the exit code
 */
export async function start(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const invocation = argumentsOf(args);
  if (invocation === undefined) return printHelp(args, output);
  if (invocation !== 'invalid' && invocation.command === 'init') return init(invocation, process.cwd(), output);
  let run;
  try {
    ({ run } = await import('./run.js'));
  } catch (importError) {
    const { code, message } = importError as NodeJS.ErrnoException;
    if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') throw importError;
    const error = { code: 'missing-package', message: `${message.split('\n')[0]}. Run payment-acceptance init.` };
    printFailure(output, error, args.includes('--json'));
    return 2;
  }
  return run(args, env, output);
}

/** Returns `undefined` if the command line asks for help. If it is invalid, `run` says why. */
function argumentsOf(args: readonly string[]): Arguments | 'invalid' | undefined {
  try {
    return readArguments(args);
  } catch {
    return 'invalid';
  }
}
