/** What another process needs to continue a span's trace. */
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
