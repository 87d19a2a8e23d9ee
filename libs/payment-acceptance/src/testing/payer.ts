import type { Payment, PaymentSandbox, PayInput } from 'nestjs-payment-sandbox';
import { PaymentTestingError } from './testing.errors.js';

export interface PayOptions extends PayInput {
  /** Name of the order's shop, if several shops have an order with that id. */
  readonly shop?: string;
  /** Whether the payer returns to the shop after paying; with `false`, the payer closes the browser. Default `true`. */
  readonly returns?: boolean;
}

/** The page that the payer finally sees after returning. */
export interface PaidPage {
  /** Address of the page. */
  readonly url: string;
  /** HTTP status; 0 if the address is outside the application and was not requested. */
  readonly status: number;
  readonly html: string;
}

export interface PayOutcome {
  /** The payment as the service has it. */
  readonly payment: Payment;
  /** `undefined` if the payer did not return, or the payment has no result yet. */
  readonly page: PaidPage | undefined;
}

const MAX_REDIRECTS = 5;

/** The payer: pays at the sandbox and returns as a browser would. */
export class Payer {
  constructor(private readonly sandbox: PaymentSandbox) {}

  async pay(orderId: string, { shop, returns = true, ...input }: PayOptions): Promise<PayOutcome> {
    const bill = this.billOf(orderId, shop);
    const { payment, redirect } = await this.sandbox.pay(bill, input);
    await this.sandbox.settled();
    this.refuseUndelivered(bill, payment.id);
    return { payment, page: returns && redirect ? await returnToShop(redirect.url, redirect.fields) : undefined };
  }

  private billOf(orderId: string, shop: string | undefined): string {
    const all = this.sandbox.bills();
    const bills = all.filter((bill) => bill.orderId === orderId && (shop === undefined || bill.shopId === shop));
    const shops = [...new Set(bills.map(({ shopId }) => shopId))];
    if (shops.length > 1) {
      throw new PaymentTestingError(
        `Order "${orderId}" has bills in several shops: specify one of ${shops.join(', ')}.`,
      );
    }
    const bill = bills.at(-1);
    if (bill) return bill.id;
    const orderList = all.map((each) => `"${each.orderId}"`).join(', ') || 'none';
    throw new PaymentTestingError(
      `Order "${orderId}" has no bill: call createBill for it first. Orders with one: ${orderList}.`,
    );
  }

  private refuseUndelivered(billId: string, paymentId: string): void {
    for (const { paymentId: callbackPaymentId, state, tries } of this.sandbox.bill(billId).callbacks) {
      const last = tries.at(-1);
      if (callbackPaymentId !== paymentId || state === 'delivered' || !last) continue;
      throw new PaymentTestingError(
        (last.status === null
          ? `The postback to ${last.url} failed: ${last.error ?? 'no answer'}.`
          : `The application answered ${last.status} to the postback at ${last.url}.`) +
          ` ${ROUTE_ADVICE} ${last.body}`,
      );
    }
  }
}

const ROUTE_ADVICE =
  'Callback routes must exist and require no login: see the options routes.path and routes.decorators, and "prefix" and ' +
  '"urls" of attach().';

/** Posts the redirect's form and follows redirects within the application only, so that a test contacts nobody else. */
async function returnToShop(address: string, fields: Record<string, string>): Promise<PaidPage> {
  let answer = await fetch(address, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
  let url = address;
  for (let redirects = 0; redirects < MAX_REDIRECTS; redirects += 1) {
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status > 399 || location === null) break;
    url = new URL(location, url).href;
    if (new URL(url).origin !== new URL(address).origin) return { url, status: 0, html: '' };
    answer = await fetch(url, { redirect: 'manual' });
  }
  const html = await answer.text();
  if (answer.status >= 400) {
    throw new PaymentTestingError(
      `The application answered ${answer.status} to the payer at ${url}. ${ROUTE_ADVICE} ${html.slice(0, 300)}`,
    );
  }
  return { url, status: answer.status, html };
}
