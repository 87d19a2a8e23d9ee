import { describeError, errorType, PaymentAcceptanceError } from '../common/errors.js';
import { shownLines } from '../common/text.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { migratePaymentAcceptance } from '../storage/migrate.js';
import { PaymentSchemaBehindError, PaymentUnsupportedDataSourceError } from '../storage/storage.errors.js';
import { HELP, readArguments, UsageError, type Arguments, type CommandName } from './arguments.js';
import { check, deliver, doctor, importFile, release, replay, status, type Command } from './commands.js';
import { schemaOf, withDataSource, withModule } from './host.js';
import { printJson, type Output } from './output.js';
import { reconcile } from './reconcile.js';
import { recover } from './recover.js';

const COMMANDS: Readonly<Record<Exclude<CommandName, 'migrate'>, Command>> = {
  status,
  check,
  replay,
  deliver,
  reconcile,
  doctor,
  import: importFile,
  release,
  recover,
};

/** Runs a command line. Never rejects. @returns the exit code */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  try {
    const given = readArguments(args);
    if (!given) {
      output.out(HELP);
      return 0;
    }
    return await perform(given, env, output);
  } catch (error) {
    output.err(`${shownLines(errorText(error))}\n`);
    if (error instanceof UsageError) output.err('payment-acceptance --help lists commands and options.\n');
    return isOfConfiguration(error) ? 2 : 1;
  }
}

function perform(given: Arguments, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const { command, values } = given;
  if (command !== 'migrate') {
    return withModule(given, env, output, (context) => COMMANDS[command](context, given, output));
  }
  return withDataSource(given, env, async (dataSource) => {
    await migratePaymentAcceptance(dataSource, { schema: await schemaOf(values.config, env) });
    if (values.json) printJson(output, { migrated: true });
    else output.out('The tables are up to date.\n');
    return 0;
  });
}

/** Our own messages say what to do. Others may be empty, as when no address answers. */
function errorText(error: unknown): string {
  if (error instanceof UsageError || error instanceof PaymentAcceptanceError) return error.message;
  return error instanceof Error && error.message === '' ? errorType(error) : describeError(error);
}

function isOfConfiguration(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof PaymentConfigurationError ||
    error instanceof PaymentUnknownShopError ||
    error instanceof PaymentSchemaBehindError ||
    error instanceof PaymentUnsupportedDataSourceError
  );
}
