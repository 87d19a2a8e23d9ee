import type { PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import type { PaymentSandbox } from 'nestjs-payment-sandbox';

/** Of how many payments, and how they come. */
export interface Load {
  readonly orders: number;
  /** Between the beginnings of two purchases, in milliseconds. */
  readonly everyMs: number;
}

/** No payment of a healthy member takes this long, however busy the machine is. */
const MAX_MS = 60_000;

/**
 * Healthy purchases. They begin at a steady rate, whatever becomes of those before: what stalls is felt by all who come
 * meanwhile, as it would be by payers.
 */
export class Traffic {
  private orders = 0;
  /** By order: the consumers that have not received its payment yet, and who waits for that. */
  private readonly paid = new Map<string, { readonly missing: Set<string>; heard(): void }>();

  /**
   * @param shops whose purchases take turns
   * @param consumers who are to be told of each
   */
  constructor(
    private readonly payments: () => PaymentAcceptanceService,
    private readonly sandbox: PaymentSandbox,
    private readonly shops: readonly string[],
    private readonly consumers: readonly string[],
  ) {}

  /** For a consumer's handler. */
  told(orderId: string, consumer: string): void {
    const order = this.paid.get(orderId);
    if (order?.missing.delete(consumer)) order.heard();
  }

  /** How long each consumer's event has taken since the payment, in milliseconds, sorted. */
  lags({ orders, everyMs }: Load): Promise<number[]> {
    const lags: number[] = [];
    let begun = 0;
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(
        () => fail(new Error(`Of ${orders * this.consumers.length} events only ${lags.length} came in ${MAX_MS} ms.`)),
        MAX_MS,
      );
      const fail = (error: Error): void => {
        clearInterval(pace);
        clearTimeout(tooLate);
        reject(error);
      };
      const pace = setInterval(() => {
        begun += 1;
        if (begun === orders) clearInterval(pace);
        this.buy((lagMs) => {
          if (lags.push(lagMs) < orders * this.consumers.length) return;
          clearTimeout(tooLate);
          resolve(lags.sort((a, b) => a - b));
        }).catch(fail);
      }, everyMs);
    });
  }

  private async buy(took: (lagMs: number) => void): Promise<void> {
    this.orders += 1;
    const orderId = `healthy-${this.orders}`;
    const shop = this.shops[this.orders % this.shops.length]!;
    const { billId } = await this.payments().shop(shop).createBill({ orderId, amount: '10' });
    const paidAt = performance.now();
    this.paid.set(orderId, { missing: new Set(this.consumers), heard: () => took(performance.now() - paidAt) });
    await this.sandbox.pay(billId);
  }
}

/** The 99th percentile. */
export function p99(sorted: readonly number[]): number {
  return sorted[Math.ceil(0.99 * sorted.length) - 1]!;
}
