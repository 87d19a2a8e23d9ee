import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader, type DataPoint, type MetricData } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

class Collector extends MetricReader {
  protected override onForceFlush = (): Promise<void> => Promise.resolve();
  protected override onShutdown = (): Promise<void> => Promise.resolve();
}

/** The real SDK, registered like in a host, with in-memory exporters. */
export interface Sdk {
  spans(name?: string): ReadableSpan[];
  metrics(): Promise<MetricData[]>;
  /** Values of a counter or gauge, by their attributes in the form `a=1 b=2`. */
  values(metric: string): Promise<Record<string, number>>;
  reset(): void;
  end(): void;
}

export function registerSdk(): Sdk {
  const exporter = new InMemorySpanExporter();
  const reader = new Collector();
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  const metrics = async (): Promise<MetricData[]> => {
    const { resourceMetrics, errors } = await reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  };
  return {
    metrics,
    spans: (name) => exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name),
    async values(name) {
      const metric = (await metrics()).find(({ descriptor }) => descriptor.name === name);
      const points = (metric?.dataPoints ?? []) as DataPoint<number>[];
      return Object.fromEntries(points.map(({ attributes, value }) => [written(attributes), value]));
    },
    reset: () => exporter.reset(),
    end() {
      api.trace.disable();
      api.metrics.disable();
      api.context.disable();
    },
  };
}

const written = (attributes: api.Attributes): string =>
  Object.entries(attributes)
    .map(([name, value]) => `${name.replace(/^payment\./, '')}=${String(value)}`)
    .sort()
    .join(' ');
