// npm run shop: the sample shop alone. With one DATABASE_URL and different SHOP_PORTs, several share a database.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, otherPort, shopDatabase, shopPort, startShop } from './lib/servers.mjs';

await command(
  async () => {
    const port = await shopPort();
    await prepare();
    const database = await shopDatabase();
    const sandboxPort = otherPort('SANDBOX_PORT', 4010);
    const shop = await startShop({ port, sandboxPort, databaseUrl: database.url });
    endTogether([database, shop]);
    console.log(`Shop:    ${address(port)}\nReady. Ctrl-C stops it.`);
  },
  { signalCode: 0 },
);
