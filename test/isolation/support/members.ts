import { PaymentMicroservicesModule } from 'nestjs-payment-acceptance/microservices';
import type { PaymentDegradation } from 'nestjs-payment-acceptance/operations';
import { Observable } from 'rxjs';
import { WHOLE_FORM } from '../../support/forms.js';
import { postbackFields, postJson } from '../../support/http.js';
import { until } from '../../support/until.js';
import type { Neighbours, World } from './world.js';

/** Lets the sick member recover. */
type Recovery = () => Promise<void> | void;

/** A member that may be sick, among healthy ones. */
export interface Member {
  readonly dimension: string;
  readonly name: string;
  /** Its healthy neighbours, and how they are measured: at other rates only where each order is more than one event. */
  neighbours?(): Neighbours;
  readonly everyMs?: number;
  readonly eventsPerOrder?: number;
  /** @param size how many sick members: few in a short run */
  sicken(world: World, size: number): Promise<Recovery>;
  /** Whether the short form leaves it out: it is much like another one of its dimension. */
  readonly onlyWhole?: boolean;
  /** What health reports within ten minutes; nothing if the situation harms nobody. */
  readonly degraded: readonly PaymentDegradation[];
}

const HEALTHY = WHOLE_FORM ? 100 : 20;

/** Orders of the sick one, paid. */
async function paid(world: World, count: number, shop?: string): Promise<void> {
  for (let left = count; left > 0; left -= 1) await world.harness.sandbox.pay(await world.bill(shop));
}

/** Orders of a consumer that takes all the places it can get. */
const MORE_THAN_SLOTS = 5;

/** How long a slow statement takes, in seconds. */
const SLOW_S = WHOLE_FORM ? 5 : 1;

/** Repeats the work sequentially until the test stops it. */
function repeatedly(step: () => Promise<unknown>): () => Promise<void> {
  const over = new AbortController();
  const ended = (async () => {
    while (!over.signal.aborted) await step();
  })();
  return () => {
    over.abort();
    return ended;
  };
}

const refusals: [string, number, string, boolean][] = [
  ['401', 401, '{"message":"Unauthenticated."}', false],
  ['"merchant_banned"', 403, '{"message":"api:error.merchant_banned"}', true],
];

export const members: readonly Member[] = [
  ...refusals.map(([name, status, body, onlyWhole]): Member => ({
    onlyWhole,
    dimension: 'bill',
    name: `for which the service answers ${name}`,
    async sicken(world) {
      const billId = await world.bill();
      world.service.answer(billId, { status, body });
      await world.harness.sandbox.pay(billId);
      return () => world.service.answer(billId, undefined);
    },
    degraded: ['checks-failing'],
  })),
  {
    dimension: 'bill',
    name: 'that 20,000 cards are tried on',
    onlyWhole: true,
    async sicken(world, size) {
      const billId = await world.bill();
      const data = Array.from({ length: 200 * size }, (_, index) => ({
        ...{ id: `tried-${index}`, bill_id: billId, status: 'FAIL', amount: '10.00', from_card: '411111******1111' },
        ...{ currency_in: 'RUB', created_at: '2026-01-01 10:00:00' },
      }));
      world.service.answer(billId, { status: 200, body: JSON.stringify({ success: true, data }) });
      const fields = postbackFields({ InvId: 'tried', OutSum: '10.00', TrsId: billId, Status: 'FAIL' });
      const stop = repeatedly(() => postJson(`${world.host.url}/postback/payment`, fields));
      return async () => {
        await stop();
        world.service.answer(billId, undefined);
      };
    },
    degraded: [],
  },
  // The first is passed over when bills are claimed, the second is met when they are settled.
  ...[
    { row: 'row', table: 'bill', where: 'bill_id = $1', onlyWhole: true },
    {
      row: "order's row",
      table: 'shop_order',
      where: 'order_id = (SELECT order_id FROM payment_acceptance.bill WHERE bill_id = $1)',
      onlyWhole: false,
    },
  ].map(({ row, table, where, onlyWhole }): Member => ({
    dimension: 'bill',
    name: `whose ${row} somebody keeps locked`,
    onlyWhole,
    async sicken(world) {
      const billId = await world.bill();
      const holder = world.outside.createQueryRunner();
      // Repeatable reads would lock the gap beside the row, too, into which MariaDB then puts no other bill.
      await holder.startTransaction('READ COMMITTED');
      await holder.query(`SELECT 1 FROM payment_acceptance.${table} WHERE ${where} FOR UPDATE`, [billId]);
      await world.harness.sandbox.pay(billId);
      return async () => {
        await holder.rollbackTransaction();
        await holder.release();
      };
    },
    degraded: ['checks-overdue'],
  })),
  {
    dimension: 'payer',
    name: 'who sends the same postback over and over',
    async sicken(world) {
      const billId = await world.bill();
      const fields = postbackFields({ InvId: 'sick-1', OutSum: '10.00', TrsId: billId });
      const stop = [1, 2].map(() => repeatedly(() => postJson(`${world.host.url}/postback/payment`, fields)));
      return async () => {
        await Promise.all(stop.map((end) => end()));
      };
    },
    degraded: [],
  },
  {
    dimension: 'shop',
    name: 'whose service hangs',
    neighbours: () => ({ shops: HEALTHY - 1, options: { http: { totalTimeoutMs: 2_000 } } }),
    async sicken(world, size) {
      const bills = await Promise.all(Array.from({ length: size }, () => world.bill('sick')));
      world.sickService.shut();
      for (const billId of bills) await world.harness.sandbox.pay(billId);
      await world.sickService.reached();
      return () => world.sickService.open();
    },
    degraded: ['service-not-answering'],
  },
  {
    dimension: 'consumer',
    name: 'that never comes back',
    neighbours: () => ({ consumers: HEALTHY - 1 }),
    everyMs: 1_000,
    eventsPerOrder: HEALTHY,
    async sicken(world) {
      let recover = (): void => undefined;
      const recovered = new Promise<void>((resolve) => (recover = resolve));
      world.behave = () => recovered;
      await paid(world, MORE_THAN_SLOTS);
      // Each of these is a hundred events for the healthy ones, too.
      await until(
        () => world.unfinished(),
        (unfinished) => unfinished.every((what) => what.startsWith('sick ')),
        60_000,
      );
      return () => {
        world.behave = undefined;
        recover();
      };
    },
    degraded: ['deliveries-late'],
  },
  {
    dimension: 'handler',
    name: 'that throws',
    async sicken(world, size) {
      world.behave = () => Promise.reject(new Error('the mail server is down'));
      await paid(world, size);
      return () => void (world.behave = undefined);
    },
    degraded: ['deliveries-failing'],
  },
  {
    dimension: 'slow statement',
    name: 'of a handler',
    async sicken(world, size) {
      world.behave = (_event, { manager }) =>
        manager.query(`SELECT ${world.outside.options.type === 'postgres' ? 'pg_sleep' : 'SLEEP'}(${SLOW_S})`);
      await paid(world, size);
      return () => void (world.behave = undefined);
    },
    degraded: ['deliveries-late'],
  },
  {
    dimension: 'slow statement',
    name: 'of the host, on half of its pool',
    onlyWhole: true,
    sicken({ host: { dataSource } }) {
      const stop = Array.from({ length: 5 }, () => repeatedly(() => dataSource.query('SELECT pg_sleep(1)')));
      return Promise.resolve(async () => {
        await Promise.all(stop.map((end) => end()));
      });
    },
    degraded: [],
  },
  silentBroker(),
];

function silentBroker(): Member {
  let isSilent = false;
  let taken = 0;
  const client = {
    connect: () => Promise.resolve(),
    emit: () =>
      new Observable<void>((subscriber) => {
        taken += 1;
        if (!isSilent) subscriber.complete();
      }),
  };
  return {
    dimension: 'broker',
    name: 'that takes events and never says so',
    neighbours: () => ({ imports: [PaymentMicroservicesModule.register({ client, acknowledgeTimeoutMs: 1_000 })] }),
    async sicken(world, size) {
      isSilent = true;
      const before = taken;
      await paid(world, size);
      await until(
        () => Promise.resolve(taken),
        (now) => now > before,
      );
      return () => void (isSilent = false);
    },
    degraded: ['deliveries-late'],
  };
}
