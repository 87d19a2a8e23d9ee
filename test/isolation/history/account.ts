import { CONSUMERS, type History, type Tables } from './history.js';

const EVENT_OF = { SUCCESS: 'payment.succeeded', FAIL: 'payment.failed' } as const;

/** Contradictions between the tables and what has been observed; none if everything is right. */
export function violations(history: History, tables: Tables): string[] {
  return [
    ...ofBills(history, tables),
    ...ofPayments(history, tables),
    ...ofEvents(history, tables),
    ...ofEffects(history, tables),
    ...ofCallbacks(history, tables),
    ...ofActions(history, tables),
  ];
}

function* ofBills(history: History, { bills }: Tables): Iterable<string> {
  for (const { shop, orderId, billId } of history.of('bill')) {
    const known = bills.some((bill) => bill.shop === shop && bill.orderId === orderId && bill.billId === billId);
    if (!known) yield `Bill ${billId} was given for ${orderId} and is not on record.`;
  }
  for (const { shop, orderId } of history.of('order')) {
    const made = history.of('bill').some((bill) => bill.shop === shop && bill.orderId === orderId);
    if (!made) yield `No bill for ${orderId} came about.`;
  }
}

function* ofPayments(history: History, { events, reviews }: Tables): Iterable<string> {
  const payments = history.of('payment');
  for (const { paymentId, billId, status } of payments) {
    const told = events.filter((event) => event.paymentId === paymentId && event.name === EVENT_OF[status]);
    const own = reviews.filter((review) => review.billId === billId && review.paymentId === paymentId);
    // What an operator has dismissed is held against the record of that.
    const reviewed = status === 'SUCCESS' && own.some(({ state }) => state === 'OPEN' || state === 'DISMISSED');
    if (told.length > 1) yield `${status} ${paymentId} has ${told.length} events.`;
    if (told.length === 0 && !reviewed)
      yield `${status} ${paymentId} has no event${status === 'SUCCESS' ? ' and no review' : ''}.`;
  }
}

function* ofEvents(history: History, { events, bills }: Tables): Iterable<string> {
  const payments = history.of('payment');
  for (const { id, name, billId, paymentId } of events) {
    if (name !== EVENT_OF.SUCCESS && name !== EVENT_OF.FAIL) continue;
    const paid = payments.some(
      (payment) => payment.paymentId === paymentId && payment.billId === billId && EVENT_OF[payment.status] === name,
    );
    if (!paid) yield `${name} ${id} has no payment.`;
    if (!bills.some((bill) => bill.billId === billId)) yield `${name} ${id} has no bill.`;
  }
  for (const { application, shop, eventId } of history.of('handed')) {
    if (!events.some(({ id }) => id === eventId)) yield `Event ${eventId} was handed over and is not there.`;
    if (!application.split('+').includes(shop)) yield `Event ${eventId} of ${shop} reached ${application}.`;
  }
}

function* ofEffects(history: History, { events, effects }: Tables): Iterable<string> {
  const due = events.filter(({ name }) => name === EVENT_OF.SUCCESS || name === EVENT_OF.FAIL);
  for (const consumer of CONSUMERS) {
    const own = effects.filter((effect) => effect.consumer === consumer);
    for (const { id } of due) {
      const count = own.filter(({ eventId }) => eventId === id).length;
      if (count !== 1) yield `Event ${id} has ${count} effects of ${consumer}.`;
    }
    for (const { eventId } of own) {
      if (!due.some(({ id }) => id === eventId)) yield `An effect of ${consumer} has no event ${eventId}.`;
    }
  }
  const worked = new Set<string>();
  for (const { eventId, now } of history.of('processed')) {
    if (now && worked.has(eventId)) yield `processOnce has worked twice for ${eventId}.`;
    if (now) worked.add(eventId);
  }
}

function* ofCallbacks(history: History, { callbacks }: Tables): Iterable<string> {
  const key = (callback: { readonly billId: string | null; readonly mark: string | null }): string =>
    `${callback.mark ?? 'of the service'} for ${callback.billId ?? '-'}`;
  const acknowledged = history.of('acknowledged').map(key);
  const stored = callbacks.map(key);
  for (const each of new Set(acknowledged)) {
    const [said, are] = [acknowledged, stored].map((list) => list.filter((one) => one === each).length) as [
      number,
      number,
    ];
    if (are < said) yield `Postbacks ${each}: ${said} acknowledged, ${are} stored.`;
  }
}

/** An action has its record and its consequence, both once, or neither. */
function* ofActions(history: History, { actions, reviews, events, deliveries }: Tables): Iterable<string> {
  const taken = history.of('action');
  for (const { note, outcome } of taken) {
    const records = actions.filter((record) => record.note === note).length;
    const right = { done: records === 1, refused: records === 0, unknown: records <= 1 }[outcome];
    if (!right) yield `Action ${note} was ${outcome}, and has ${records} records.`;
  }
  for (const { note } of actions) if (!taken.some((action) => action.note === note)) yield `Nobody has done ${note}.`;
  const recorded = (action: string, target: string) =>
    actions.filter((record) => record.action === action && record.target === target);
  for (const { id, state, paymentId } of reviews) {
    for (const [action, decided] of [
      ['accept-review', 'ACCEPTED'],
      ['dismiss-review', 'DISMISSED'],
    ] as const) {
      const records = recorded(action, id).length;
      if (records !== (state === decided ? 1 : 0))
        yield `Review ${id} is ${state} with ${records} records of ${action}.`;
    }
    const told = events.some((event) => event.paymentId === paymentId && event.name === EVENT_OF.SUCCESS);
    if (state === 'ACCEPTED' && !told) yield `Review ${id} was accepted, and its payment has no event.`;
  }
  for (const { id, replays } of deliveries) {
    const idle = taken.filter(({ target, changed }) => target === id && changed === 0).length;
    const records = recorded('replay', id).length - idle;
    if (records !== replays) yield `Delivery ${id} was replayed ${replays} times, with ${records} records.`;
  }
}
