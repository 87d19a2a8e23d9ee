import { figures } from './figures.mjs';
import { countBy, groupBy, indexBy, minor } from './tables.mjs';

/** @import { Ledger } from './ledger.mjs' */

/**
 * What the service knows of a bill.
 * @typedef {object} KnownBill
 * @property {string} id
 * @property {string} orderId
 * @property {string} amount
 * @property {string} currency
 * @property {string | null} custom
 * @property {KnownPayment[]} payments
 * @property {{ fields: Record<string, string>; tries: { status: number | null }[] }[]} callbacks
 */
/** @typedef {{ id: string; status: string; amount: string; currency: string }} KnownPayment */
/** @typedef {KnownPayment & { bill: KnownBill }} Payment */

/**
 * What buyers, and those who send callbacks of their own, were told.
 * @typedef {object} Seen
 * @property {{ id: string; billId: string; shop?: string }[]} orders with the address of the shop that took each
 * @property {{ trsId: string; status: string; outSum: string }[]} postbacks
 * @property {{ kind: string; orderId: string | undefined }[]} redirects
 */

/** @typedef {{ bills: KnownBill[]; seen: Seen; ledger: Ledger }} Accounted */
/** @typedef {Map<string | null, Ledger['bills'][number]>} Recorded bills, by an id of theirs */
/** @typedef {{ bills: number; leftBehind: number; payments: number }} Unknown bills, of which only the intent is on record */

/**
 * Holds what the service knows (`bills`) and what buyers were told (`seen`) against what the module and the shop have
 * recorded (`ledger`). Pure. Gives figures for the table, and every loss and double as a sentence; `unstored` are those of
 * the losses that are callbacks.
 * @param {Accounted} accounted
 */
export function account({ bills, seen, ledger }) {
  /** @type {string[]} */
  const lost = [];
  /** @type {string[]} */
  const double = [];
  const known = indexBy(ledger.bills, ({ billId }) => billId);
  const intents = indexBy(ledger.bills, ({ id }) => id);
  const mine = bills.filter(({ id }) => known.has(id));
  const payments = mine.flatMap((bill) => bill.payments.map((payment) => ({ ...payment, bill })));

  payments.forEach(checkPayment(ledger, lost, double));
  checkFactsHaveCauses(payments, ledger, double);
  checkOrders(payments, known, ledger, lost, double);
  checkDeliveries(ledger, lost);
  const unknown = checkUnknown(bills, known, intents, ledger, lost);
  /** @type {string[]} */
  const unstored = [];
  const acknowledged = checkAcknowledged(bills, seen, ledger, unstored);
  lost.push(...unstored);
  checkPromisedOrders(seen, known, ledger, lost);
  for (const row of ledger.bills) {
    if (row.billId !== null && !bills.some(({ id }) => id === row.billId)) {
      double.push(`bill ${row.billId} of order ${row.orderId} is on record, and the service has none such`);
    }
    if (row.state === 'CREATING') lost.push(`bill ${row.id} of order ${row.orderId} is being created for ever`);
  }
  return { lost, double, unstored, figures: figures({ bills, payments, ledger, unknown, acknowledged }) };
}

/**
 * Exactly one event, or a review; and exactly one effect for each event.
 * @param {Ledger} ledger
 * @param {string[]} lost
 * @param {string[]} double
 * @returns {(payment: Payment) => void}
 */
function checkPayment(ledger, lost, double) {
  const events = groupBy(ledger.events, ({ name, paymentId }) => `${name} ${paymentId}`);
  const effects = groupBy(ledger.effects, ({ name, paymentId }) => `${name} ${paymentId}`);
  const reviews = groupBy(ledger.reviews, ({ paymentId }) => paymentId);
  return (payment) => {
    const { id, status, bill } = payment;
    if (status !== 'SUCCESS' && status !== 'FAIL') return;
    const name = status === 'SUCCESS' ? 'payment.succeeded' : 'payment.failed';
    const what = `${status} payment ${id} of ${payment.amount} ${payment.currency} (bill ${bill.id} of ${bill.amount} ${bill.currency}, order ${bill.orderId})`;
    const told = events.get(`${name} ${id}`) ?? [];
    const done = effects.get(`${name} ${id}`) ?? [];
    const reasons = (reviews.get(id) ?? []).map(({ reason }) => reason);

    if (told.length > 1) double.push(`${what} has ${told.length} events ${name}`);
    if (done.length > 1) double.push(`${what} has ${done.length} effects on its order`);
    if (new Set(reasons).size < reasons.length) double.push(`${what} has reviews twice: ${reasons.join(', ')}`);
    if (told.length === 1 && done.length === 0) lost.push(`${what} has its event, but no effect on its order`);
    if (told.length === 0 && fits(payment)) lost.push(`${what} has no event ${name}`);
    if (told.length === 0 && !fits(payment) && reasons.length === 0) lost.push(`${what} has neither event nor review`);
    if (told.length > 0 && !fits(payment)) double.push(`${what} does not fit its bill, and has an event ${name}`);
  };
}

/**
 * Whether the payment ends in an event: every failure does, and what pays the bill.
 * @param {Payment} payment
 */
function fits({ status, amount, currency, bill }) {
  return status === 'FAIL' || (currency === bill.currency && minor(amount) >= minor(bill.amount));
}

/**
 * No event and no effect without a payment at the service that says the same.
 * @param {Payment[]} payments
 * @param {Ledger} ledger
 * @param {string[]} double
 */
function checkFactsHaveCauses(payments, ledger, double) {
  const real = indexBy(payments, ({ id }) => id);
  /** @type {Record<string, string[]>} */
  const statuses = { 'payment.succeeded': ['SUCCESS'], 'payment.failed': ['FAIL', 'SUCCESS'] };
  for (const kind of /** @type {const} */ (['events', 'effects'])) {
    for (const { name, paymentId, orderId } of ledger[kind]) {
      const payment = real.get(paymentId);
      const right = statuses[name];
      if (!right || (payment && right.includes(payment.status) && payment.bill.orderId === orderId)) continue;
      double.push(
        `order ${orderId} has ${name} of payment ${paymentId} among its ${kind}, which the service calls ${payment?.status ?? 'nothing'}`,
      );
    }
  }
}

/**
 * An order is paid if, and only if, a payment fits it.
 * @param {Payment[]} payments
 * @param {Recorded} known
 * @param {Ledger} ledger
 * @param {string[]} lost
 * @param {string[]} double
 */
function checkOrders(payments, known, ledger, lost, double) {
  const paid = new Set(
    payments.filter((each) => each.status === 'SUCCESS' && fits(each)).map(({ bill }) => known.get(bill.id)?.orderId),
  );
  for (const { id, status } of ledger.orders) {
    if (status === 'paid' && !paid.has(id)) double.push(`order ${id} is paid, without a SUCCESS payment`);
    if (status !== 'paid' && paid.has(id)) lost.push(`order ${id} is ${status}, and was paid for`);
  }
}

/**
 * @param {Ledger} ledger
 * @param {string[]} lost
 */
function checkDeliveries(ledger, lost) {
  for (const { id, name, state, attempts, error } of ledger.deliveries) {
    if (state !== 'DONE') lost.push(`delivery ${id} of ${name} is ${state} after ${attempts} attempts: ${error}`);
  }
}

/**
 * A bill that the shop does not know must be visible as an unknown outcome: its intent's id is the bill's `custom`.
 * @param {KnownBill[]} bills
 * @param {Recorded} known
 * @param {Recorded} intents
 * @param {Ledger} ledger
 * @param {string[]} lost
 */
function checkUnknown(bills, known, intents, ledger, lost) {
  const unknown = { bills: 0, leftBehind: 0, payments: 0 };
  /** @type {Map<string, number>} */
  const latest = new Map();
  for (const { orderId, attempt } of ledger.bills) latest.set(orderId, Math.max(attempt, latest.get(orderId) ?? 0));
  for (const bill of bills.filter(({ id }) => !known.has(id))) {
    const intent = intents.get(bill.custom);
    if (intent?.state !== 'UNKNOWN') {
      lost.push(
        `bill ${bill.id} (order ${bill.orderId}) was made, and its intent ${bill.custom} is ${intent?.state ?? 'not on record'}`,
      );
      continue;
    }
    unknown.bills += 1;
    unknown.payments += bill.payments.length;
    if (intent.attempt < (latest.get(intent.orderId) ?? 0)) unknown.leftBehind += 1;
  }
  return unknown;
}

/**
 * What was answered with 200, or with the way to the result page, is on record as often.
 * @param {KnownBill[]} bills
 * @param {Seen} seen
 * @param {Ledger} ledger
 * @param {string[]} lost
 */
function checkAcknowledged(bills, seen, ledger, lost) {
  /** @param {Partial<Record<'trsId' | 'status' | 'outSum', string | null>>} postback */
  const key = ({ trsId, status, outSum }) => `${trsId} ${status} ${outSum}`;
  const answered = bills.flatMap(({ callbacks }) =>
    callbacks.flatMap(({ fields: { TrsId, Status, OutSum }, tries }) =>
      tries.filter((each) => each.status === 200).map(() => ({ trsId: TrsId, status: Status, outSum: OutSum })),
    ),
  );
  const postbacks = [...answered, ...seen.postbacks];
  const stored = countBy(
    ledger.callbacks.filter(({ kind }) => kind === 'postback'),
    key,
  );
  for (const [name, times] of countBy(postbacks, key)) {
    if ((stored.get(name) ?? 0) < times)
      lost.push(`postback ${name}: acknowledged ${times} times, stored ${stored.get(name) ?? 0} times`);
  }
  /** @param {{ kind: string; orderId: string | null | undefined }} redirect */
  const redirectKey = ({ kind, orderId }) => `${kind} ${orderId}`;
  const arrived = countBy(ledger.callbacks, redirectKey);
  for (const [name, times] of countBy(seen.redirects, redirectKey)) {
    if ((arrived.get(name) ?? 0) < times)
      lost.push(`${name}: acknowledged ${times} times, stored ${arrived.get(name) ?? 0} times`);
  }
  return { postbacks: postbacks.length, redirects: seen.redirects.length };
}

/**
 * An order whose bill the buyer was given is on record with that bill.
 * @param {Seen} seen
 * @param {Recorded} known
 * @param {Ledger} ledger
 * @param {string[]} lost
 */
function checkPromisedOrders(seen, known, ledger, lost) {
  const orders = indexBy(ledger.orders, ({ id }) => id);
  for (const { id, billId } of seen.orders) {
    if (!orders.has(id)) lost.push(`order ${id} was answered to the buyer, and is not on record`);
    else if (known.get(billId)?.orderId !== id)
      lost.push(`bill ${billId} was answered to the buyer of order ${id}, and is not on record`);
  }
}
