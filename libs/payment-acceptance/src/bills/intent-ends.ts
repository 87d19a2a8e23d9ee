import { linkLateCallbacks } from '../callbacks/late-callbacks.js';
import type { CallbackStore } from '../callbacks/storage/callback.store.js';
import { PaymentAnswerNotUnderstoodError } from '../client/service.errors.js';
import { describeError, errorType } from '../common/errors.js';
import type { PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import type { BillRecord } from '../domain/bill.js';
import type { BillId } from '../domain/ids.js';
import type { CreatedBill } from '../client/answers.js';
import type { BillStore, NewBill } from './storage/bill.store.js';
import { isUniqueViolation } from '../database/query-errors.js';
import { PaymentBillNotStoredError, PaymentUnknownOutcomeError } from './bill.errors.js';
import { CreationOutcomes } from './creation-outcomes.js';

/** How long a call waits for early postbacks to be linked to its bill. */
const LINK_TIMEOUT_MS = 1_000;

export type Intent = Omit<NewBill, 'attempt'>;

export class IntentEnds {
  readonly outcomes = new CreationOutcomes(this.options.creation.storeTimeoutMs, this.random, this.logger);
  /** Two lanes for `linkLate`: each settles when its latest link ends. The lane taken longest ago is in front. */
  private readonly lanes = [Promise.resolve(), Promise.resolve()];

  constructor(
    private readonly store: BillStore,
    private readonly callbacks: CallbackStore,
    private readonly random: PaymentRandom,
    private readonly logger: PaymentLogger,
    private readonly options: Pick<ResolvedOptions, 'creation' | 'leases' | 'schedule'>,
  ) {}

  /**
   * Opens the bill, even if an operator has voided it: the answer proves that it was made. Opens nothing if another
   * bill has this bill id, or if an operator has attached another bill to the intent.
   */
  open(intent: Intent, answer: CreatedBill): Promise<BillRecord> {
    const { shop, orderId, intentId } = intent;
    const { openMs, jitterPercent, lifetimeMs } = this.options.schedule;
    const pauseMs = (openMs[0] ?? 60_000) * (1 + (this.random.fraction() * jitterPercent) / 100);
    const firstCheckMs = Math.min(pauseMs, lifetimeMs);
    const { billId } = answer;
    const unknown = (problem: string): PaymentUnknownOutcomeError => {
      const error = new PaymentAnswerNotUnderstoodError({ shop, operation: 'createBill' }, problem);
      const fields = { shop, orderId, intentId, billId, error: errorType(error) };
      this.logger.write('creation-contradicted', error.message, fields);
      return new PaymentUnknownOutcomeError(shop, orderId, intentId, error, billId);
    };
    const open = (isVoided?: 'voided') => this.store.open(intentId, answer, firstCheckMs, isVoided);
    return this.outcomes.store(
      { shop, orderId, intentId, result: answer },
      // The bill may already be open: the reply to an earlier commit was lost, or an operator has attached this bill.
      async () =>
        (await open()) ??
        (await this.reopenIfVoided(intent, billId, () => open('voided'))) ??
        (await this.restoreIfLost(intent, billId)) ??
        (await open()),
      async (stored) => {
        let opened: BillRecord | undefined;
        try {
          opened = await stored;
        } catch (error) {
          if (!isUniqueViolation(error)) throw new PaymentBillNotStoredError(shop, orderId, intentId, billId);
          const conflict = unknown(`bill_id ${billId} is that of another bill of this shop`);
          await this.close(intent, 'UNKNOWN', conflict.cause);
          throw conflict;
        }
        if (opened?.billId !== billId)
          throw unknown(`an operator attached another bill to the intent of bill ${billId}`);
        await this.linkLate(opened);
        return opened;
      },
    );
  }

  private async reopenIfVoided(
    { shop, orderId, intentId }: Intent,
    billId: BillId,
    open: () => Promise<BillRecord | undefined>,
  ): Promise<BillRecord | undefined> {
    const bill = await this.store.byId(intentId);
    const opened = bill?.state === 'VOIDED' ? await open() : undefined;
    if (!opened) return bill;
    const line = `The service created bill ${billId} although an operator had voided its intent. It is open again: check whether the order has another bill.`;
    this.logger.write('creation-contradicted', line, { shop, orderId, intentId, billId });
    return opened;
  }

  /**
   * At most two calls link at a time, so that links waiting for a lock occupy at most two connections. The caller waits
   * only briefly, because the payer is waiting and the bill is already stored.
   */
  private async linkLate(opened: BillRecord): Promise<void> {
    const linked = (this.lanes.shift() ?? Promise.resolve()).then(() => linkLateCallbacks(this.callbacks, opened));
    this.lanes.push(linked);
    const waitMs = Math.min(LINK_TIMEOUT_MS, this.options.creation.storeTimeoutMs / 2);
    await withTimeout(waitMs, linked).catch(() => undefined);
  }

  /** Does not throw: a storage error, which is logged, must not replace the error that ended the call. */
  async close(intent: Intent, state: 'REJECTED' | 'UNKNOWN', reason: unknown): Promise<void> {
    const { shop, orderId, intentId } = intent;
    const end = (): Promise<boolean> => this.store.close(intentId, state, describeError(reason));
    const close = async (): Promise<boolean> => {
      if (await end()) return true;
      // If no bill was created, a lost intent need not be restored.
      if (state === 'REJECTED' || (await this.store.byId(intentId))) return false;
      await this.restoreIfLost(intent, undefined);
      return end();
    };
    await this.outcomes
      .store({ shop, orderId, intentId, result: state }, close, (closed) => closed)
      .catch(() => undefined);
  }

  /** Restores a committed intent that is lost because the database failed over to a server without it. */
  private async restoreIfLost(intent: Intent, billId: BillId | undefined): Promise<BillRecord | undefined> {
    const present = await this.store.restore(intent, billId, this.options.leases.creationMs);
    if (!present) {
      const { shop, orderId, intentId } = intent;
      this.logger.write(
        'commit-lost',
        `The database lost the intent ${intentId} of order "${orderId}" of shop "${shop}" after its commit, so it was stored ` +
          'again. Other commits from that time may be lost, too: run payment-acceptance recover to find what can be recovered.',
        { shop, orderId, intentId, ...(billId !== undefined && { billId }) },
      );
    }
    return present;
  }
}
