import { Logger } from '@nestjs/common';
import type { Arguments, CommandName } from './arguments.js';
import { check, deliver, importFile, replay, retireConsumer, status, type Command } from './commands.js';
import { doctor, doctorWithoutDatabase } from './doctor.js';
import { loadEnvironmentFiles } from './environment-file.js';
import { erase } from './erase.js';
import { forgetShop } from './forget-shop.js';
import { loggerTo, storageOf, withModule } from './host.js';
import { migrate } from './migrate.js';
import type { Output } from './output.js';
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

/** Returns the exit code. */
export async function run(
  command: Exclude<CommandName, 'init'>,
  read: Arguments,
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<number> {
  const invocation = { ...read, environmentFiles: loadEnvironmentFiles(read, env) };
  Logger.overrideLogger(loggerTo(output));
  if (command === 'migrate') return migrate(invocation, env, output);
  if (command === 'forget-shop') return forgetShop(invocation, env, output);
  if (command === 'doctor' && read.values['data-source'] === undefined && !(await storageOf(invocation, env)))
    return doctorWithoutDatabase(invocation, env, output);
  return withModule(invocation, env, (context) => COMMANDS[command](context, invocation, output));
}
