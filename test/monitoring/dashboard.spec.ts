import { describe, expect, test } from '@jest/globals';
import { DASHBOARD, type Panel } from './published.js';

/** What Grafana needs to import a dashboard, from its JSON model; a panel it does not understand it leaves out silently. */
describe('the dashboard', () => {
  const { panels } = DASHBOARD;
  const rows = panels.filter(({ type }) => type === 'row');
  const graphs = panels.filter(({ type }) => type !== 'row');

  test('the dashboard has a uid and a schema version, and no id of the Grafana it came from', () => {
    expect(DASHBOARD).toMatchObject({ uid: 'payment-acceptance', title: expect.any(String) });
    expect(DASHBOARD.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(DASHBOARD).not.toHaveProperty('id');
  });

  test('the dashboard queries the selected data source, jobs and shops', () => {
    const names = DASHBOARD.templating.list.map(({ name, type }) => `${name}: ${type}`);
    expect(names).toEqual(['datasource: datasource', 'job: query', 'shop: query']);
    const source = { type: 'prometheus', uid: '${datasource}' };
    for (const { title, datasource, targets } of graphs) {
      expect({ title, datasource }).toEqual({ title, datasource: source });
      for (const target of targets ?? []) expect({ title, of: target.datasource }).toEqual({ title, of: source });
    }
  });

  test('the dashboard has panels of known types, each with its queries', () => {
    expect(graphs.length).toBeGreaterThan(20);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, type, targets, fieldConfig } of graphs) {
      expect({ title, type }).toEqual({ title, type: expect.stringMatching(/^(stat|timeseries|state-timeline)$/) });
      expect({ title, fieldConfig }).toMatchObject({ title, fieldConfig: { defaults: {}, overrides: [] } });
      const refs = (targets ?? []).map(({ refId }) => refId);
      expect({ title, refs }).toEqual({ title, refs: ['A', 'B', 'C'].slice(0, Math.max(1, refs.length)) });
      for (const { expr } of targets ?? []) expect(expr).toContain('job=~"$job"');
    }
  });

  test('the panels of the dashboard do not overlap, and are below the title of their row', () => {
    const overlaps = (a: Panel, b: Panel): boolean =>
      a.gridPos.x < b.gridPos.x + b.gridPos.w &&
      b.gridPos.x < a.gridPos.x + a.gridPos.w &&
      a.gridPos.y < b.gridPos.y + b.gridPos.h &&
      b.gridPos.y < a.gridPos.y + a.gridPos.h;
    const pairs = panels.flatMap((a, index) => panels.slice(index + 1).map((b) => [a, b] as const));
    expect(pairs.filter(([a, b]) => overlaps(a, b)).map(([a, b]) => [a.title, b.title])).toEqual([]);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    expect(rows.map(({ title }) => title)).toEqual([
      'State',
      'Payments',
      'Service levels',
      'The payment acceptance service',
      'Callbacks and deliveries',
      'Instances',
    ]);
  });
});
