// For .ci/run: ends with 0 where the chaos test can start a MariaDB of its own; else with 1, and says why not.
import { databaseUser } from '../../scripts/lib/database-user.mjs';
import { messageOf } from '../../scripts/lib/errors.mjs';
import { findMariaDb } from '../../scripts/lib/mariadb-server.mjs';

try {
  findMariaDb(databaseUser());
} catch (error) {
  console.log(messageOf(error));
  process.exitCode = 1;
}
