import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Adapter } from '../../support/adapters.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { postForm, redirectFields } from '../../support/http.js';

/** The relative address of a result page; the second group is its ticket. */
export const RESULT_PAGE = /^(\.\.\/)*result\/([\w-]{51})$/;

/** A host, and requests for the pages that it shows to payers. */
export class PayerPages {
  harness!: Harness;

  get url(): string {
    return this.harness.host.url;
  }

  /** Sends a success redirect. @param shop the end of the path, such as `/eu` */
  success(fields: Record<string, string>, shop = ''): Promise<Response> {
    return postForm(`${this.url}/redirect/payment/success${shop}`, fields);
  }

  result(ticket: string): Promise<Response> {
    return fetch(`${this.url}/redirect/payment/result/${ticket}`);
  }

  /** Creates a bill, pays it or not, and sends its redirect. @returns the ticket of the result page */
  async ticketOf(orderId: string, outcome?: 'success' | 'fail'): Promise<string> {
    const { billId } = await this.harness.host.payments.createBill({ orderId, amount: '100.05' });
    if (outcome) await this.harness.sandbox.pay(billId, { outcome });
    await this.harness.settle();
    const answer = await this.success(redirectFields({ InvId: orderId, OutSum: '100.05' }));
    expect(answer.status).toBe(303);
    const ticket = RESULT_PAGE.exec(answer.headers.get('location') ?? '')?.[2] ?? '';
    // The redirect asked for a check. Until that has run, a failure is only a claim.
    this.harness.clock.advance(10_000);
    await this.harness.settle();
    return ticket;
  }
}

/** One host for all tests of the surrounding `describe`. */
export function usePayerPages(adapter: Adapter): PayerPages {
  const pages = new PayerPages();
  beforeAll(async () => {
    pages.harness = await startHarness({ adapter });
  });
  afterAll(() => pages.harness.close());
  return pages;
}
