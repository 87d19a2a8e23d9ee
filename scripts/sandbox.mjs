// npm run sandbox: the sandbox of the payment acceptance service alone.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, otherPort, sandboxPort, startSandbox } from './lib/servers.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(`npm run sandbox

The sandbox of the payment acceptance service alone, until Ctrl-C. It is told by the environment:

  SANDBOX_PORT  port to listen on                                 4010
  SHOP_PORT     where the shop listens that its demo shops call   3000
  SANDBOX_DATA  folder that keeps its state                       .data/sandbox

For the sandbox in other projects: npx nestjs-payment-sandbox --help`);

await command(
  async () => {
    const port = await sandboxPort();
    await prepare();
    endTogether([await startSandbox({ port, shopPort: otherPort('SHOP_PORT', 3000) })]);
    console.log(`Sandbox: ${address(port)} (console at /sandbox)\nReady. Ctrl-C stops it.`);
  },
  { signalCode: 0 },
);
