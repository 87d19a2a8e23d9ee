import { HELP, readArguments } from './arguments.js';
import { failureOf, MissingPackageError } from './failure.js';
import { init } from './init.js';
import { printFailure, printJson, type Output } from './output.js';

/**
 * Runs a command line. Never rejects. Loads the module only for the commands that need it: help and `init` must work
 * before the packages that the module needs are installed. The other commands say in one sentence which package is
 * missing.
 * @param env gets what the host's .env sets
 * @returns the exit code
 */
export async function start(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const isJson = args.includes('--json');
  try {
    const invocation = readArguments(args);
    if (!invocation) {
      if (isJson) printJson(output, { help: HELP });
      else output.out(HELP);
      return 0;
    }
    const { command } = invocation;
    if (command === 'init') return init(invocation, process.cwd(), output);
    const { run } = await import('./run.js').catch(refuseMissingPackage);
    return await run(command, invocation, env, output);
  } catch (error) {
    const { exitCode, code, message } = failureOf(error);
    printFailure(output, { code, message }, isJson);
    return exitCode;
  }
}

function refuseMissingPackage(error: NodeJS.ErrnoException): never {
  const isMissing = error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND';
  throw isMissing ? new MissingPackageError(error.message) : error;
}
