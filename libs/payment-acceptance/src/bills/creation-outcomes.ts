import type { CreatedBill } from '../client/answers.js';
import { describeError, errorType } from '../common/errors.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import { backoff } from '../common/retry.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { IntentId } from '../domain/ids.js';
import { isUniqueViolation } from '../database/query-errors.js';
import { PaymentBillNotStoredError } from './bill.errors.js';

export interface CreationOutcome {
  readonly shop: string;
  readonly orderId: string;
  readonly intentId: IntentId;
  /** The created bill, or the final state of the intent. */
  readonly result: CreatedBill | 'REJECTED' | 'UNKNOWN';
}

const FIRST_PAUSE_MS = 70;
const MAX_PAUSE_MS = 10_000;

/** After this time, an attempt counts as lost with its connection and is repeated, so both attempts may succeed. */
const ATTEMPT_TIMEOUT_MS = 60_000;

const SHUTDOWN_TIMEOUT_MS = 2_000;

class PendingOutcome {
  /** Settles once the outcome is stored and the creation is finished. */
  end: Promise<unknown> = Promise.resolve();
  lastError: unknown;
  isLogged = false;
  private wake: (() => void) | undefined;

  constructor(readonly outcome: CreationOutcome) {}

  retryNow(): void {
    this.wake?.();
  }

  async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}

/**
 * Stores the service's answers to creations. A created bill can be paid whether we know it or not, so storing is
 * retried for as long as the application runs.
 */
export class CreationOutcomes {
  private readonly unstored = new Set<PendingOutcome>();
  private stopping = false;

  /** @param callerMs how long a caller waits for the outcome to be stored */
  constructor(
    private readonly callerMs: number,
    private readonly random: PaymentRandom,
    private readonly logger: PaymentLogger,
  ) {}

  /**
   * Continues in the background if storing takes longer than a caller may wait.
   * @param attempt stores the outcome; must be idempotent
   * @param finish receives what was stored, or a permanent error
   * @throws PaymentBillNotStoredError if a created bill is not stored in time; TimeoutError if no bill was created
   */
  store<Stored, Result>(
    outcome: CreationOutcome,
    attempt: () => Promise<Stored>,
    finish: (stored: Promise<Stored>) => Promise<Result>,
  ): Promise<Result> {
    const storing = new PendingOutcome(outcome);
    this.unstored.add(storing);
    const end = finish(this.untilStored(storing, attempt));
    storing.end = end;
    return this.awaitWithTimeout(storing, end);
  }

  /**
   * Retries the unstored outcomes of an order at once and waits for them: until then, no further bill may be created.
   * @throws PaymentBillNotStoredError
   */
  async storeNow(shop: string, orderId: string): Promise<void> {
    for (const storing of this.unstored) {
      if (storing.outcome.shop !== shop || storing.outcome.orderId !== orderId) continue;
      storing.retryNow();
      try {
        await this.awaitWithTimeout(storing, storing.end);
      } catch (error) {
        // A permanent failure was reported to its own caller, and the tables reflect it.
        if (error instanceof PaymentBillNotStoredError) throw error;
      }
    }
  }

  /** Tries everything once more, and logs what is left so that it can be recorded by hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    const ends = Array.from(this.unstored, (storing) => {
      storing.retryNow();
      return storing.end;
    });
    await withTimeout(SHUTDOWN_TIMEOUT_MS, Promise.allSettled(ends)).catch(() => undefined);
    for (const storing of this.unstored) {
      this.logger.write('outcome-abandoned', recoveryMessage(storing), fieldsOf(storing));
    }
  }

  private async awaitWithTimeout<Result>(storing: PendingOutcome, end: Promise<Result>): Promise<Result> {
    // A rejection after the caller has stopped waiting has no receiver. Permanent failures are logged where they occur.
    end.catch(() => undefined);
    try {
      return await withTimeout(this.callerMs, end);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const cause = storing.lastError === undefined ? error : storing.lastError;
      if (!storing.isLogged) {
        const problem = 'is not stored yet; the module keeps retrying until the application stops.';
        const line = `${subject(storing)} ${problem} ${describeError(cause)}`;
        this.logger.write('outcome-not-stored', line, fieldsOf(storing));
      }
      storing.isLogged = true;
      const { result, shop, orderId, intentId } = storing.outcome;
      if (typeof result === 'string') throw error;
      throw new PaymentBillNotStoredError(shop, orderId, intentId, result.billId);
    }
  }

  private async untilStored<Stored>(storing: PendingOutcome, attempt: () => Promise<Stored>): Promise<Stored> {
    for (let failures = 0; ; failures += 1) {
      const last = this.stopping;
      try {
        const stored = await withTimeout(ATTEMPT_TIMEOUT_MS, attempt());
        this.unstored.delete(storing);
        if (storing.isLogged) {
          this.logger.write('outcome-stored', `${subject(storing)} is now stored.`, fieldsOf(storing));
        }
        return stored;
      } catch (error) {
        storing.lastError = error;
        if (isUniqueViolation(error)) this.unstored.delete(storing);
        if (last || isUniqueViolation(error)) throw error;
        // An attempt that began before the shutdown is repeated once, without a pause.
        if (this.stopping) continue;
        await storing.pause(backoff(failures, FIRST_PAUSE_MS, MAX_PAUSE_MS, this.random.fraction()));
      }
    }
  }
}

function subject({ outcome: { result, shop, orderId, intentId } }: PendingOutcome): string {
  const order = `order "${orderId}" of shop "${shop}"`;
  return typeof result === 'string'
    ? `The outcome of creating a bill for ${order} (intent ${intentId}: ${result})`
    : `Bill ${result.billId} of ${order}, which exists at the service (intent ${intentId}),`;
}

function recoveryMessage(storing: PendingOutcome): string {
  const { result, intentId } = storing.outcome;
  const meaning = { REJECTED: 'no bill was created, so void the intent', UNKNOWN: 'look up its bill at the service' };
  const byHand =
    typeof result === 'string'
      ? meaning[result]
      : `then attach bill ${result.billId} to intent ${intentId}, with payment page ` +
        `${result.linkPageUrl ?? '(none given)'}, through PaymentOperations.attachBill or in the operator console`;
  return (
    `${subject(storing)} was not stored before the shutdown. The intent becomes an unknown outcome when its lease runs out: ` +
    `${byHand}. ${describeError(storing.lastError ?? 'The database did not answer.')}`
  );
}

function fieldsOf({ outcome: { result, shop, orderId, intentId }, lastError }: PendingOutcome): LogFields {
  return {
    ...{ shop, orderId, intentId },
    ...(typeof result !== 'string' && { billId: result.billId }),
    ...(lastError !== undefined && { error: errorType(lastError) }),
  };
}
