import { shownLines } from '../common/text.js';
import { readArguments, type CommandName } from './arguments.js';
import { check, deliver, importFile, replay, retireConsumer, status, type Command } from './commands.js';
import { doctor, doctorWithoutDatabase, namesDatabase } from './doctor.js';
import { loadEnvironmentFiles, type Given } from './environment-file.js';
import { erase } from './erase.js';
import { failureOf, type Situation } from './failure.js';
import { forgetShop } from './forget-shop.js';
import { printHelp } from './help.js';
import { withModule } from './host.js';
import { init } from './init.js';
import { migrate } from './migrate.js';
import { printJson, type Output } from './output.js';
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
 * Runs a command line. Never rejects.
 * @param env gets what the host's .env sets
 * @returns the exit code
 */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  let situation: Situation = { args, given: undefined };
  try {
    const read = readArguments(args);
    if (!read) return printHelp(args, output);
    const given = { ...read, environmentFiles: loadEnvironmentFiles(read, env) };
    situation = { args, given };
    return await perform(given, env, output);
  } catch (error) {
    return fail(error, situation, output);
  }
}

async function perform(given: Given, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const { command } = given;
  if (command === 'init') return init(given, process.cwd(), output);
  if (command === 'migrate') return migrate(given, env, output);
  if (command === 'forget-shop') return forgetShop(given, env, output);
  if (command === 'doctor' && !(await namesDatabase(given, env))) return doctorWithoutDatabase(given, env, output);
  return withModule(given, env, output, (context) => COMMANDS[command](context, given, output));
}

/** Standard output has nothing but one JSON document with `--json`, even if the command line cannot be read. */
function fail(error: unknown, situation: Situation, output: Output): number {
  const { exitCode, message, next, code } = failureOf(error, situation);
  if (situation.args.includes('--json')) printJson(output, { error: { code, message, next } });
  else output.err(`${shownLines(message)}\nNext: ${shownLines(next)}\n`);
  return exitCode;
}
