import { PaymentServiceClient } from '../../libs/payment-acceptance/src/client/payment-service.client.js';
import type { ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';
import type { Instance } from '../support/harness.js';

/** One of the two instances. The service's answers to it can be delayed. */
export class Slot {
  private gate: Promise<void> | undefined;
  private arrived = (): void => undefined;

  constructor(
    public instance: Instance,
    /** Whether it has the code of the consumer `eu-books`. */
    public books: boolean,
    private readonly lists: (billId: string, listed: ReportedPayment[]) => ReportedPayment[],
  ) {
    this.use(instance, books);
  }

  get held(): boolean {
    return this.gate !== undefined;
  }

  use(instance: Instance, books: boolean): void {
    this.instance = instance;
    this.books = books;
    const client = instance.app.get(PaymentServiceClient, { strict: false });
    const list = client.readPaymentList.bind(client);
    client.readPaymentList = async (shop, billId, ...more) => {
      try {
        const { payments, problems } = await list(shop, billId, ...more);
        return { payments: this.lists(billId, [...payments]), problems };
      } finally {
        this.arrived();
        await this.gate;
      }
    };
  }

  /** Delays answers until `release()`; `reached` resolves once one has come. */
  hold(): { reached: Promise<void>; release: () => void } {
    let open = (): void => undefined;
    this.gate = new Promise<void>((resolve) => (open = resolve));
    const reached = new Promise<void>((resolve) => (this.arrived = resolve));
    return {
      reached,
      release: () => {
        this.gate = undefined;
        open();
      },
    };
  }
}
