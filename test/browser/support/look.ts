import { expect } from '@jest/globals';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { DESKTOP, PHONE } from './chromium.js';
import type { World } from './world.js';

/** Git-ignored. */
const SCREENSHOTS = resolve('.data/screenshots');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LARGEST_BYTES = 50 * 1024;

const LOOKS = [
  ['light-desktop', { ...DESKTOP, colorScheme: 'light' }],
  ['dark-desktop', { ...DESKTOP, colorScheme: 'dark' }],
  ['light-phone', { ...PHONE, colorScheme: 'light' }],
  ['dark-phone', { ...PHONE, colorScheme: 'dark' }],
] as const;

/** A page to inspect. */
export interface Place {
  name: string;
  url: string;
  /** Of the answer, where it is not 200. */
  status?: number;
  /** What to do there before the inspection. */
  then?: (page: Page) => Promise<unknown>;
  /** The page leaves by itself: it is looked at without scripts, and axe runs on the page that it shows. */
  leaves?: boolean;
}

/**
 * Light and dark, wide and narrow: a screenshot of each, no violation that axe finds, nothing wider than the window; and
 * once, that the page is light and waits for nothing but its stylesheet.
 */
export async function lookAt(world: World, { name, url, status, then, leaves = false }: Place): Promise<void> {
  const visitor = await world.visit({ javaScriptEnabled: !leaves });
  const { page } = visitor;
  if (status !== undefined) visitor.expected = [status];
  const weight = await weigh(page);
  await page.goto(url);
  expect(await weight()).toBeLessThan(LARGEST_BYTES);
  await then?.(page);
  const scripted = leaves ? await withScripts(world, page) : page;
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const [look, { viewport, colorScheme }] of LOOKS) {
    for (const each of new Set([page, scripted])) {
      await each.setViewportSize(viewport);
      await each.emulateMedia({ colorScheme });
    }
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-${look}.png`), fullPage: true });
    expect({ look, violations: await violations(scripted) }).toEqual({ look, violations: [] });
    const width: number = await scripted.evaluate('document.documentElement.scrollWidth');
    expect({ look, width }).toEqual({ look, width: viewport.width });
  }
  if (!leaves) expect(await blocking(page)).toEqual([expect.stringMatching(/\/style(-\w+\.css|\.css\?\w+)$/)]);
}

/** Freezes a page that would navigate away, so that scripts can inspect it. */
async function withScripts(world: World, page: Page): Promise<Page> {
  const { page: copy } = await world.visit();
  const body = (await page.content()).replace(/<script.*?<\/script>|<noscript>.*?<\/noscript>/gs, '');
  await copy.route(page.url(), (route) => route.fulfill({ contentType: 'text/html; charset=utf-8', body }));
  await copy.goto(page.url());
  return copy;
}

/** Starts counting the bytes received, headers included. */
async function weigh(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send('Network.enable');
  return async () => {
    await session.detach();
    expect(bytes).toBeGreaterThan(1_000);
    return bytes;
  };
}

/** What the browser waits for before it paints. */
async function blocking(page: Page): Promise<string[]> {
  const entries = `performance.getEntriesByType('resource')
    .filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking').map(({ name }) => name)`;
  return page.evaluate<string[]>(entries);
}

/** In the page, where axe is. */
const FIND_VIOLATIONS = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(
  ({ id, help, nodes }) => nodes.map(({ target, any }) => id + ' (' + help + '): ' + target + ' ' + any.map(({ message }) => message))))`;

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(AXE);
  return page.evaluate<string[]>(FIND_VIOLATIONS);
}
