import { Logger } from '@nestjs/common';
import { readArguments, type CommandName } from './arguments.js';
import { check, deliver, importFile, replay, retireConsumer, status, type Command } from './commands.js';
import { doctor, doctorWithoutDatabase, namesDatabase } from './doctor.js';
import { loadEnvironmentFiles, type CommandLine } from './environment-file.js';
import { erase } from './erase.js';
import { failureOf } from './failure.js';
import { forgetShop } from './forget-shop.js';
import { printHelp } from './help.js';
import { loggerTo, withModule } from './host.js';
import { init } from './init.js';
import { migrate } from './migrate.js';
import { printFailure, type Output } from './output.js';
import { reconcile } from './reconcile.js';
import { recover } from './recover.js';

const COMMANDS: Readonly<Record<Exclude<CommandName, 'init' | 'migrate' | 'forget-shop'>, Command>> = {
  status,
  check,
  replay,
  deliver,
  'retire-consumer': retireConsumer,
  reconcile,
  doctor,
  import: importFile,
  erase,
  recover,
};

/**
 * Never rejects.
 * @param env gets what the host's .env sets
 * @returns the exit code
 */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  try {
    const read = readArguments(args);
    if (!read) return printHelp(args, output);
    const invocation = { ...read, environmentFiles: loadEnvironmentFiles(read, env) };
    Logger.overrideLogger(loggerTo(output));
    return await perform(invocation, env, output);
  } catch (error) {
    const { exitCode, code, message } = failureOf(error);
    printFailure(output, { code, message }, args.includes('--json'));
    return exitCode;
  }
}

async function perform(invocation: CommandLine, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const { command } = invocation;
  if (command === 'init') return init(invocation, process.cwd(), output);
  if (command === 'migrate') return migrate(invocation, env, output);
  if (command === 'forget-shop') return forgetShop(invocation, env, output);
  if (command === 'doctor' && !(await namesDatabase(invocation, env)))
    return doctorWithoutDatabase(invocation, env, output);
  return withModule(invocation, env, (context) => COMMANDS[command](context, invocation, output));
}
