import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '../common/errors.js';
import { PaymentRandom } from '../common/random.js';
import { withTimeout } from '../common/timeout.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { RetentionStore } from '../storage/retention.store.js';

/** Removes what has served its purpose, in small batches with pauses between them. */
@Injectable()
export class RetentionWorker {
  private readonly logger = new Logger('PaymentRetention');
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly store: RetentionStore,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** One batch of each kind; gives the number of rows that were emptied or deleted. */
  async runOnce(): Promise<number> {
    const { retention } = this.options;
    if (retention === false) return 0;
    const { redactCallbacksAfterMs, deleteCallbacksAfterMs, deleteDeliveriesAfterMs, batchSize } = retention;
    let rows = 0;
    if (deleteCallbacksAfterMs !== null) rows += await this.store.deleteCallbacks(deleteCallbacksAfterMs, batchSize);
    if (redactCallbacksAfterMs !== null) rows += await this.store.redactCallbacks(redactCallbacksAfterMs, batchSize);
    if (deleteDeliveriesAfterMs !== null) {
      await this.store.noteRemoval(deleteDeliveriesAfterMs);
      rows += await this.store.deleteDeliveries(deleteDeliveriesAfterMs, batchSize);
    }
    return rows;
  }

  start(): void {
    const { retention } = this.options;
    if (retention !== false) this.loop ??= this.run(retention.everyMs, retention.pauseMs);
  }

  /** Resolves when the batch that is under way has ended, or is waited for no longer. */
  async stop(): Promise<void> {
    this.stopping.abort();
    try {
      await withTimeout(this.options.deliveries.shutdownMs, this.loop ?? Promise.resolve());
    } catch (error) {
      this.logger.error(`A removal of old records was left behind by the shutdown. ${describeError(error)}`);
    }
  }

  private async run(everyMs: number, pauseMs: number): Promise<void> {
    // Instances that start together do not look together.
    await this.pause(everyMs * this.random.fraction());
    while (!this.stopping.signal.aborted) await this.pause((await this.batch()) > 0 ? pauseMs : everyMs);
  }

  private async batch(): Promise<number> {
    try {
      return await this.runOnce();
    } catch (error) {
      this.logger.error(`Old records could not be removed; trying again later. ${describeError(error)}`);
      return 0;
    }
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
