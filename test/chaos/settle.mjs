import { setTimeout as sleep } from 'node:timers/promises';
import { account } from './account.mjs';
import { lastFaults } from './faults.mjs';
import { readLedger } from './ledger.mjs';

/** @import { BillView } from 'nestjs-payment-sandbox' */
/** @import { Seen } from './account.mjs' */
/** @import { AnyDatabase } from './connections.mjs' */
/** @import { Ledger } from './ledger.mjs' */
/** @import { SeededRandom } from './random.mjs' */
/** @import { World } from './world.mjs' */

/** @typedef {Awaited<ReturnType<typeof settledAccount>>} Account */

const HEALTHY_S = 60;
const SETTLED_S = 120;

const CHECK_NOW = `UPDATE payment_acceptance.bill SET next_check_at = least(next_check_at, current_timestamp(6))
  WHERE bill_id = $1 AND next_check_at IS NOT NULL`;

/**
 * Ends the trouble: no faults, everything up, the payments that still run completed.
 * @param {World<AnyDatabase>} world
 * @param {{ dropAll: boolean }} options
 * @param {SeededRandom} random
 */
export async function heal({ database, sandbox, control, shops }, { dropAll }, random) {
  await database.becomesReady(HEALTHY_S);
  await Promise.all([sandbox, ...shops].map((server) => server.becomesReady(HEALTHY_S)));
  await control.setFaults(lastFaults(dropAll));
  await control.pointTo(random.pick(shops).url);
  for (const { id, status } of (await control.bills()).flatMap(({ payments }) => payments)) {
    if (status !== 'NEW' && status !== 'PROCESS') continue;
    await control.try('POST', `payments/${id}/complete`, { outcome: random.pick(['success', 'fail']) });
  }
}

/**
 * The account of all that buyers have seen, once nothing is under way any more; without the bills of `gone`, of which
 * nothing can be known here.
 * @param {World<AnyDatabase>} world
 * @param {{ seen: Seen }} buyers
 * @param {Set<string>} [gone]
 */
export async function settledAccount(world, { seen }, gone = new Set()) {
  const { bills, waiting, seconds } = await settle(world);
  const ledger = await readLedger(world.database);
  const knowable = {
    bills: bills.filter(({ id }) => !gone.has(id)),
    seen: { ...seen, orders: seen.orders.filter(({ billId }) => !gone.has(billId)) },
  };
  return { ...account({ ...knowable, ledger }), ledger, waiting, seconds };
}

/**
 * Waits until nothing is under way any more, for as long as the slowest retry may take: what is then missing, is lost.
 * @param {World<AnyDatabase>} world
 */
async function settle({ database, control }) {
  const bills = await control.bills();
  const start = Date.now();
  await passHours(database, bills);
  for (;;) {
    const waiting = unsettled(bills, await readLedger(database));
    const seconds = (Date.now() - start) / 1000;
    if (seconds > SETTLED_S || Object.values(waiting).every((count) => count === 0)) return { bills, waiting, seconds };
    await sleep(500);
  }
}

/**
 * Sends everything again that the service would still send in the days to come, and some of what it has sent before:
 * nothing may come of it.
 * @param {World<AnyDatabase>} world
 * @param {SeededRandom} random
 */
export async function repeatCallbacks({ control }, random) {
  await control.insist('POST', 'clock', { advance: '2d' }, 60_000);
  const callbacks = (await control.bills()).flatMap((bill) => bill.callbacks);
  for (let copies = Math.min(300, callbacks.length); copies > 0; copies--) {
    await control.try('POST', `callbacks/${random.pick(callbacks).id}/replay`, {});
  }
  await control.insist('POST', 'clock', { advance: '1s' }, 60_000);
}

/**
 * A bill that is paid is looked at every few hours. A second payment of it, whose postback was dropped or found nobody, is
 * found then: for these bills those hours pass now. One that is not to be looked at again stays so.
 * @param {AnyDatabase} database
 * @param {BillView[]} bills
 */
async function passHours(database, bills) {
  const ledger = await readLedger(database);
  const paid = new Set(ledger.bills.filter(({ state }) => state === 'PAID').map(({ billId }) => billId));
  const waiting = unrecorded(bills, ledger).filter(({ billId }) => paid.has(billId));
  const ids = [...new Set(waiting.map(({ billId }) => billId))];
  if (ids.length === 0) return;
  console.log(`Further payments that no postback has told of yet: hours pass for ${ids.length} paid bills.`);
  await database.query(async (client) => {
    for (const id of ids) await client.query(CHECK_NOW, [id]);
  });
}

/**
 * Payments of known bills that are not on record as they are.
 * @param {BillView[]} bills
 * @param {Ledger} ledger
 */
function unrecorded(bills, ledger) {
  const known = new Set(ledger.bills.map(({ billId }) => billId));
  const recorded = new Map(ledger.payments.map(({ id, status }) => [id, status]));
  return bills
    .filter(({ id }) => known.has(id))
    .flatMap(({ id: billId, payments }) => payments.map(({ id, status }) => ({ billId, id, status })))
    .filter(({ id, status }) => recorded.get(id) !== status);
}

/**
 * @param {BillView[]} bills
 * @param {Ledger} ledger
 */
function unsettled(bills, ledger) {
  return {
    payments: unrecorded(bills, ledger).length,
    creations: ledger.bills.filter(({ state }) => state === 'CREATING').length,
    deliveries: ledger.deliveries.filter(({ state }) => state === 'PENDING').length,
    hints: ledger.callbacks.filter(({ pending, matched }) => pending && matched).length,
  };
}
