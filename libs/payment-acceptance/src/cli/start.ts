import { checkPeers, loadProblem } from '../peers/check-peers.js';
import { PaymentPeerError } from '../peers/peer.error.js';
import { readArguments, type Arguments } from './arguments.js';
import { printHelp } from './help.js';
import { init } from './init/init.js';
import type { Output } from './output.js';

/**
 * Runs a command line in a process of its own. Loads the module only for the commands that need it: help and `init` come before the
 * packages that it stands on are installed, and the others say in a sentence which one is missing.
 *
 * @returns the exit code
 */
export async function start(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const given = argumentsOf(args);
  if (given === undefined) return printHelp(args, output);
  if (given !== 'invalid' && given.command === 'init') return init(given, process.cwd(), output);
  let run;
  try {
    checkPeers();
    ({ run } = await import('./run.js'));
  } catch (thrown) {
    const problem = loadProblem(thrown);
    const told = problem === undefined ? thrown : new PaymentPeerError([problem]);
    if (!(told instanceof PaymentPeerError)) throw thrown;
    const { code, message } = told;
    const error = { code, message, next: 'payment-acceptance init' };
    if (args.includes('--json')) output.out(`${JSON.stringify({ error }, null, 2)}\n`);
    else output.err(`${message}\n`);
    return 2;
  }
  return run(args, env, output);
}

/** `undefined` where they ask for help; `run` says what is invalid. */
function argumentsOf(args: readonly string[]): Arguments | 'invalid' | undefined {
  try {
    return readArguments(args);
  } catch {
    return 'invalid';
  }
}
