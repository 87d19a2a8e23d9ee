import { until } from '../../support/until.js';
import { CARDS, type World } from './world.js';

/** Payments in each of the previous hours. */
const HOURS = [2, 3, 2, 4, 5, 4, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0, 1, 1, 2, 3];
const EVERY_FAILED = 6;

/** Real payments, then moved back over the last day, some of them settled later than others: for the charts. */
export async function aDay({ harness, sandbox }: World): Promise<void> {
  const hours = HOURS.flatMap((count, hour) => Array.from({ length: count }, () => hour));
  const orders = await Promise.all(
    hours.map(async (hour, index) => {
      const { id, billId } = await harness.buy({ amount: `${390 + 10 * index}.00`, description: 'Coffee beans' });
      await sandbox.pay(billId, { card: index % EVERY_FAILED === 4 ? CARDS.bad : CARDS.good });
      return { id, hour, delay: index % 5 === 0 ? 9 : index % 11 === 0 ? 150 : 0 };
    }),
  );
  await until(
    () => harness.ledger(),
    ({ events }) => orders.every(({ id }) => events.some(({ orderId }) => orderId === id)),
  );
  const moved = orders.map(({ id, hour, delay }) => `('${id}', ${hour * 3600}, ${delay})`).join(', ');
  await harness.database(`WITH moved (id, seconds, delay) AS (VALUES ${moved}),
      paid AS (UPDATE payment_acceptance.payment p
        SET service_created_at = to_char(p.service_created_at::timestamp - make_interval(secs => seconds + delay), 'YYYY-MM-DD HH24:MI:SS')
        FROM moved JOIN payment_acceptance.bill b ON b.order_id = moved.id WHERE b.intent_id = p.intent_id)
    UPDATE payment_acceptance.event e SET occurred_at = e.occurred_at - make_interval(secs => seconds)
    FROM moved JOIN payment_acceptance.bill b ON b.order_id = moved.id WHERE b.intent_id = e.intent_id`);
}
