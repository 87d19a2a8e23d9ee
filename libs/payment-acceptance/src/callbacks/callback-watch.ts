import { Injectable } from '@nestjs/common';
import { withTimeout } from '../common/timeout.js';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import { CallbackStore } from '../storage/callback.store.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';

/** What is learnt of a callback while it is received, for its span and its count. */
export interface RecordedCallback {
  digest: DigestCheck;
  /** Id of the row that was stored. */
  id?: string;
  /** What became of it, where its answer does not tell. */
  outcome?: 'matched' | 'unmatched' | 'forwarded' | 'repeated';
}

/** Finding the span to link to must not keep a stored callback from its answer. */
const LINK_LIMIT_MS = 1_000;

/** The span and the count of each callback; the span points to the trace of the bill that the callback is about. */
@Injectable()
export class CallbackWatch {
  constructor(
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    private readonly callbacks: CallbackStore,
  ) {}

  /** @param failed what is answered where receiving it throws */
  run<Answer extends { readonly kind: string }, Failed extends { readonly kind: string }>(
    shop: string,
    kind: CallbackKind,
    receive: (seen: RecordedCallback) => Promise<Answer>,
    failed: (error: unknown) => Failed,
  ): Promise<Answer | Failed> {
    const attributes = { 'payment.shop': shop, 'payment.callback.kind': kind };
    return this.telemetry.span('payment.callback', { attributes }, async (span) => {
      const seen: RecordedCallback = { digest: 'absent' };
      let answer: Answer | Failed;
      try {
        answer = await receive(seen);
      } catch (error) {
        answer = failed(error);
      }
      const outcome = seen.outcome ?? answer.kind;
      this.metrics.callback(shop, kind, seen.digest, outcome);
      span.set({ 'payment.callback.digest': seen.digest, 'payment.outcome': outcome });
      if (span.recording && seen.id !== undefined) span.link(await this.traceOf(seen.id));
      return answer;
    });
  }

  private async traceOf(id: string): Promise<string | null> {
    try {
      return await withTimeout(LINK_LIMIT_MS, this.callbacks.traceOf(id));
    } catch {
      // It is stored; only its span stands alone.
      return null;
    }
  }
}
