import { Injectable } from '@nestjs/common';
import { randomId } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import { deniesDelivery, type Findings, isPage, speaksOfDigest, type Tried } from './advice.js';
import { post, type PostAnswer } from './post.js';
import { postbackBody, resigned } from './postback.js';

/** Probes that take longer are abandoned; the advice then does without them. */
const LIMIT_MS = 700;
/** Postbacks that fail alike share one probe. */
const KEPT_MS = 10_000;
const MOST_KEPT = 100;
const PREFIXES = ['api', 'api/v1', 'v1'];

/**
 * The fields of a postback (a redirect has fewer) that no shop can take for its own: an order that cannot exist, FAIL, and a
 * wrong digest.
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

  /** @param isForged whether what was sent should not have been taken at all */
  find(
    tried: Pick<Tried, 'shop' | 'url' | 'format' | 'answer'>,
    closed: AbortSignal,
    isForged = false,
  ): Promise<Findings> {
    const { shop, url, format, answer } = tried;
    const { status, body } = answer;
    if (status === 404 || status === 405) {
      return this.once(`address ${url}`, async () => ({ elsewhere: await elsewhere(url, format, closed) }));
    }
    const isRefused = (status !== null && status >= 400 && status !== 419) || hasFailed(answer);
    if (!isRefused && !(status === 200 && (isForged || deniesDelivery(body)))) return Promise.resolve({});
    // Another shop at the address has another token.
    return this.once(`format ${format} ${shop.id} ${url}`, () => this.compare(tried, closed));
  }

  /** Sends each kind of postback with a right digest and with a wrong one: who answers both alike has not read it. */
  private async compare(
    { shop, url, format }: Pick<Tried, 'shop' | 'url' | 'format'>,
    closed: AbortSignal,
  ): Promise<Findings> {
    const other = format === 'json' ? 'form' : 'json';
    const answersTo = async (as: Shop['postbackFormat']) => {
      const send = (fields: Record<string, string>): Promise<PostAnswer> => probe(url, as, fields, closed);
      const right = resigned(impossibleFields(), shop);
      const lower = { ...right, SignatureValue: (right['SignatureValue'] ?? '').toLowerCase() };
      const [upperCase, lowerCase, wrong] = await Promise.all([send(right), send(lower), send(impossibleFields())]);
      return { upperCase, lowerCase, wrong };
    };
    const [same, changed] = await Promise.all([answersTo(format), answersTo(other)]);
    if (differ(same.upperCase, same.wrong)) return { understands: true };
    if (differ(changed.upperCase, changed.wrong) || isBetter(changed.upperCase, same.upperCase)) {
      return { wants: { format: other, status: changed.upperCase.status } };
    }
    if (differ(same.lowerCase, same.wrong)) return { wants: { digest: 'lower-case', status: same.lowerCase.status } };
    if (differ(changed.lowerCase, changed.wrong)) {
      return { wants: { format: other, digest: 'lower-case', status: changed.lowerCase.status } };
    }
    const { status, body } = changed.upperCase;
    if (hasFailed(same.upperCase) && status !== null && status < 500) {
      return { otherwise: { format: other, answer: `${status} ${body.replace(/\s+/g, ' ').slice(0, 40)}`.trim() } };
    }
    const answers = [same, changed].flatMap((each) => Object.values(each));
    const first = answers[0]?.status ?? null;
    const isAlike = first !== null && answers.every((each) => each.status === first);
    return isAlike ? { alike: { status: first, isPage: answers.every((each) => isPage(each.body)) } } : {};
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
function probe(
  url: string,
  format: Shop['postbackFormat'],
  fields: Record<string, string>,
  closed: AbortSignal,
): Promise<PostAnswer> {
  const { type, text } = postbackBody(fields, format);
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
  const answers = await Promise.all(tried.map((each) => probe(each, format, impossibleFields(), closed)));
  for (const [index, { status }] of answers.entries()) {
    const found = tried[index];
    if (found !== undefined && status !== null && status !== 404 && status !== 405 && status < 500) {
      return { url: found, status };
    }
  }
  return undefined;
}

/** A handler that fails may close the connection. */
function hasFailed({ status, code }: PostAnswer): boolean {
  return status === null ? code === 'ECONNRESET' : status >= 500;
}

/** Whether a shop took the first, or refused it for another reason. One that did not come shows nothing. */
function differ(one: PostAnswer, wrong: PostAnswer): boolean {
  if (one.status === null || wrong.status === null || one.status >= 500) return false;
  if (isBusy(one) || isBusy(wrong)) return false;
  return one.status !== wrong.status || speaksOfDigest(one.body) !== speaksOfDigest(wrong.body);
}

/** A limit of requests was met: that shows nothing about what was sent. */
function isBusy({ status }: PostAnswer): boolean {
  return status === 429 || status === 503;
}

/** For shops that check no digest: one format is taken, or its order is not found, and the other is not read. */
function isBetter(one: PostAnswer, than: PostAnswer): boolean {
  const isTaken = one.status === 200 && !deniesDelivery(one.body);
  if (isBusy(than)) return false;
  if (than.status === null) return isTaken && than.code === 'ECONNRESET';
  if (than.status === 200 && !deniesDelivery(than.body)) return false;
  return isTaken || ((one.status === 404 || one.status === 409) && than.status >= 500);
}
