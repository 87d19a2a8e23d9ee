import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import {
  ALERTS,
  DASHBOARD_QUERIES,
  DOCUMENTED_QUERIES,
  documentedMetrics,
  RECORDED,
  readDocument,
  RULES,
} from './published.js';
import { startExporter, type Exporter, type Scraped } from './scrape.js';
import { anchors } from '../../scripts/lib/markdown.mjs';

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): void {}
}

@Injectable()
class Mails {
  @OnPaymentSucceeded({ consumer: 'mails' })
  take(): never {
    throw new Error('the mail server is down');
  }
}

describe('metrics in Prometheus', () => {
  let exporter: Exporter;
  let harness: Harness;
  let scraped: Scraped[];
  beforeAll(async () => {
    exporter = await startExporter();
    harness = await startHarness({ providers: [Orders, Mails] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'a', amount: '10' });
    await harness.sandbox.pay(billId);
    harness.clock.advance(60_000);
    await harness.settle();
    scraped = await exporter.scrape();
  });
  afterAll(async () => {
    await harness.close();
    await exporter.close();
  });

  const seriesOf = ({ name, type }: Scraped): string[] =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name];

  test('the metrics have the names, kinds and labels that docs/monitoring.md lists', () => {
    expect(documentedMetrics()).toEqual([...scraped].sort((a, b) => a.instrument.localeCompare(b.instrument)));
  });

  test.each([
    ['dashboard', DASHBOARD_QUERIES.join('\n')],
    ['rules', RULES],
    ['queries of docs/monitoring.md', DOCUMENTED_QUERIES.join('\n')],
  ])('the %s use only existing metrics and labels', (_, text) => {
    const names = [...text.matchAll(/[\w:]*payment_acceptance_[\w:]+/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(3);
    const known = [...scraped.flatMap(seriesOf), ...RECORDED];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    const labels = [...text.matchAll(/\bpayment_(?!acceptance)\w+/g)].map(([label]) => label);
    expect(labels.filter((label) => !scraped.some((metric) => metric.labels.includes(label)))).toEqual([]);
  });

  test('each alert has a severity and a link to its heading in the runbook', () => {
    const headings = anchors(readDocument('operations.md'));
    expect(ALERTS.length).toBeGreaterThan(20);
    for (const { name, severity, summary, description, runbook } of ALERTS) {
      expect({ name, severity }).toEqual({ name, severity: expect.stringMatching(/^(critical|warning)$/) });
      expect({ name, texts: [summary, description] }).toEqual({
        name,
        texts: [expect.any(String), expect.any(String)],
      });
      const [, anchor] =
        /^https:\/\/runbooks\.example\/payment-acceptance\/operations\.md#(.+)$/.exec(runbook ?? '') ?? [];
      expect({ name, known: headings.includes(anchor ?? '') }).toEqual({ name, known: true });
    }
  });
});
