import path from 'node:path';
import { startNode, waitUntilAnswers } from './children.mjs';
import { exit, isExiting } from './lifecycle.mjs';
import { startLastingPostgres } from './postgres.mjs';
import { host } from './free-port.mjs';
import { portFrom } from './ports.mjs';
import { dataFolder } from './project.mjs';

export const shopPort = () => portFrom('SHOP_PORT', 3000);
export const sandboxPort = () => portFrom('SANDBOX_PORT', 4010);
/**
 * The port of a server that another command runs: read, not tried.
 * @param {string} variable
 * @param {number} defaultPort
 */
export const otherPort = (variable, defaultPort) => Number(process.env[variable] || defaultPort);

/** The command says where the servers are, once they answer. */
const QUIET = { ANNOUNCE: 'no' };

/** @param {number} port */
export const address = (port) => `http://${host}:${port}`;

/** Whatever the shell says of other environments, the shop beside its sandbox is for development, and asks no other service. */
export function withSandboxOnly() {
  process.env.NODE_ENV = 'development';
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('PAYMENT_ACCEPTANCE_')) Reflect.deleteProperty(process.env, name);
  }
}

/**
 * `log`: what the sandbox prints of requests and postbacks, where the environment does not say it.
 * @param {{ port: number; shopPort: number; log?: string; data?: string }} options
 */
export async function startSandbox({
  port,
  shopPort,
  log = 'none',
  data = process.env.SANDBOX_DATA || path.join(dataFolder, 'sandbox'),
}) {
  const env = {
    ...QUIET,
    SANDBOX_PORT: String(port),
    SHOP_PORT: String(shopPort),
    SANDBOX_DATA: data,
    SANDBOX_LOG: process.env.SANDBOX_LOG || log,
  };
  const sandbox = startNode('sandbox', ['dist/apps/sandbox/main.js'], { env });
  await waitUntilAnswers(sandbox, address(port));
  return sandbox;
}

/** @param {{ port: number; sandboxPort: number; databaseUrl: string; sandboxUrl?: string }} options */
export async function startShop({ port, sandboxPort, databaseUrl, sandboxUrl = process.env.SANDBOX_URL }) {
  const env = {
    ...QUIET,
    SHOP_PORT: String(port),
    SANDBOX_PORT: String(sandboxPort),
    SANDBOX_URL: sandboxUrl || address(sandboxPort),
    DATABASE_URL: databaseUrl,
  };
  const shop = startNode('shop', ['dist/apps/shop/main.js'], { env });
  await waitUntilAnswers(shop, address(port));
  return shop;
}

/**
 * The shop's database: the one that DATABASE_URL names, else the project's own.
 * @returns {Promise<{ name: string; url: string; ended: Promise<number> }>}
 */
export async function shopDatabase() {
  if (process.env.DATABASE_URL)
    return { name: 'database', url: process.env.DATABASE_URL, ended: new Promise(() => {}) };
  const { url, ended, shared } = await startLastingPostgres();
  if (shared) console.log('Database: shared with the command that has started it, and gone when that ends');
  return { name: 'database', url, ended };
}

/**
 * One of several that has ended takes the others, and its exit code, with it.
 * @param {readonly { name: string; ended: Promise<number> }[]} servers
 */
export function endTogether(servers) {
  for (const { name, ended } of servers) {
    void ended.then((code) => {
      if (isExiting()) return;
      console.error(`The ${name} ended with code ${code}; stopping the rest.`);
      void exit(code || 1);
    });
  }
}
