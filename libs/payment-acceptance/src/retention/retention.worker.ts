import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { RetentionStore } from './storage/retention.store.js';

/** About how many rows record one bill: itself, payments, callbacks, events, deliveries. */
const ROWS_PER_BILL = 10;

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

  /**
   * Processes one batch of each kind, whether or not another kind fails.
   * @returns how many rows were redacted or deleted, a bill counting as one
   * @throws what the database throws, of the first kind that failed
   */
  async runOnce(): Promise<number> {
    const { rows, failures } = await this.removeEachKind();
    if (failures.length > 0) throw failures[0];
    return rows;
  }

  start(): void {
    const { retention } = this.options;
    if (retention !== false) this.loop ??= this.run(retention.everyMs, retention.pauseMs);
  }

  /** Resolves when the current batch has ended, or after `shutdownTimeoutMs`. */
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
    while (!this.stopping.signal.aborted) {
      /** Kinds that have failed: they wait for the next turn and hold up nothing else. */
      const failed = new Set<number>();
      while ((await this.batch(failed)) > 0) await this.pause(pauseMs);
      await this.pause(everyMs);
    }
  }

  private async batch(failed: Set<number>): Promise<number> {
    const { rows, failures } = await this.removeEachKind(failed);
    for (const error of failures) {
      const line = `Could not remove old records; retrying later. ${describeError(error)}`;
      this.logger.write('removal-failed', line, { error: errorType(error) });
    }
    return rows;
  }

  /** @param failed kinds to leave out; kinds that fail are added to it */
  private async removeEachKind(failed = new Set<number>()): Promise<{ rows: number; failures: unknown[] }> {
    const { store } = this;
    const { retention } = this.options;
    if (retention === false) return { rows: 0, failures: [] };
    const { redactCallbacksAfterMs, deleteCallbacksAfterMs, redactBillsAfterMs, batchSize } = retention;
    const billsAtOnce = Math.ceil(batchSize / ROWS_PER_BILL);
    const kinds: [number | null, (afterMs: number) => Promise<number>][] = [
      [deleteCallbacksAfterMs, (afterMs) => store.deleteCallbacks(afterMs, batchSize)],
      [redactCallbacksAfterMs, (afterMs) => store.redactCallbacks(afterMs, batchSize)],
      [redactBillsAfterMs, (afterMs) => store.redactBills(afterMs, billsAtOnce)],
      [redactBillsAfterMs, (afterMs) => store.redactNotes(afterMs, batchSize)],
      [redactBillsAfterMs, (afterMs) => store.redactLostBills(afterMs, batchSize)],
    ];
    const done = { rows: 0, failures: [] as unknown[] };
    for (const [kind, [afterMs, remove]] of kinds.entries()) {
      if (afterMs === null || failed.has(kind) || this.stopping.signal.aborted) continue;
      try {
        done.rows += await remove(afterMs);
      } catch (error) {
        failed.add(kind);
        done.failures.push(error);
      }
    }
    return done;
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
