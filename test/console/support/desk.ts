import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import type { Adapter } from '../../support/adapters.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { Operator } from './operator.js';
import { Bookkeeper, forget, record, type Records } from './records.js';

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

/** A host with the console and one record of each kind, made anew for each test of the `describe` that calls it. */
export class Desk {
  harness!: Harness;
  main!: Records;
  /** Ann, in a browser of her own. */
  operator!: Operator;

  constructor(adapter: Adapter) {
    beforeAll(async () => {
      this.harness = await startConsole(adapter);
    });
    afterAll(() => this.harness.close());
    beforeEach(async () => {
      await forget(this.harness);
      this.main = await record(this.harness, 'main');
      this.operator = new Operator(`${this.harness.host.url}/payment-console`, { 'x-user': 'ann' });
    });
  }

  /** What operators did, oldest first. */
  actions(): Promise<object[]> {
    return this.harness.host.dataSource.query(
      'SELECT operator, action, target, detail FROM payment_acceptance.operator_action ORDER BY at',
    );
  }

  async stateOf(intentId: string) {
    return (await this.harness.host.ledger()).bills.find((bill) => bill.intentId === intentId)!.state;
  }
}
