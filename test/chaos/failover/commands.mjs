import { startNode } from '../../../scripts/lib/children.mjs';

/** @import { Readable } from 'node:stream' */
/** @import { AnyDatabase } from '../connections.mjs' */
/** @import { World } from '../world.mjs' */

const PROGRAM = 'node_modules/nestjs-payment-acceptance/dist/esm/cli/main.js';

/**
 * `payment-acceptance`, as an operator of these shops runs it: gives the exit code and the JSON document it printed.
 * @param {World<AnyDatabase>} world
 * @param {...string} args
 */
export async function paymentAcceptance({ database, control }, ...args) {
  const env = {
    DATABASE_URL: database.url,
    PAYMENT_ACCEPTANCE_API_BASE_URL: control.url,
    PAYMENT_ACCEPTANCE_SHOPS: 'main,eu',
    PAYMENT_ACCEPTANCE_MAIN_SHOP_ID: 'demo-main',
    PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'sandbox-main-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_SHOP_ID: 'demo-eu',
    PAYMENT_ACCEPTANCE_EU_API_TOKEN: 'sandbox-eu-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_CURRENCY: 'EUR',
  };
  const { child, ended } = startNode('payment-acceptance', [PROGRAM, ...args, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended]);
  try {
    return { code, document: JSON.parse(out) };
  } catch (cause) {
    throw new Error(`payment-acceptance ${args.join(' ')} ended with ${code}:\n${out}${err}`, { cause });
  }
}

/** @param {Readable | null} stream */
async function textOf(stream) {
  let text = '';
  for await (const chunk of stream?.setEncoding('utf8') ?? []) text += chunk;
  return text;
}
