import { afterEach, describe, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { loadOpenTelemetry } from './open-telemetry.js';
import { Telemetry, type ActiveSpan } from './telemetry.js';

// A broken SDK is logged; this output has no use for it.
Logger.overrideLogger(false);

const exporter = new InMemorySpanExporter();

function register(...processors: { onStart?: () => void; onEnd?: () => void }[]): void {
  const nothing = { forceFlush: () => Promise.resolve(), shutdown: () => Promise.resolve() };
  const own = processors.map((each) => ({ onStart: () => undefined, onEnd: () => undefined, ...nothing, ...each }));
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), ...own] });
  api.trace.setGlobalTracerProvider(provider);
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}

describe('telemetry', () => {
  afterEach(() => {
    api.trace.disable();
    api.context.disable();
    exporter.reset();
  });

  describe('without @opentelemetry/api', () => {
    test.each(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])('(%s) every call does nothing', async (code) => {
      const absent = () => Promise.reject(Object.assign(new Error('Cannot find package'), { code }));
      const telemetry = await Telemetry.load(() => loadOpenTelemetry(absent));
      const traceparent = await telemetry.span('work', {}, (span) => {
        span.set({ a: 1 });
        span.link('x');
        return Promise.resolve(span.traceparent);
      });
      telemetry.counter('c', { unit: '1', description: '' })(1, {});
      telemetry.gauges({}, () => Promise.reject(new Error('never read')))();
      expect(traceparent).toBeNull();
    });

    test('what else keeps it from loading is said', async () => {
      const broken = () => Promise.reject(new SyntaxError('Unexpected token'));
      await expect(loadOpenTelemetry(broken)).rejects.toThrow(SyntaxError);
    });
  });

  describe('without an SDK', () => {
    test('work runs, and there is nothing to store', async () => {
      const telemetry = await Telemetry.load();
      expect(await telemetry.span('work', {}, (span) => Promise.resolve(span))).toMatchObject({
        recording: false,
        traceparent: null,
      });
    });
  });

  describe('with an SDK', () => {
    test('a span is active in the work, a stored one is its parent, and an error marks it without its message', async () => {
      register();
      const telemetry = await Telemetry.load();
      let stored: string | null = null;
      await telemetry.span('first', {}, (span) => Promise.resolve((stored = span.traceparent)));
      const failure = telemetry.span('second', { parent: stored, kind: 'consumer' }, async () => {
        await Promise.resolve();
        return telemetry.span('inner', {}, () => Promise.reject(new RangeError('card 4111 1111 1111 1111')));
      });
      await expect(failure).rejects.toThrow(RangeError);
      const [first, inner, second] = exporter.getFinishedSpans();
      expect([first?.name, inner?.name, second?.name]).toEqual(['first', 'inner', 'second']);
      expect(inner?.parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
      expect(second?.parentSpanContext).toMatchObject({ spanId: first?.spanContext().spanId, isRemote: true });
      expect(second?.spanContext().traceId).toBe(first?.spanContext().traceId);
      expect(inner).toMatchObject({ attributes: { 'error.type': 'RangeError' }, status: { code: 2 }, events: [] });
      expect(JSON.stringify(inner?.status)).not.toContain('4111');
    });

    test('`null` for a parent begins a trace, whatever is active', async () => {
      register();
      const telemetry = await Telemetry.load();
      await telemetry.span('outer', {}, () => telemetry.span('own', { parent: null }, () => Promise.resolve()));
      const [own, outer] = exporter.getFinishedSpans();
      expect(own?.spanContext().traceId).not.toBe(outer?.spanContext().traceId);
      expect(own?.parentSpanContext).toBeUndefined();
    });

    test('an SDK that fails keeps no work from running, nor from ending', async () => {
      const fail = () => {
        throw new Error('the exporter is broken');
      };
      for (const processor of [{ onStart: fail }, { onEnd: fail }]) {
        register(processor);
        const telemetry = await Telemetry.load();
        expect(await telemetry.span('work', {}, (_span: ActiveSpan) => Promise.resolve('done'))).toBe('done');
        api.trace.disable();
      }
    });
  });
});
