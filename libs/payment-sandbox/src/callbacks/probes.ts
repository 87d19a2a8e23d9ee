import { Injectable } from '@nestjs/common';
import { randomId } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import { deniesDelivery, type Findings, isPage, mentionsDigest, otherFormat, type PostAttempt } from './advice.js';
import { signFields } from './messages.js';
import { post, type PostAnswer } from './post.js';

/** Probes that take longer are abandoned; the advice then does without them. */
const TIMEOUT_MS = 700;
const CACHE_TTL_MS = 10_000;
const MAX_CACHED = 100;
const GLOBAL_PREFIXES = ['api', 'api/v1', 'v1'];

/**
 * A postback that no shop can take for its own: an order that cannot exist, FAIL, and a wrong digest. A redirect has
 * fewer of these fields.
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

/** Sends probes, postbacks for an order that cannot exist, to find out why a shop refused a postback. */
@Injectable()
export class Probes {
  private readonly cache = new Map<string, { at: number; findings: Promise<Findings> }>();

  /** @param isForged whether the postback was forged, so that the shop should not have accepted it */
  find(attempt: PostAttempt, closed: AbortSignal, isForged = false): Promise<Findings> {
    const { shop, url, format, answer } = attempt;
    const { status, body } = answer;
    if (status === 404 || status === 405) {
      return this.findCached(`address ${url}`, async () => ({
        similarAddress: await findSimilarAddress(url, format, closed),
      }));
    }
    const isRefused = (status !== null && status >= 400 && status !== 419) || hasFailed(answer);
    if (!isRefused && !(status === 200 && (isForged || deniesDelivery(body)))) return Promise.resolve({});
    // Includes the shop: another shop at the same address has another token.
    return this.findCached(`format ${format} ${shop.id} ${url}`, () => this.compare(attempt, closed));
  }

  /**
   * Sends a postback in each format with a right digest, a right one in lower case, and a wrong one: a shop that
   * answers right and wrong ones alike has not read the digest.
   */
  private async compare({ shop, url, format }: PostAttempt, closed: AbortSignal): Promise<Findings> {
    const other = otherFormat(format);
    const answersTo = async (as: Shop['postbackFormat']) => {
      const send = (fields: Record<string, string>): Promise<PostAnswer> => post(url, fields, as, TIMEOUT_MS, closed);
      const signed = signFields(impossibleFields(), shop);
      const lowerCased = { ...signed, SignatureValue: (signed['SignatureValue'] ?? '').toLowerCase() };
      const [upperCase, lowerCase, wrong] = await Promise.all([
        send(signed),
        send(lowerCased),
        send(impossibleFields()),
      ]);
      return { upperCase, lowerCase, wrong };
    };
    const [same, changed] = await Promise.all([answersTo(format), answersTo(other)]);
    if (answersDiffer(same.upperCase, same.wrong)) return { understands: true };
    if (answersDiffer(changed.upperCase, changed.wrong) || isBetterAnswer(changed.upperCase, same.upperCase)) {
      return { requirement: { format: other, status: changed.upperCase.status } };
    }
    if (answersDiffer(same.lowerCase, same.wrong))
      return { requirement: { digest: 'lower-case', status: same.lowerCase.status } };
    if (answersDiffer(changed.lowerCase, changed.wrong)) {
      return { requirement: { format: other, digest: 'lower-case', status: changed.lowerCase.status } };
    }
    const { status, body } = changed.upperCase;
    if (hasFailed(same.upperCase) && status !== null && status < 500) {
      return { otherwise: { format: other, answer: `${status} ${body.replace(/\s+/g, ' ').slice(0, 40)}`.trim() } };
    }
    const answers = [same, changed].flatMap((each) => Object.values(each));
    const first = answers[0]?.status ?? null;
    const isAlike = first !== null && answers.every((each) => each.status === first);
    return isAlike ? { commonAnswer: { status: first, isPage: answers.every((each) => isPage(each.body)) } } : {};
  }

  private findCached(key: string, find: () => Promise<Findings>): Promise<Findings> {
    const cached = this.cache.get(key);
    if (cached && performance.now() - cached.at < CACHE_TTL_MS) return cached.findings;
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    const findings = find();
    this.cache.set(key, { at: performance.now(), findings });
    return findings;
  }
}

/** Tries the same path under common global prefixes, or without the prefix that it has. */
async function findSimilarAddress(
  url: string,
  format: Shop['postbackFormat'],
  closed: AbortSignal,
): Promise<Findings['similarAddress']> {
  const { origin, pathname, search } = new URL(url);
  const prefix = /^\/(api\/v\d+|api|v\d+)(?=\/.)/.exec(pathname)?.[0];
  const paths =
    prefix === undefined ? GLOBAL_PREFIXES.map((each) => `/${each}${pathname}`) : [pathname.slice(prefix.length)];
  const urls = paths.map((path) => `${origin}${path}${search}`);
  const answers = await Promise.all(urls.map((each) => post(each, impossibleFields(), format, TIMEOUT_MS, closed)));
  for (const [index, { status }] of answers.entries()) {
    const candidateUrl = urls[index];
    if (candidateUrl !== undefined && status !== null && status !== 404 && status !== 405 && status < 500) {
      return { url: candidateUrl, status };
    }
  }
  return undefined;
}

/** A handler that fails may also just close the connection. */
function hasFailed({ status, code }: PostAnswer): boolean {
  return status === null ? code === 'ECONNRESET' : status >= 500;
}

/**
 * Whether the shop accepted the postback, or refused it for another reason than the one with the wrong digest. A
 * missing answer proves nothing.
 */
function answersDiffer(answer: PostAnswer, wrong: PostAnswer): boolean {
  if (answer.status === null || wrong.status === null || answer.status >= 500) return false;
  if (isBusy(answer) || isBusy(wrong)) return false;
  return answer.status !== wrong.status || mentionsDigest(answer.body) !== mentionsDigest(wrong.body);
}

/** A shop that is too busy or limits the rate proves nothing about what was sent. */
function isBusy({ status }: PostAnswer): boolean {
  return status === 429 || status === 503;
}

/**
 * For shops that check no digest: whether they can read the postback that got `answer` (they accept it or do not find
 * its order), but not the one that got `other`.
 */
function isBetterAnswer(answer: PostAnswer, other: PostAnswer): boolean {
  const isTaken = answer.status === 200 && !deniesDelivery(answer.body);
  if (isBusy(other)) return false;
  if (other.status === null) return isTaken && other.code === 'ECONNRESET';
  if (other.status === 200 && !deniesDelivery(other.body)) return false;
  return isTaken || ((answer.status === 404 || answer.status === 409) && other.status >= 500);
}
