import { Injectable } from '@nestjs/common';
import { sharedLookUps } from '../common/shared-look-ups.js';
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

/** Timeout of a statement that looks up the traces to link: it delays the answers to stored callbacks. */
const LINK_TIMEOUT_MS = 1_000;

/** Records a span and a metric for each callback. The span links to the trace of the callback's bill. */
@Injectable()
export class CallbackWatch {
  private readonly traceOf: (id: string) => Promise<string | undefined>;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    callbacks: CallbackStore,
  ) {
    this.traceOf = sharedLookUps('PaymentTraces', LINK_TIMEOUT_MS, (ids) => callbacks.tracesOf(ids));
  }

  /** @param receive makes an answer of its failures, too */
  run<Answer extends { readonly kind: string }>(
    shop: string,
    kind: CallbackKind,
    receive: (seen: CallbackNotes) => Promise<Answer>,
  ): Promise<Answer> {
    const attributes = { 'payment.shop': shop, 'payment.callback.kind': kind };
    return this.telemetry.span('payment.callback', { attributes }, async (span) => {
      const seen: CallbackNotes = { digest: 'absent' };
      const answer = await receive(seen);
      const outcome = seen.outcome ?? answer.kind;
      this.metrics.callback(shop, kind, seen.digest, outcome);
      span.set({ 'payment.callback.digest': seen.digest, 'payment.outcome': outcome });
      // If the look-up fails, the callback is stored all the same; only the link is missing.
      if (span.recording && seen.id !== undefined) span.link(await this.traceOf(seen.id).catch(() => undefined));
      return answer;
    });
  }
}
