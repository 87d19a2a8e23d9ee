import { Injectable } from '@nestjs/common';
import { withTimeout } from '../common/timeout.js';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import { CallbackStore } from './storage/callback.store.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';

export interface CallbackNotes {
  digest: DigestCheck;
  id?: string;
  /** The outcome, if the answer does not show it. */
  outcome?: 'matched' | 'unmatched' | 'repeated' | 'turned-away';
}

/** How long looking up the trace to link may delay the answer to a stored callback. */
const LINK_TIMEOUT_MS = 1_000;

/** Records a span and a metric for each callback. The span links to the trace of the callback's bill. */
@Injectable()
export class CallbackWatch {
  constructor(
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    private readonly callbacks: CallbackStore,
  ) {}

  /** @param failed makes the answer if receiving throws */
  run<Answer extends { readonly kind: string }, Failed extends { readonly kind: string }>(
    shop: string,
    kind: CallbackKind,
    receive: (seen: CallbackNotes) => Promise<Answer>,
    failed: (error: unknown) => Failed,
  ): Promise<Answer | Failed> {
    const attributes = { 'payment.shop': shop, 'payment.callback.kind': kind };
    return this.telemetry.span('payment.callback', { attributes }, async (span) => {
      const seen: CallbackNotes = { digest: 'absent' };
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
      return await withTimeout(LINK_TIMEOUT_MS, this.callbacks.traceOf(id));
    } catch {
      // The callback is stored; only the link is missing.
      return null;
    }
  }
}
