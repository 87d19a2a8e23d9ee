import { Injectable } from '@nestjs/common';
import { randomId } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import { type Findings, speaksOfDigest, type Tried } from './advice.js';
import { post, type PostAnswer } from './post.js';
import { postbackBody } from './postback.js';

/** Probes that take longer are abandoned; the advice then does without them. */
const LIMIT_MS = 700;
/** Postbacks that fail alike share one probe. */
const KEPT_MS = 10_000;
const MOST_KEPT = 100;
const PREFIXES = ['api', 'api/v1', 'v1'];

/**
 * The fields of a postback (a redirect has fewer) that no shop can take for its own: an order that cannot exist, a
 * wrong digest, FAIL.
 */
export function impossibleFields(): Record<string, string> {
  return {
    Status: 'FAIL',
    InvId: `sandbox-check-${randomId()}`,
    Commission: '0.00',
    CurrencyIn: 'RUB',
    OutSum: '1.00',
    TrsId: `check${randomId()}`,
    SignatureValue: '0'.repeat(32),
  };
}

/** Finds out why a shop refused a postback, by sending others for an order that cannot exist. */
@Injectable()
export class Probes {
  private readonly kept = new Map<string, { at: number; findings: Promise<Findings> }>();

  find({ url, format, answer }: Pick<Tried, 'url' | 'format' | 'answer'>, closed: AbortSignal): Promise<Findings> {
    const { status } = answer;
    if (status === 404 || status === 405) {
      return this.once(`address ${url}`, async () => ({ elsewhere: await elsewhere(url, format, closed) }));
    }
    if (status === 400 || status === 415 || status === 422) {
      return this.once(`format ${format} ${url}`, async () => ({
        otherFormat: await otherFormat(url, format, closed),
      }));
    }
    return Promise.resolve({});
  }

  private once(key: string, find: () => Promise<Findings>): Promise<Findings> {
    const known = this.kept.get(key);
    if (known && performance.now() - known.at < KEPT_MS) return known.findings;
    if (this.kept.size >= MOST_KEPT) this.kept.clear();
    const findings = find();
    this.kept.set(key, { at: performance.now(), findings });
    return findings;
  }
}

/** One postback for an order that cannot exist. */
function probe(url: string, format: Shop['postbackFormat'], closed: AbortSignal): Promise<PostAnswer> {
  const { type, text } = postbackBody(impossibleFields(), format);
  return post(url, type, text, LIMIT_MS, closed);
}

/** Tries the same path under common global prefixes, or without the one it has. */
async function elsewhere(
  url: string,
  format: Shop['postbackFormat'],
  closed: AbortSignal,
): Promise<Findings['elsewhere']> {
  const { origin, pathname, search } = new URL(url);
  const prefix = /^\/(api\/v\d+|api|v\d+)(?=\/.)/.exec(pathname)?.[0];
  const paths = prefix === undefined ? PREFIXES.map((each) => `/${each}${pathname}`) : [pathname.slice(prefix.length)];
  const tried = paths.map((path) => `${origin}${path}${search}`);
  const answers = await Promise.all(tried.map((each) => probe(each, format, closed)));
  for (const [index, { status }] of answers.entries()) {
    const found = tried[index];
    if (found !== undefined && status !== null && status !== 404 && status !== 405 && status < 500) {
      return { url: found, status };
    }
  }
  return undefined;
}

async function otherFormat(
  url: string,
  format: Shop['postbackFormat'],
  closed: AbortSignal,
): Promise<Findings['otherFormat']> {
  const [same, other] = await Promise.all([
    probe(url, format, closed),
    probe(url, format === 'json' ? 'form' : 'json', closed),
  ]);
  return { differs: understanding(other) > understanding(same), status: other.status };
}

/**
 * How far a shop got with a postback that it must refuse: could not read it, read it, found its digest wrong, took it.
 */
function understanding({ status, body }: PostAnswer): number {
  if (status === 200) return 3;
  if (status === 401 || status === 403 || status === 409) return 2;
  if (status === 400 || status === 404 || status === 422) return speaksOfDigest(body) ? 2 : 1;
  return 0;
}
