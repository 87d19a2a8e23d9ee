import { codeOf, messageOf } from './errors.mjs';

/** @typedef {keyof typeof SERVICES} ServiceVariable */

/** The services that `npm run test:services` needs, by the variable that names each, with the address to expect it at. */
export const SERVICES = {
  TEST_POSTGRES_URL: { name: 'PostgreSQL', standard: 'postgres://postgres@127.0.0.1:5432/test', connect: postgres },
  TEST_MARIADB_URL: { name: 'MariaDB', standard: 'mariadb://root@127.0.0.1:3306/test', connect: mariadb },
  TEST_RABBITMQ_URL: { name: 'RabbitMQ', standard: 'amqp://guest:guest@127.0.0.1:5672', connect: rabbitmq },
  TEST_NATS_URL: { name: 'NATS JetStream', standard: 'nats://127.0.0.1:4222', connect: nats },
};

export const VARIABLES = /** @type {ServiceVariable[]} */ (Object.keys(SERVICES));

const LIMIT_MS = 5_000;

/**
 * Why a service cannot be used, and what to do; `undefined` where it answers. Says nothing of its password.
 * @param {ServiceVariable} variable
 */
export async function unreachable(variable, url = process.env[variable]) {
  const { name, standard, connect } = SERVICES[variable];
  if (!url) return `${variable} is not set. Start ${name}, and set it to its address, as in ${standard}.`;
  try {
    await connect(url);
    return undefined;
  } catch (error) {
    const where = URL.canParse(url) ? new URL(url).host : 'what it holds';
    const reason = codeOf(error) ?? messageOf(error);
    return `${name} cannot be used at ${where} (${reason}). Start it there, or set ${variable}, as in ${standard}.`;
  }
}

/** @param {string} connectionString */
async function postgres(connectionString) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: LIMIT_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => {});
  }
}

/** @param {string} url */
async function mariadb(url) {
  const { createConnection } = await import('mysql2/promise');
  const connection = await createConnection({ uri: url.replace(/^mariadb:/, 'mysql:'), connectTimeout: LIMIT_MS });
  try {
    await connection.query('SELECT 1');
  } finally {
    await connection.end();
  }
}

/** @param {string} url */
async function rabbitmq(url) {
  const { connect } = await import('amqplib');
  const connection = await connect(url, { timeout: LIMIT_MS });
  connection.on('error', () => {});
  await connection.close();
}

/** @param {string} servers */
async function nats(servers) {
  const { connect } = await import('@nats-io/transport-node');
  const { jetstreamManager } = await import('@nats-io/jetstream');
  const connection = await connect({ servers, timeout: LIMIT_MS, reconnect: false });
  try {
    await jetstreamManager(connection);
  } finally {
    await connection.close();
  }
}
