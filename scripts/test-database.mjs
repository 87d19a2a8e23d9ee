// A temporary PostgreSQL that stays until Ctrl-C, for quick runs of single specs: prints the variable to set.
import './lib/node-version.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { command } from './lib/lifecycle.mjs';
import { startTemporaryPostgres } from './lib/postgres.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(
  'node scripts/test-database.mjs\n\nA PostgreSQL for quick runs of single specs, until Ctrl-C. Prints the variable to set.',
);

await command(
  async () => {
    await ensureInstalled();
    const { url, ended } = await startTemporaryPostgres();
    console.log(`export TEST_DATABASE_URL=${url}`);
    await ended;
    return 1;
  },
  { signalCode: 0 },
);
