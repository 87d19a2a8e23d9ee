import { until } from '../../support/until.js';
import type { World } from './world.js';

export interface Trouble {
  /** The shop's order. */
  readonly order: string;
  /** Our own id of its bill: the console's address of it. */
  readonly intent: string;
  /** The service's id of the bill. */
  readonly bill: string;
}

/** A payment of less than the bill: an open review. */
export async function underpaid({ harness, sandbox }: World, amount = '1890.00', paid = '1800.00'): Promise<Trouble> {
  const { id, billId } = await harness.buy({ amount, description: 'Coffee beans' });
  await sandbox.pay(billId, { amount: paid });
  await until(
    () => harness.ledger(),
    ({ reviews }) => reviews.some(({ orderId, state }) => orderId === id && state === 'OPEN'),
  );
  return { order: id, intent: await intentOf(harness, id), bill: billId };
}

/**
 * A paid order whose handler throws, since the order's table refuses what it writes: until the event is given up, or for
 * the first time. All tries but the last are taken for made, so that nobody waits for their pauses. `mend()` removes the
 * cause.
 */
export async function refusedByHandler(
  { harness, sandbox }: World,
  end: 'given up' | 'tried' = 'given up',
): Promise<Trouble & { mend(): Promise<unknown> }> {
  const { id, billId } = await harness.buy({ amount: '640.00', description: 'Cup' });
  const intent = await intentOf(harness, id);
  const rule = `refused_${id.replaceAll('-', '')}`;
  await harness.database(`ALTER TABLE shop_order_event ADD CONSTRAINT ${rule} CHECK (order_id <> '${id}')`);
  await sandbox.pay(billId);
  await until(
    () =>
      harness.database(
        `SELECT 1 FROM payment_acceptance.delivery WHERE intent_id = '${intent}' AND last_error IS NOT NULL`,
      ),
    ({ length }) => length === 1,
  );
  if (end === 'given up') {
    await harness.database(
      `UPDATE payment_acceptance.delivery SET attempts = 59, due_at = now() WHERE intent_id = '${intent}'`,
    );
    await until(
      () => harness.ledger(),
      ({ events }) => events.some(({ orderId, deliveries }) => orderId === id && deliveries[0]?.state === 'DEAD'),
    );
  }
  return {
    order: id,
    intent,
    bill: billId,
    mend: () => harness.database(`ALTER TABLE shop_order_event DROP CONSTRAINT ${rule}`),
  };
}

/** A creation whose answer is lost: the service has made the bill, and the shop cannot know. */
export async function lostAnswer({ harness, sandbox, shopUrl }: World): Promise<Trouble> {
  await sandbox.setFaults({ requests: { loseAnswer: { operation: 'create' } } });
  const answer = await fetch(`${shopUrl}/api/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '5290.00', description: 'Gooseneck kettle' }),
  });
  await sandbox.clearFaults();
  if (answer.status !== 502) throw new Error(`The answer was not lost: ${answer.status} ${await answer.text()}`);
  await answer.body?.cancel();
  const { id: bill, orderId: order } = sandbox.bills().at(-1)!;
  return { order, intent: await intentOf(harness, order), bill };
}

async function intentOf(harness: World['harness'], orderId: string): Promise<string> {
  const { bills } = await harness.ledger();
  return bills.find((bill) => bill.orderId === orderId)!.intentId;
}
