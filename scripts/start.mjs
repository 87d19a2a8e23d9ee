// npm start: the database, the sandbox and the sample shop.
import './lib/node-version.mjs';
import { command, CommandError } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import {
  address,
  endTogether,
  sandboxPort,
  shopDatabase,
  shopPort,
  startSandbox,
  startShop,
  withSandboxOnly,
} from './lib/servers.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(`npm start

A database, the sandbox of the payment acceptance service and the sample shop, until Ctrl-C. Told by the environment:

  SHOP_PORT      port of the shop          3000
  SANDBOX_PORT   port of the sandbox       4010
  SHOP_ADAPTER   express or fastify        express
  DATABASE_URL   a PostgreSQL or MariaDB   one of its own, in .data`);

withSandboxOnly();

await command(
  async () => {
    const [shopAt, sandboxAt] = [await shopPort(), await sandboxPort()];
    if (shopAt === sandboxAt)
      throw new CommandError(`SHOP_PORT and SANDBOX_PORT are both ${shopAt}: change one of them.`);
    await prepare();
    const database = await shopDatabase();
    const sandbox = await startSandbox({ port: sandboxAt, shopPort: shopAt, log: 'problems' });
    const sandboxUrl = address(sandboxAt);
    const shop = await startShop({ port: shopAt, sandboxPort: sandboxAt, databaseUrl: database.url, sandboxUrl });
    endTogether([database, sandbox, shop]);
    console.log(
      `Shop:    ${address(shopAt)}\nSandbox: ${address(sandboxAt)} (console at /sandbox)\nReady. Press Ctrl-C to stop everything.`,
    );
  },
  { signalCode: 0 },
);
