import type { CreatedBill } from '../client/answers.js';
import { describeError, errorType } from '../common/errors.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import { backoff } from '../common/retry.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { IntentId } from '../domain/ids.js';
import { isUniqueViolation } from '../storage/query-errors.js';
import { BillNotStoredError } from './bill.errors.js';

/** How a creation has ended, as the service has said it, before the database knows. */
export interface CreationOutcome {
  readonly shop: string;
  readonly orderId: string;
  readonly intentId: IntentId;
  /** The bill that it made, or what the intent is to end as. */
  readonly made: CreatedBill | 'REJECTED' | 'UNKNOWN';
}

const FIRST_PAUSE_MS = 70;
const LONGEST_PAUSE_MS = 10_000;

/** After which a statement counts as lost with its connection; another one goes out beside it, and both may succeed. */
const ATTEMPT_MS = 60_000;

/** How long the last attempts may take, together, when the application shuts down. */
const LAST_ATTEMPTS_MS = 2_000;

/** An outcome on its way to the database. */
class Storing {
  /** Everything that storing it means. */
  end: Promise<unknown> = Promise.resolve();
  lastError: unknown;
  /** Whether the log says that it is not stored yet. */
  isSaid = false;
  private wake: (() => void) | undefined;

  constructor(readonly outcome: CreationOutcome) {}

  /** Ends the pause before the next attempt. */
  hurry(): void {
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
 * Stores what the service has answered to creations. A bill that it has made can be paid whether we know it or not, so an
 * answer that cannot be stored is tried again for as long as the application runs.
 */
export class CreationOutcomes {
  private readonly unstored = new Set<Storing>();
  private stopping = false;

  /** @param callerMs how long a caller waits for the outcome to be stored, in milliseconds */
  constructor(
    private readonly callerMs: number,
    private readonly random: PaymentRandom,
    private readonly logger: PaymentLogger,
  ) {}

  /**
   * Stores an outcome and does what follows from it, in the background where that takes longer than a caller may wait.
   * @param attempt stores it; may be called again although it has succeeded
   * @param finish given what was stored, or the error that no repetition changes
   * @throws BillNotStoredError where the service has made a bill that is not stored yet; TimeoutError where it has made none
   */
  store<Stored, Result>(
    outcome: CreationOutcome,
    attempt: () => Promise<Stored>,
    finish: (stored: Promise<Stored>) => Promise<Result>,
  ): Promise<Result> {
    const storing = new Storing(outcome);
    this.unstored.add(storing);
    const end = finish(this.untilStored(storing, attempt));
    storing.end = end;
    return this.inTime(storing, end);
  }

  /**
   * Has what is unstored of an order tried again now, and waits for it: before that no further bill may be made.
   * @throws BillNotStoredError
   */
  async settle(shop: string, orderId: string): Promise<void> {
    for (const storing of this.unstored) {
      if (storing.outcome.shop !== shop || storing.outcome.orderId !== orderId) continue;
      storing.hurry();
      try {
        await this.inTime(storing, storing.end);
      } catch (error) {
        // What has failed for good was told to the call it belongs to, and the tables say what follows from it.
        if (error instanceof BillNotStoredError) throw error;
      }
    }
  }

  /** Tries everything once more, and says of what is left all that is needed to record it by hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    const ends = Array.from(this.unstored, (storing) => {
      storing.hurry();
      return storing.end;
    });
    await withTimeout(LAST_ATTEMPTS_MS, Promise.allSettled(ends)).catch(() => undefined);
    for (const storing of this.unstored) this.logger.error(lastWords(storing), fieldsOf(storing));
  }

  private async inTime<Result>(storing: Storing, end: Promise<Result>): Promise<Result> {
    // What goes on when nobody waits any more rejects into nothing: whatever fails for good has said so in the log.
    end.catch(() => undefined);
    try {
      return await withTimeout(this.callerMs, end);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const cause = storing.lastError === undefined ? error : storing.lastError;
      if (!storing.isSaid) {
        const tried = 'is not stored yet; it is tried again until the application stops.';
        this.logger.error(`${subject(storing)} ${tried} ${describeError(cause)}`, fieldsOf(storing));
      }
      storing.isSaid = true;
      const { made, shop, orderId, intentId } = storing.outcome;
      if (typeof made === 'string') throw error;
      throw new BillNotStoredError(shop, orderId, intentId, made.billId);
    }
  }

  private async untilStored<Stored>(storing: Storing, attempt: () => Promise<Stored>): Promise<Stored> {
    for (let failures = 0; ; failures += 1) {
      const last = this.stopping;
      try {
        const stored = await withTimeout(ATTEMPT_MS, attempt());
        this.unstored.delete(storing);
        if (storing.isSaid) this.logger.log(`${subject(storing)} is stored now.`, fieldsOf(storing));
        return stored;
      } catch (error) {
        storing.lastError = error;
        if (isUniqueViolation(error)) this.unstored.delete(storing);
        if (last || isUniqueViolation(error)) throw error;
        // What began before the shutdown is due one more attempt, at once.
        if (this.stopping) continue;
        await storing.pause(backoff(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, this.random.fraction()));
      }
    }
  }
}

function subject({ outcome: { made, shop, orderId, intentId } }: Storing): string {
  const order = `order "${orderId}" of shop "${shop}"`;
  return typeof made === 'string'
    ? `The end of the creation for ${order} (intent ${intentId}: ${made})`
    : `Bill ${made.billId} of ${order}, which exists at the service (intent ${intentId}),`;
}

/** All that is needed to record it by hand. */
function lastWords(storing: Storing): string {
  const { made, intentId } = storing.outcome;
  const meaning = { REJECTED: 'no bill was made, so void it', UNKNOWN: 'look for its bill at the service' };
  const byHand =
    typeof made === 'string'
      ? meaning[made]
      : `attach bill ${made.billId} to intent ${intentId} then, with the payment page ` +
        `${made.linkPageUrl ?? '(none was told)'}, by PaymentOperations.attachBill or in the operator console`;
  return (
    `${subject(storing)} was not stored before the shutdown. The intent becomes an unknown outcome when its lease runs out: ` +
    `${byHand}. ${describeError(storing.lastError ?? 'The database did not answer.')}`
  );
}

function fieldsOf({ outcome: { made, shop, orderId, intentId }, lastError }: Storing): LogFields {
  return {
    ...{ shop, orderId, intentId },
    ...(typeof made !== 'string' && { billId: made.billId }),
    ...(lastError !== undefined && { error: errorType(lastError) }),
  };
}
