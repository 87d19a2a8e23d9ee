import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLedger } from '../ledger.mjs';
import { groupBy, indexBy } from '../tables.mjs';
import { paymentAcceptance } from './commands.mjs';

/** @import { BillView } from 'nestjs-payment-sandbox' */
/** @import { Ledger } from '../ledger.mjs' */
/** @import { AnyDatabase } from '../connections.mjs' */
/** @import { World as AnyWorld } from '../world.mjs' */

/** @typedef {AnyWorld<AnyDatabase>} World */
/** @typedef {{ lost: BillView[]; named: Named[]; folder: string; problems: string[] }} Recovering */
/** @typedef {{ billId: string; orderId?: string; amount?: string; currency?: string; verified?: boolean }} Named a bill, by the log or by recover */

const UNFINISHED = new Set(['CREATING', 'UNKNOWN']);

/** A postback of a bill that nobody knows waits for its creation first. */
const NOTICED_S = 90;

/**
 * What an operator does when commits were lost: the steps of docs/operations.md ("A restore, or lost commits"), each held
 * against what the sandbox knows. `since`: when the two servers were last level; `promotedAt`:
 * when one was behind; `logs`: of the shops whose log survived.
 * Gives `{ lost, byLog, byPostback, byStatement, gone, problems }`: how many bills each step has found, the ids of those
 * of which nothing is left but the bill itself, unpaid, and what was not as it should be.
 * @param {World} world
 * @param {{ since: number; promotedAt: number; logs: string[]; folder: string }} failed
 */
export async function recoverLostCommits(world, { since, promotedAt, logs, folder }) {
  /** @type {string[]} */
  const problems = [];
  const bills = await world.control.bills();
  const lost = lostBills(bills, await readLedger(world.database));
  if (lost.length === 0) problems.push('no bill was lost: the failover has shown nothing');
  if (!(await showsLostBills(world, lost, promotedAt)))
    problems.push(`health does not show lost-bills within ${NOTICED_S} s`);

  const logged = await importFromLogs(world, { lost, logs, bills, problems });
  const file = path.join(folder, 'bills.jsonl');
  const args = ['--since', new Date(since).toISOString()];
  const { document: report } = await paymentAcceptance(world, 'recover', ...args, '--out', file);
  /** @type {Named[]} */
  const named = report.bills;
  problems.push(...wrongClaims(named, bills, lost));
  await importBills(world, { lost, named, folder, name: 'confirmed', problems });

  const known = [...logged, ...named];
  const gone = await importFromStatement(world, { lost, named: known, folder, problems });
  await restoreOtherOrders(world, gone);
  const again = await paymentAcceptance(world, 'recover', ...args);
  /** @type {Named[]} */
  const namedAgain = again.document.bills;
  const still = namedAgain.filter(({ billId }) => lost.some(({ id }) => id === billId));
  if (still.length > 0) problems.push(`recover still names ${still.length} bills that were imported`);
  const isLost = indexBy(lost, ({ id }) => id);
  const [byLog, byPostback] = [logged, named].map((found) => found.filter(({ billId }) => isLost.has(billId)).length);
  return {
    lost: lost.length,
    byLog: byLog ?? 0,
    byPostback: byPostback ?? 0,
    byStatement: lost.length - (byLog ?? 0) - (byPostback ?? 0) - gone.length,
    gone,
    problems,
  };
}

/**
 * Imports what the surviving logs have, once the orders are restored that a dry run names.
 * @param {World} world
 * @param {{ lost: BillView[]; logs: string[]; bills: BillView[]; problems: string[] }} recovering
 */
async function importFromLogs(world, { lost, logs, bills, problems }) {
  /** @type {Named[]} */
  const found = [];
  for (const log of logs) {
    const dry = await paymentAcceptance(world, 'import', log, '--from-log', '--dry-run');
    /** @type {Named[]} */
    const named = dry.document.bills.map((/** @type {Named} */ bill) => ({ ...bill, verified: true }));
    problems.push(...wrongClaims(named, bills, lost, await unknownOutcomes(world)));
    const names = new Set(named.map(({ billId }) => billId));
    await restoreOrders(
      world,
      lost.filter(({ id }) => names.has(id)),
    );
    const { document } = await paymentAcceptance(world, 'import', log, '--from-log');
    const refused = document.refused.length;
    if (document.imported < named.length)
      problems.push(`of ${named.length} bills in a log ${document.imported} were imported`);
    if (refused > 0)
      problems.push(`${refused} lines of a log were refused: ${JSON.stringify(document.refused.slice(0, 3))}`);
    found.push(...named);
  }
  return found;
}

/**
 * Bills that the service has, and of which nothing is on record: neither the bill nor its intent.
 * @param {BillView[]} bills
 * @param {Ledger} ledger
 */
function lostBills(bills, ledger) {
  const known = new Set(ledger.bills.flatMap(({ id, billId }) => [id, billId]));
  return bills.filter(({ id, custom }) => !known.has(id) && !known.has(custom));
}

/**
 * Postbacks that were acknowledged before are as lost as the bills.
 * @param {World} world
 * @param {BillView[]} lost
 * @param {number} promotedAt
 */
async function showsLostBills(world, lost, promotedAt) {
  /** @param {BillView['callbacks'][number]['tries'][number]} answer */
  const told = ({ status, at }) => status === 200 && Date.parse(at) > promotedAt;
  const heardOf = lost.filter(({ callbacks }) => callbacks.some(({ tries }) => tries.some(told)));
  if (heardOf.length === 0) return true; // there is nothing to go by
  for (const end = Date.now() + NOTICED_S * 1000; Date.now() < end; await sleep(1_000)) {
    const { document } = await paymentAcceptance(world, 'status');
    if (JSON.stringify(document).includes('"lost-bills"')) return true;
  }
  return false;
}

/**
 * What `recover` says by its own record is so; what it only heard of it leaves to a person.
 * @param {Named[]} named
 * @param {BillView[]} bills
 * @param {BillView[]} lost
 */
function wrongClaims(named, bills, lost, unfinished = new Set()) {
  const real = indexBy(bills, ({ id }) => id);
  const missing = new Set(lost.map(({ id }) => id));
  return named.flatMap(({ billId, orderId, amount, currency, verified }) => {
    const bill = real.get(billId);
    if (!bill) return verified ? [`recover vouches for bill ${billId}, which the service has not`] : [];
    const right = bill.orderId === orderId && bill.amount === amount && bill.currency === currency;
    return [
      ...(verified && !right ? [`recover vouches for a wrong order or amount of bill ${billId}`] : []),
      ...(missing.has(billId) || unfinished.has(billId) ? [] : [`recover names bill ${billId}, which is on record`]),
    ];
  });
}

/**
 * A person has looked up what was not vouched for, removed what is not at the service, and restored the orders.
 * @param {World} world
 * @param {Recovering & { name: string }} recovering
 */
async function importBills(world, { lost, named, folder, name, problems }) {
  const names = new Set(named.map(({ billId }) => billId));
  const confirmed = lost.filter(({ id }) => names.has(id));
  const file = path.join(folder, `${name}.jsonl`);
  fs.writeFileSync(file, confirmed.map((bill) => `${JSON.stringify(toImport(bill))}\n`).join(''));
  await restoreOrders(world, confirmed);
  const { document } = await paymentAcceptance(world, 'import', file);
  if (document.imported !== confirmed.length) {
    problems.push(
      `of ${confirmed.length} bills ${document.imported} were imported: ${JSON.stringify(document.refused)}`,
    );
  }
}

/**
 * The order from the shop's own books. It is there already where its row was committed, and its bill's was not.
 * @param {World} world
 * @param {BillView[]} bills
 */
async function restoreOrders({ database }, bills) {
  await database.query(async (client) => {
    for (const { orderId, shopId, amount, currency } of bills) {
      const [there] = await client.query('SELECT 1 FROM shop_order WHERE id = $1', [orderId]);
      if (there) continue;
      await client.query(
        `INSERT INTO shop_order (id, shop, amount, currency, description, status)
          VALUES ($1, $2, $3, $4, 'Restored', 'pending')`,
        [orderId, shopOf(shopId), amount, currency],
      );
    }
  });
}

/**
 * A creation that was under way stores its bill once more, and the commit of its order may be lost all the same.
 * @param {World} world
 * @param {string[]} gone
 */
async function restoreOtherOrders(world, gone) {
  const bills = await world.control.bills();
  await restoreOrders(
    world,
    bills.filter(({ id }) => !gone.includes(id)),
  );
  await paymentAcceptance(world, 'replay', '--all');
}

/** @param {BillView} bill */
function toImport({ id, shopId, orderId, amount, currency, createdAt, custom, payerPaysCommission }) {
  return {
    shop: shopOf(shopId),
    orderId,
    billId: id,
    amount,
    currency,
    createdAt: new Date(createdAt).toISOString(),
    payerPaysCommission,
    ...(custom !== null && { custom }),
  };
}

/**
 * Exports the account's payments and holds them against the ledger: what is left is shown so, or not at all. Gives the ids
 * of the bills that are not, since nobody paid them.
 * @param {World} world
 * @param {Recovering} recovering
 */
async function importFromStatement(world, { lost, named, folder, problems }) {
  const bills = await world.control.bills();
  const names = new Set(named.map(({ billId }) => billId));
  const left = bills.filter(({ id }) => lost.some((bill) => bill.id === id) && !names.has(id));
  /** @type {Set<string>} */
  const shown = new Set();
  for (const [shopId, ofShop] of groupBy(bills, (bill) => bill.shopId)) {
    const file = path.join(folder, `statement-${shopId}.csv`);
    const header = 'payment_id,bill_id,status,amount,currency,created_at\n';
    fs.writeFileSync(file, [header, ...ofShop.flatMap(statementLines)].join(''));
    const { document } = await paymentAcceptance(world, 'reconcile', '--against', file, '--shop', shopOf(shopId));
    for (const { billId, differences } of document.rows) {
      if (differences.includes('unknown-bill')) shown.add(billId);
    }
  }
  const paid = left.filter(({ payments }) => payments.length > 0);
  const missing = paid.filter(({ id }) => !shown.has(id));
  problems.push(...missing.map(({ id }) => `neither recover nor the statement shows bill ${id}, which has payments`));
  const unknown = await unknownOutcomes(world);
  const untrue = [...shown].filter((id) => !paid.some((bill) => bill.id === id) && !unknown.has(id));
  problems.push(...untrue.map((id) => `the statement calls bill ${id} unknown, and it is not`));
  await importBills(world, {
    lost: paid,
    named: paid.map(({ id }) => ({ billId: id })),
    folder,
    name: 'from-statement',
    problems,
  });
  return left.filter(({ payments }) => payments.length === 0).map(({ id }) => id);
}

/**
 * Bills whose creation is an unknown outcome on record, or will be when its lease has run out: the commit that opened it is
 * lost, that of its intent is not. An import of the log attaches them, else a person does; until then nobody here knows them.
 * @param {World} world
 */
export async function unknownOutcomes({ control, database }) {
  const { bills: intents } = await readLedger(database);
  const known = new Set(intents.map(({ billId }) => billId));
  const made = new Set(intents.filter(({ state }) => UNFINISHED.has(state)).map(({ id }) => id));
  const bills = (await control.bills()).filter(({ id, custom }) => !known.has(id) && made.has(custom ?? ''));
  return new Set(bills.map(({ id }) => id));
}

/** @param {BillView} bill */
function statementLines({ id, payments }) {
  return payments.map((payment) => {
    const { status, amount, currency, createdAt } = payment;
    return `${[payment.id, id, status, amount, currency, new Date(createdAt).toISOString()].join(',')}\n`;
  });
}

/** @param {string} shopId */
function shopOf(shopId) {
  return shopId === 'demo-eu' ? 'eu' : 'main';
}
