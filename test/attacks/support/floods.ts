import { afterAll, beforeAll, expect } from '@jest/globals';
import { PaymentOperations, type DroppedCounts } from 'nestjs-payment-acceptance/operations';
import type { Adapter } from '../../support/adapters.js';
import { postbackFields, postJson, redirectFields } from '../../support/http.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './attacked-shop.js';
import { sendForm } from './sending.js';

export const PER_BILL = 10;
export const UNMATCHED = 20;
export const WAITING = 10;
/** Concurrent requests of a sender. */
const CONCURRENCY = 25;
/** By how much concurrent requests may exceed a bound: the connections of the pool. */
export const POOL = 10;

/** A shop with low bounds for callbacks, and floods of them. */
export class Floods {
  shop!: AttackedShop;

  /** Sends `count` requests, several at once, and counts the answers by status. */
  async flood(count: number, send: (index: number) => Promise<Response>): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    let next = 0;
    const sender = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        const { status } = await send(next);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sender));
    return statuses;
  }

  postback({ id, billId }: Pick<Bought, 'id' | 'billId'>, Status = 'SUCCESS'): Promise<Response> {
    const fields = postbackFields({ InvId: id, OutSum: '100.05', TrsId: billId, Status }, TOKENS.main);
    return postJson(`${this.shop.url}/postback/payment`, fields);
  }

  redirect({ id }: Pick<Bought, 'id'>): Promise<Response> {
    const fields = redirectFields({ InvId: id, OutSum: '100.05' }, TOKENS.main);
    return sendForm(`${this.shop.url}/redirect/payment/success`, fields);
  }

  /** How many callbacks of the bill are stored. */
  async rowsOf({ billId }: Pick<Bought, 'billId'>): Promise<number> {
    return (await this.shop.ledger()).callbacks.filter((callback) => callback.billId === billId).length;
  }

  async dropped(): Promise<DroppedCounts> {
    return (await this.shop.app.get(PaymentOperations).stats()).dropped;
  }

  /** How many requests about the bill the service got. */
  asked({ billId }: Bought): number {
    return this.shop.sandbox.requests.filter((request) => request.billId === billId).length;
  }

  /** How many log lines contain the text. */
  logged(text: string): number {
    return this.shop.logs.lines.filter((line) => line.includes(text)).length;
  }

  /** A bill with as many callbacks as are kept, none of them pending. */
  async crowded(): Promise<Bought> {
    const bought = await this.shop.buy();
    for (let count = 0; count < PER_BILL; count += 1) await this.redirect(bought);
    await this.shop.settle();
    expect(await this.rowsOf(bought)).toBe(PER_BILL);
    return bought;
  }
}

/** One shop for all tests of the surrounding `describe`. */
export function useFloods(adapter: Adapter): Floods {
  const floods = new Floods();
  beforeAll(async () => {
    floods.shop = await startAttackedShop(adapter, {
      options: {
        callbacks: { maxPerBill: PER_BILL, maxUnmatched: UNMATCHED, maxWaitingResults: WAITING, resultWaitMs: 10_000 },
      },
    });
  });
  afterAll(() => floods.shop.close());
  return floods;
}
