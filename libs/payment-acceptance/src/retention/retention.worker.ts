import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { RetentionStore } from './storage/retention.store.js';

/** About how many rows record one bill: itself, payments, callbacks, events, deliveries. */
const ROWS_OF_A_BILL = 10;

/** Removes old records in small batches, with pauses between them. */
@Injectable()
export class RetentionWorker {
  private readonly logger = new PaymentLogger('PaymentRetention');
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly store: RetentionStore,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** Processes one batch of each kind. @returns how many rows were redacted or deleted, a bill counting as one */
  async runOnce(): Promise<number> {
    const { retention } = this.options;
    if (retention === false) return 0;
    const { redactCallbacksAfterMs, deleteCallbacksAfterMs, redactBillsAfterMs, batchSize } = retention;
    let rows = 0;
    if (deleteCallbacksAfterMs !== null) rows += await this.store.deleteCallbacks(deleteCallbacksAfterMs, batchSize);
    if (redactCallbacksAfterMs !== null) rows += await this.store.redactCallbacks(redactCallbacksAfterMs, batchSize);
    if (redactBillsAfterMs !== null) {
      rows += await this.store.redactBills(redactBillsAfterMs, Math.ceil(batchSize / ROWS_OF_A_BILL));
      rows += await this.store.redactNotes(redactBillsAfterMs, batchSize);
      rows += await this.store.redactLostBills(redactBillsAfterMs, batchSize);
    }
    return rows;
  }

  start(): void {
    const { retention } = this.options;
    if (retention !== false) this.loop ??= this.run(retention.everyMs, retention.pauseMs);
  }

  /** Resolves when the current batch has ended, or when `shutdownTimeoutMs` is over. */
  async stop(): Promise<void> {
    this.stopping.abort();
    try {
      await withTimeout(this.options.shutdownTimeoutMs, this.loop ?? Promise.resolve());
    } catch (error) {
      const line = `The shutdown stopped waiting for the removal of old records. ${describeError(error)}`;
      this.logger.write('shutdown-incomplete', line);
    }
  }

  private async run(everyMs: number, pauseMs: number): Promise<void> {
    // Jitter, so that instances that start together do not poll together.
    await this.pause(everyMs * this.random.fraction());
    while (!this.stopping.signal.aborted) await this.pause((await this.batch()) > 0 ? pauseMs : everyMs);
  }

  private async batch(): Promise<number> {
    try {
      return await this.runOnce();
    } catch (error) {
      const line = `Could not remove old records; retrying later. ${describeError(error)}`;
      this.logger.write('removal-failed', line, { error: errorType(error) });
      return 0;
    }
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
