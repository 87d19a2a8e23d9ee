// npm run sandbox: the sandbox of the payment acceptance service alone.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, otherPort, sandboxPort, startSandbox } from './lib/servers.mjs';

await command(
  async () => {
    const port = await sandboxPort();
    await prepare();
    endTogether([await startSandbox({ port, shopPort: otherPort('SHOP_PORT', 3000) })]);
    console.log(`Sandbox: ${address(port)} (console at /sandbox)\nReady. Ctrl-C stops it.`);
  },
  { signalCode: 0 },
);
