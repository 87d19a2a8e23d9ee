import * as api from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A metric as Prometheus sees it. */
export interface Scraped {
  readonly instrument: string;
  /** As in the `TYPE` line; a histogram's series add `_bucket`, `_sum` and `_count`. */
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

export interface Exporter {
  scrape(): Promise<Scraped[]>;
  close(): Promise<void>;
}

/** The Prometheus exporter of OpenTelemetry, registered and served as in a host. */
export async function startExporter(): Promise<Exporter> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  return {
    async scrape() {
      const { resourceMetrics } = await exporter.collect();
      const instruments = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics.map((m) => m.descriptor.name));
      const families = readFamilies(await (await fetch(url)).text());
      // The exporter writes metrics in the order in which it collects them.
      if (families.length !== instruments.length) throw new Error('A metric came or went between the two collections.');
      return families.map((family, index) => ({ instrument: instruments[index]!, ...family }));
    },
    async close() {
      api.metrics.disable();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await exporter.shutdown();
    },
  };
}

/** The metrics of Prometheus' text format, without the exporter's own about its target and its labels about the scope. */
function readFamilies(text: string): Omit<Scraped, 'instrument'>[] {
  return text.split('# HELP ').flatMap((part) => {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/m.exec(part) ?? [];
    if (!name || !type || name === 'target_info') return [];
    const labels = [...part.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label!);
    const own = labels.filter((label) => label !== 'le' && !label.startsWith('otel_scope_'));
    return [{ name, type, labels: [...new Set(own)].sort() }];
  });
}
