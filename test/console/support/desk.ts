import { PaymentConsoleModule } from 'nestjs-payment-console';
import type { Adapter } from '../../support/adapters.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { Bookkeeper } from './records.js';

/** A host with the console; the header `x-user` says who acts. */
export function startConsole(adapter: Adapter): Promise<Harness> {
  return startHarness({
    adapter,
    providers: [Bookkeeper],
    imports: [
      PaymentConsoleModule.register({
        guardedElsewhere: true,
        operator: ({ headers }) => headers['x-user'] as string,
      }),
    ],
    options: { http: { attempts: 1 } },
  });
}

/** What operators did, oldest first. */
export function recordedActions(harness: Harness): Promise<object[]> {
  return harness.host.dataSource.query(
    'SELECT operator, action, target, detail FROM payment_acceptance.operator_action ORDER BY at',
  );
}

export async function billState(harness: Harness, intentId: string) {
  return (await harness.host.ledger()).bills.find((bill) => bill.intentId === intentId)!.state;
}
