// npm run shop: the sample shop alone. With one DATABASE_URL and different SHOP_PORTs, several share a database.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, otherPort, shopDatabase, shopPort, startShop } from './lib/servers.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(`npm run shop

The sample shop alone, until Ctrl-C. It is told by the environment:

  SHOP_PORT      port to listen on                          3000
  SHOP_ADAPTER   express or fastify                         express
  SANDBOX_PORT   where the sandbox listens                  4010
  SANDBOX_URL    the sandbox elsewhere, by its address
  DATABASE_URL   a PostgreSQL or MariaDB of yours           one of its own, in .data`);

await command(
  async () => {
    const port = await shopPort();
    await prepare();
    const database = await shopDatabase();
    const sandboxPort = otherPort('SANDBOX_PORT', 4010);
    const shop = await startShop({ port, sandboxPort, databaseUrl: database.url });
    endTogether([database, shop]);
    console.log(
      `Shop:    ${address(port)} (operator console: only with NODE_ENV=development)\nReady. Press Ctrl-C to stop.`,
    );
  },
  { signalCode: 0 },
);
