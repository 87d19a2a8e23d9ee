import fs from 'node:fs';
import path from 'node:path';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';
import type { Scraped } from './scrape.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = path.join(root, 'libs/payment-acceptance/monitoring');

export const RULES_FILE = path.join(folder, 'payment-acceptance.rules.yml');
export const TESTS_FILE = path.join(import.meta.dirname, 'alerts.test.yml');
export const RULES = fs.readFileSync(RULES_FILE, 'utf8');

/** Names that the rules record. */
export const RECORDED = [...RULES.matchAll(/- record: (\S+)/g)].map(([, name]) => name!);

/** What is written at each alert; each key is on a line of its own. */
export const ALERTS = RULES.split(/^ +- alert: /m)
  .slice(1)
  .map((text) => {
    const of = (key: string): string | undefined => new RegExp(`^ +${key}: (.+)`, 'm').exec(text)?.[1];
    return {
      name: /^\w+/.exec(text)![0],
      severity: of('severity'),
      summary: of('summary'),
      description: of('description'),
      runbook: of('runbook_url'),
    };
  });

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: object; readonly overrides: readonly object[] };
  readonly targets?: readonly { refId: string; expr: string; datasource: { type: string; uid: string } }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { name: string; type: string; definition?: string }[] };
  readonly panels: readonly Panel[];
}

export const DASHBOARD = JSON.parse(
  fs.readFileSync(path.join(folder, 'payment-acceptance.dashboard.json'), 'utf8'),
) as Dashboard;

/** Everything that the dashboard asks Prometheus. */
export const DASHBOARD_QUERIES = [
  ...DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...DASHBOARD.templating.list.flatMap(({ definition }) => definition ?? []),
];

export function readDocument(name: string): string {
  return fs.readFileSync(path.join(root, 'docs', name), 'utf8');
}

/** The PromQL of docs/monitoring.md. */
export const DOCUMENTED_QUERIES = codeBlocks(readDocument('monitoring.md')).flatMap(({ language, text }) =>
  language === 'promql' ? [text] : [],
);

/** The lists of metrics in docs/monitoring.md: instrument, labels, and the name in Prometheus that follows from the kind. */
export function documentedMetrics(): Scraped[] {
  const text = readDocument('monitoring.md');
  const types = text.split(/^(?=Counters|Histograms|Gauges)/m).slice(1);
  return types
    .flatMap((list) => {
      const type = /^\w+(?=s\b)/.exec(list)![0].toLowerCase();
      return [...list.matchAll(/^- `(payment_acceptance\.[^`]+)`(?: \(([^)]*)\))?/gm)].map(
        ([, instrument = '', labels = '']) => ({
          instrument,
          name: `${instrument.replaceAll('.', '_')}${type === 'counter' ? '_total' : ''}`,
          type,
          labels: [...labels.matchAll(/`([^`]+)`/g)].map(([, label]) => label!).sort(),
        }),
      );
    })
    .sort((a, b) => a.instrument.localeCompare(b.instrument));
}
