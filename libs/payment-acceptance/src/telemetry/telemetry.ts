import { Injectable } from '@nestjs/common';
import {
  context,
  isSpanContextValid,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type BatchObservableResult,
  type Context,
  type Observable,
  type Span,
} from '@opentelemetry/api';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';

const INSTRUMENTATION = 'nestjs-payment-acceptance';

export type TelemetryAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** Default `internal`. */
  readonly kind?: 'internal' | 'consumer';
  readonly attributes?: TelemetryAttributes;
  /** A stored `traceparent` to continue, or `null` to start a new trace. Default: the active span. */
  readonly parent?: string | null;
}

/** A no-op without tracing. */
export interface ActiveSpan {
  /** If false, skip work that only serves the trace. */
  readonly recording: boolean;
  /** Store it so that another process can continue the trace; `null` if there is no trace. */
  readonly traceparent: string | null;
  set(attributes: TelemetryAttributes): void;
  /** Marks the span as failed when the work reports its error without throwing it. */
  fail(error: unknown): void;
  /** Links a span of another trace by its stored `traceparent`. */
  link(traceparent: string | undefined): void;
}

export interface InstrumentOptions {
  readonly unit: string;
  readonly description: string;
}

/** Adds to a counter, or records into a histogram. */
export type RecordValue = (value: number, attributes: TelemetryAttributes) => void;

export interface Measurement {
  readonly gauge: string;
  readonly value: number;
  readonly attributes?: TelemetryAttributes;
}

interface StartedSpan {
  readonly span: Span;
  readonly base: Context;
}

const SPAN_KINDS = { internal: SpanKind.INTERNAL, consumer: SpanKind.CONSUMER };

const NO_SPAN: ActiveSpan = {
  recording: false,
  traceparent: null,
  set: () => undefined,
  fail: () => undefined,
  link: () => undefined,
};

/**
 * Traces and metrics through `@opentelemetry/api`, a no-op unless the host registers an SDK. Failures of the host's SDK
 * are logged once and never affect a payment.
 */
@Injectable()
export class Telemetry {
  private readonly logger = new PaymentLogger('PaymentTelemetry');
  private failed = false;

  /** An error marks the span as failed, with its type only. */
  span<T>(name: string, options: SpanOptions, work: (span: ActiveSpan) => Promise<T>): Promise<T> {
    const begun = this.safely(() => this.begin(name, options));
    return begun ? this.within(begun, work) : work(NO_SPAN);
  }

  private async within<T>({ span, base }: StartedSpan, work: (span: ActiveSpan) => Promise<T>): Promise<T> {
    const begun: { work?: Promise<T> } = {};
    const begin = () => (begun.work ??= (async () => work(this.active(span)))());
    this.safely(() => void context.with(trace.setSpan(base, span), begin));
    try {
      // Whatever the host's context manager does, the work is done, and done once.
      return await begin();
    } catch (error) {
      this.fail(span, error);
      throw error;
    } finally {
      this.safely(() => span.end());
    }
  }

  counter(name: string, options: InstrumentOptions): RecordValue {
    return this.instrument(() => {
      const counter = metrics.getMeter(INSTRUMENTATION).createCounter(name, options);
      return (value, attributes) => counter.add(value, attributes);
    });
  }

  histogram(name: string, options: InstrumentOptions & { readonly boundaries: number[] }): RecordValue {
    return this.instrument(() => {
      const { boundaries, ...rest } = options;
      const advice = { explicitBucketBoundaries: boundaries };
      const histogram = metrics.getMeter(INSTRUMENTATION).createHistogram(name, { ...rest, advice });
      return (value, attributes) => histogram.record(value, attributes);
    });
  }

  /** The gauges are read together whenever the host's SDK collects. Returns a function that unregisters them. */
  gauges(gauges: Readonly<Record<string, InstrumentOptions>>, read: () => Promise<readonly Measurement[]>): () => void {
    return this.safely(() => this.observe(gauges, read)) ?? (() => undefined);
  }

  private observe(
    gauges: Readonly<Record<string, InstrumentOptions>>,
    read: () => Promise<readonly Measurement[]>,
  ): () => void {
    const meter = metrics.getMeter(INSTRUMENTATION);
    const observables = new Map<string, Observable>(
      Object.entries(gauges).map(([name, options]) => [name, meter.createObservableGauge(name, options)]),
    );
    const collect = async (result: BatchObservableResult): Promise<void> => {
      for (const { gauge, value, attributes } of await read()) {
        const observable = observables.get(gauge);
        if (observable) result.observe(observable, value, attributes);
      }
    };
    const all = [...observables.values()];
    meter.addBatchObservableCallback(collect, all);
    return () => meter.removeBatchObservableCallback(collect, all);
  }

  /** Starts a span; `undefined` if nothing records it and it need not hide the active span, as without an SDK. */
  private begin(name: string, options: SpanOptions): StartedSpan | undefined {
    const { kind = 'internal', attributes, parent } = options;
    const active = context.active();
    const base = parent === undefined ? active : remote(parent);
    const span = trace.getTracer(INSTRUMENTATION).startSpan(name, { kind: SPAN_KINDS[kind], attributes }, base);
    const isSeen = span.isRecording() || isSpanContextValid(span.spanContext());
    return isSeen || base !== active ? { span, base } : undefined;
  }

  private active(span: Span): ActiveSpan {
    return {
      recording: span.isRecording(),
      traceparent: traceparentOf(span),
      set: (attributes) => this.safely(() => void span.setAttributes(attributes)),
      fail: (error) => this.fail(span, error),
      link: (traceparent) => {
        const linked = traceparent === undefined ? undefined : readTraceparent(traceparent);
        if (linked) this.safely(() => void span.addLink({ context: { ...linked, isRemote: true } }));
      },
    };
  }

  private fail(span: Span, error: unknown): void {
    this.safely(() => {
      span.setAttribute('error.type', errorType(error)).setStatus({ code: SpanStatusCode.ERROR });
    });
  }

  /** Creates the instrument on first use, so that the host may register its SDK late. */
  private instrument(make: () => RecordValue): RecordValue {
    let recording: RecordValue | undefined;
    return (value, attributes) => this.safely(() => (recording ??= make())(value, attributes));
  }

  private safely<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!this.failed) {
        const line = `The OpenTelemetry SDK failed; payments are not affected. ${describeError(error)}`;
        this.logger.write('telemetry-failed', line, { error: errorType(error) });
      }
      this.failed = true;
      return undefined;
    }
  }
}

function traceparentOf(span: Span): string | null {
  const reference = span.spanContext();
  return isSpanContextValid(reference) ? writeTraceparent(reference) : null;
}

/** A context with the stored span as its parent, and nothing of the active context. */
function remote(traceparent: string | null): Context {
  const parent = traceparent === null ? undefined : readTraceparent(traceparent);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

export interface SpanReference {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

const TRACEPARENT_PATTERN = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Formats a span as a W3C Trace Context `traceparent` (version 00), the form in which it is stored. */
export function writeTraceparent({ traceId, spanId, traceFlags }: SpanReference): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}

/** `undefined` if the text is no valid `traceparent` or names no span. */
export function readTraceparent(text: string): SpanReference | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT_PATTERN.exec(text) ?? [];
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
