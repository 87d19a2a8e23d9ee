import { SCHEMA_NAME_RULE, isSchemaName } from '../database/storage-options.js';
import { migratePaymentAcceptance, pendingMigrations } from '../database/migrate.js';
import { UsageError } from './arguments.js';
import type { CommandLine } from './environment-file.js';
import { schemaOf, withDatabase } from './host.js';
import { printJson, type Output } from './output.js';

/** Needs no shop, because a deployment may know only the database's address. */
export function migrate(invocation: CommandLine, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const { values } = invocation;
  const dryRun = values['dry-run'] === true;
  return withDatabase(invocation, env, async (database) => {
    const schema = await schemaOf(values.config, env);
    if (schema !== undefined && !isSchemaName(schema)) {
      throw new UsageError(`The name of the schema ${SCHEMA_NAME_RULE}`);
    }
    const pending = await pendingMigrations(database, { schema });
    if (!dryRun) await migratePaymentAcceptance(database, { schema });
    if (values.json) printJson(output, { migrated: !dryRun, dryRun, migrations: pending });
    else {
      if (dryRun) for (const { version, name } of pending) output.out(`${version}  ${name}\n`);
      const missing = dryRun ? pending.length : 0;
      output.out(
        missing === 0
          ? 'The tables are up to date.\n'
          : `${missing} ${missing === 1 ? 'migration' : 'migrations'} would run.\n`,
      );
    }
    return 0;
  });
}
