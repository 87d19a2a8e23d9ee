import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ALERTS, DASHBOARD, DOCUMENTED_QUERIES, RECORDED, RULES_FILE, TESTS_FILE } from './published.js';

/** Prometheus' own tool, of its Debian package or its release. */
const PROMTOOL = process.env.PROMTOOL_PATH ?? 'promtool';
const isThere = spawnSync(PROMTOOL, ['--version']).status === 0;

describe('alerting rules', () => {
  const scenarios = fs.readFileSync(TESTS_FILE, 'utf8');

  test.each(ALERTS)('the alert $name has a scenario in which it fires', ({ name }) => {
    expect(scenarios).toMatch(new RegExp(`alertname="${name}"`));
  });
});

const reason = isThere ? '' : ` (skipped: no ${PROMTOOL}; it comes with Prometheus, PROMTOOL_PATH says where it is)`;

(isThere ? describe : describe.skip)(`promtool${reason}`, () => {
  let folder: string;
  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'promtool-'));
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  const promtool = (...args: string[]) =>
    new Promise<{ code: number | null; output: string }>((resolve) => {
      const child = execFile(PROMTOOL, args, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode, output: `${stdout}${stderr}` }),
      );
    });

  /** As rules that record each, since promtool reads expressions nowhere else without a server. */
  function checkQueries(queries: readonly string[]) {
    const file = path.join(folder, 'queries.yml');
    const rules = queries.map((expr, index) => ({ record: `query_${index}`, expr }));
    fs.writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    return promtool('check', 'rules', file);
  }

  test('promtool understands the rules', async () => {
    const rules = ALERTS.length + RECORDED.length;
    expect(await promtool('check', 'rules', RULES_FILE)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`SUCCESS: ${rules} rules found`),
    });
  });

  test('promtool sees each alert fire in its scenarios, and nowhere else', async () => {
    expect(await promtool('test', 'rules', TESTS_FILE)).toEqual({
      code: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  }, 300_000);

  test('promtool understands every query of the dashboard', async () => {
    const queries = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const filled = queries.map((query) => query.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|shop)/g, '.*'));
    expect(filled.join('')).not.toContain('$');
    expect(await checkQueries(filled)).toMatchObject({ code: 0 });
  });

  test('promtool understands every query of docs/monitoring.md', async () => {
    expect(await checkQueries(DOCUMENTED_QUERIES)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`SUCCESS: ${DOCUMENTED_QUERIES.length} rules found`),
    });
  });
});
