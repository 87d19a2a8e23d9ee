import 'reflect-metadata';
import { runSandbox } from 'nestjs-payment-sandbox/program';

const { SHOP_PORT, SANDBOX_DATA, SANDBOX_SHOP_URL, ANNOUNCE } = process.env;

/** Runs the sandbox's program for this repository: with its state in a folder, for the shop on SHOP_PORT. */
runSandbox({
  args: process.argv.slice(2),
  env: {
    ...process.env,
    SANDBOX_DATA: SANDBOX_DATA || '.data/sandbox',
    SANDBOX_SHOP_URL: SANDBOX_SHOP_URL || `http://127.0.0.1:${SHOP_PORT || '3000'}`,
  },
  command: 'npm run sandbox --',
  quiet: ANNOUNCE === 'no',
});
