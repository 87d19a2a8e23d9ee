import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { startHarness, type Harness, type HarnessOptions, type Instance } from '../../support/harness.js';
import { postbackFields, postJson } from '../../support/http.js';

/** Of the test that runs; see {@link start}. */
export let harness: Harness;

export async function start(callbacks: object = {}, more: HarnessOptions = {}): Promise<Harness> {
  return (harness = await startHarness({ ...more, options: { callbacks } }));
}

export async function bill(orderId: string): Promise<string> {
  return (await harness.host.payments.createBill({ orderId, amount: '10' })).billId;
}

export function fields(TrsId: string, InvId = 'o', Status = 'SUCCESS') {
  return postbackFields({ InvId, OutSum: '10.00', TrsId, Status });
}

/** Posts a postback; returns the status of the answer. */
export async function post(
  TrsId: string,
  { url }: Pick<Instance, 'url'> = harness.host,
  InvId?: string,
): Promise<number> {
  return (await postJson(`${url}/postback/payment`, fields(TrsId, InvId))).status;
}

export function together<T>(count: number, one: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => one(index)));
}

export function count(statuses: number[], status: number): number {
  return statuses.filter((each) => each === status).length;
}

/** The stored callbacks, oldest first. */
export async function rows() {
  return (await harness.host.ledger()).callbacks.toReversed();
}

export async function dropped() {
  return (await harness.host.app.get(PaymentOperations).stats()).dropped;
}
