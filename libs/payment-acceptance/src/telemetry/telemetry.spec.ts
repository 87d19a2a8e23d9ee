import { afterEach, describe, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { Telemetry, type ActiveSpan } from './telemetry.js';

const require = createRequire(import.meta.url);

// Some tests break the SDK on purpose; keep the resulting warnings out of the output.
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

  describe('without an SDK', () => {
    test('without an OpenTelemetry SDK, work runs and there is no trace context to store', async () => {
      const telemetry = new Telemetry();
      expect(await telemetry.span('work', {}, (span) => Promise.resolve(span))).toMatchObject({
        recording: false,
        traceparent: null,
      });
      telemetry.counter('c', { unit: '1', description: '' })(1, {});
      telemetry.gauges({}, () => Promise.reject(new Error('never read')))();
    });
  });

  describe('with an SDK', () => {
    test.each([
      ['before the work', () => undefined],
      ['after the work', (work: () => void) => work()],
      ['and asks for the work twice', (work: () => void) => [work, work].forEach((each) => each())],
    ])('work is done once beside a context manager that throws %s', async (_when, first) => {
      register();
      api.context.disable();
      const broken = (_context: unknown, work: () => void): never => {
        first(work);
        throw new Error('no context');
      };
      const manager = new AsyncLocalStorageContextManager();
      api.context.setGlobalContextManager(Object.assign(manager, { with: broken }));
      let times = 0;
      await new Telemetry().span('work', {}, () => Promise.resolve((times += 1)));
      expect(times).toBe(1);
    });

    test('a span is active during its work, continues a stored parent, and records an error without its message', async () => {
      register();
      const telemetry = new Telemetry();
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

    test('a span goes to an SDK that the host has registered with another copy of the API', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'telemetry-'));
      try {
        fs.cpSync(path.dirname(require.resolve('@opentelemetry/api')), folder, { recursive: true });
        // A newer Node would guess which modules these are.
        fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }');
        const other = require(folder) as typeof api;
        expect(other.trace).not.toBe(api.trace);
        other.trace.setGlobalTracerProvider(
          new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
        );
        await new Telemetry().span('work', {}, () => Promise.resolve());
        expect(exporter.getFinishedSpans()).toMatchObject([{ name: 'work' }]);
      } finally {
        fs.rmSync(folder, { recursive: true, force: true });
      }
    });

    test('a span with the parent `null` begins a new trace, whatever is active', async () => {
      register();
      const telemetry = new Telemetry();
      await telemetry.span('outer', {}, () => telemetry.span('own', { parent: null }, () => Promise.resolve()));
      const [own, outer] = exporter.getFinishedSpans();
      expect(own?.spanContext().traceId).not.toBe(outer?.spanContext().traceId);
      expect(own?.parentSpanContext).toBeUndefined();
    });

    test('a failing SDK keeps no work from running or ending', async () => {
      const fail = () => {
        throw new Error('the exporter is broken');
      };
      for (const processor of [{ onStart: fail }, { onEnd: fail }]) {
        register(processor);
        const telemetry = new Telemetry();
        expect(await telemetry.span('work', {}, (_span: ActiveSpan) => Promise.resolve('done'))).toBe('done');
        api.trace.disable();
      }
    });
  });
});
