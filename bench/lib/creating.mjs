import { quantile } from './statistics.mjs';

let orders = 0;

/**
 * The answer to `ask('create', { seconds, abreast })`: bills made by that many callers, each one after the other.
 * @param {(orderId: string) => Promise<unknown>} createBill
 * @returns {(load: { seconds: number; abreast: number }) => Promise<Record<string, number>>}
 */
export function create(createBill) {
  return async ({ seconds, abreast }) => {
    /** @type {number[]} */
    const took = [];
    const began = performance.now();
    const end = began + seconds * 1000;
    const caller = async () => {
      while (performance.now() < end) {
        const start = performance.now();
        await createBill(`order-${++orders}`);
        took.push(performance.now() - start);
      }
    };
    await Promise.all(Array.from({ length: abreast }, caller));
    const sorted = took.toSorted((a, b) => a - b);
    const rate = (took.length / (performance.now() - began)) * 1000;
    return { rate, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), bills: took.length };
  };
}
