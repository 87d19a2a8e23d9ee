import { SandboxError } from '../../common/errors.js';
import { isFields } from '../../common/input.js';

/** What the console reads of a shop's own records: part of the payment module's `readLedger()`. */
export interface Ledger {
  bills: LedgerBill[];
  payments: LedgerPayment[];
  events: LedgerEvent[];
  reviews: LedgerReview[];
}

export interface LedgerBill {
  /** The service's id; null while the shop does not know it. */
  billId: string | null;
  orderId: string;
  state: string;
  amount: string;
  currency: string;
  /** When the shop next asks the service; null if it will not. */
  nextCheckAt: string | null;
}

export interface LedgerPayment {
  paymentId: string;
  billId: string;
  status: string;
  amount: string | null;
}

export interface LedgerEvent {
  name: string;
  billId: string;
  paymentId: string | null;
  deliveries: { consumer: string; state: string; lastError: string | null }[];
}

export interface LedgerReview {
  billId: string;
  orderId: string;
  paymentId: string | null;
  reason: string;
  state: string;
}

/** A list with this many rows may be cut off: what it lacks may still be in the shop's records. */
export const LEDGER_ROWS = 1_000;

const LARGEST_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 3_000;

/** There is no ledger at the address: nothing answers, or the answer is 404. */
export class NoLedgerError extends Error {}

/**
 * Reads a shop's ledger. Throws a {@link NoLedgerError}, or an `Error` that says what is wrong with the address or its
 * answer.
 */
export async function readLedger(url: string): Promise<Ledger> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'manual', signal }).catch(
    (error: unknown) => {
      if (signal.aborted) throw new Error(`no answer within ${TIMEOUT_MS} ms`, { cause: error });
      throw new NoLedgerError(reasonOf(error));
    },
  );
  if (answer.status === 404) throw new NoLedgerError('it answers with 404');
  if (answer.status !== 200) throw new Error(`it answers with ${answer.status}`);
  return ledgerOf(parse(await textOf(answer)));
}

/** Reads the needed parts of the answer; throws if it is not a ledger. */
export function ledgerOf(answer: unknown): Ledger {
  const rows = <T>(name: string, read: (row: Row) => T): T[] => {
    const list = isFields(answer) ? answer[name] : undefined;
    if (!Array.isArray(list)) throw new Error(`its answer has no list "${name}"`);
    return list.map((row) => read(new Row(name, row)));
  };
  return {
    bills: rows('bills', (row) => ({
      billId: row.textOrNull('billId'),
      orderId: row.text('orderId'),
      state: row.text('state'),
      amount: row.text('amount'),
      currency: row.text('currency'),
      nextCheckAt: row.textOrNull('nextCheckAt'),
    })),
    payments: rows('payments', (row) => ({
      paymentId: row.text('paymentId'),
      billId: row.text('billId'),
      status: row.text('status'),
      amount: row.textOrNull('amount'),
    })),
    events: rows('events', (row) => ({
      name: row.text('name'),
      billId: row.textOrNull('billId') ?? '',
      paymentId: row.textOrNull('paymentId'),
      deliveries: row.rows('deliveries').map((delivery) => ({
        consumer: delivery.text('consumer'),
        state: delivery.text('state'),
        lastError: delivery.textOrNull('lastError'),
      })),
    })),
    reviews: rows('reviews', (row) => ({
      billId: row.textOrNull('billId') ?? '',
      orderId: row.text('orderId'),
      paymentId: row.textOrNull('paymentId'),
      reason: row.text('reason'),
      state: row.text('state'),
    })),
  };
}

class Row {
  constructor(
    private readonly list: string,
    private readonly value: unknown,
  ) {}

  text(name: string): string {
    const text = this.textOrNull(name);
    if (text === null) throw new Error(`a row of its list "${this.list}" has no text "${name}"`);
    return text;
  }

  textOrNull(name: string): string | null {
    const value = isFields(this.value) ? this.value[name] : undefined;
    return typeof value === 'string' ? value : null;
  }

  rows(name: string): Row[] {
    const value = isFields(this.value) ? this.value[name] : undefined;
    return Array.isArray(value) ? value.map((row) => new Row(name, row)) : [];
  }
}

async function textOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > LARGEST_BYTES) throw new SandboxError(400, 'its answer is too large');
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SandboxError ? error : new Error('its answer was cut off');
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error('its answer is not JSON');
  }
}

/** fetch gives its reason in the cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || String(error);
}
