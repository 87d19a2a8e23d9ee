import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Instant, Shop } from '../model/entities.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { adviceFor, type Findings, type PostAttempt } from './advice.js';
import { post } from './post.js';
import { impossibleFields, Probes } from './probes.js';

/** What the service would meet at one of a shop's addresses. */
export interface CheckedAddress {
  setting: 'resultUrl' | 'successUrl' | 'failUrl';
  /** Null if no address is set. */
  url: string | null;
  /** The HTTP status of the answer; null if none came. */
  status: number | null;
  /** The first bytes of the answer's body. */
  body: string;
  /** `bad`: postbacks or payers get lost here. `warn`: worth a look. */
  verdict: 'good' | 'warn' | 'bad';
  /** What the verdict means, and what to do. */
  says: string;
}

/** How a shop answered postbacks and redirects for an order that cannot exist. */
export interface ShopCheck {
  shopId: string;
  at: Instant;
  addresses: CheckedAddress[];
}

type Judgement = [verdict: CheckedAddress['verdict'], says: string];

const TIMEOUT_MS = 5_000;
const MAX_KEPT_CHECKS = 100;
const REFUSAL_STATUSES = [400, 401, 403, 409, 422];

/** Uses an order that cannot exist and the Status FAIL, so that the shop changes nothing. */
@Injectable()
export class ShopCheckService implements BeforeApplicationShutdown {
  private readonly shutdown = new AbortController();
  private readonly checks = new Map<string, ShopCheck>();

  constructor(
    private readonly clock: SandboxClock,
    private readonly probes: Probes,
  ) {}

  last(shopId: string): ShopCheck | undefined {
    return this.checks.get(shopId);
  }

  forget(shopId: string): void {
    this.checks.delete(shopId);
  }

  async check(shop: Shop): Promise<ShopCheck> {
    const at = this.clock.instant();
    const settings = ['resultUrl', 'successUrl', 'failUrl'] as const;
    const addresses = await Promise.all(settings.map((setting) => this.checkAddress(shop, setting)));
    const check = { shopId: shop.id, at, addresses };
    if (this.checks.size >= MAX_KEPT_CHECKS) this.checks.clear();
    this.checks.set(shop.id, check);
    return check;
  }

  beforeApplicationShutdown(): void {
    this.shutdown.abort();
  }

  private async checkAddress(shop: Shop, setting: CheckedAddress['setting']): Promise<CheckedAddress> {
    const { [setting]: url } = shop;
    const isRedirect = setting !== 'resultUrl';
    if (url === null) {
      const says = isRedirect
        ? 'no address is set: the payer stays on the result page'
        : 'no Result URL is set: no postback is sent';
      return { setting, url, status: null, body: '', verdict: 'warn', says };
    }
    const postback = impossibleFields();
    const { SignatureValue = '', ...fields } = postback;
    const { InvId = '', OutSum = '', CurrencyIn = '' } = fields;
    const sent = isRedirect ? { InvId, OutSum, CurrencyIn, SignatureValue } : postback;
    const format = isRedirect ? 'form' : shop.postbackFormat;
    const answer = await post(url, sent, format, TIMEOUT_MS, this.shutdown.signal);
    // Leaves out the wrong digest: the advice is about the address, not about this postback.
    const attempt = { shop, url, format, fields, answer };
    const [verdict, says] = await (isRedirect ? this.judgeRedirect(attempt) : this.judgePostback(attempt));
    return { setting, url, status: answer.status, body: answer.body, verdict, says };
  }

  private async judgePostback(attempt: PostAttempt): Promise<Judgement> {
    const { status } = attempt.answer;
    const findings = await this.probes.find(attempt, this.shutdown.signal, true);
    const advice = adviceFor(attempt, findings)?.advice ?? '';
    if (findings.requirement) return ['bad', advice];
    if (findings.understands) {
      const says = `it understands postbacks: it can tell a correct signature from a wrong one, which it refused with ${status}`;
      return ['good', says];
    }
    if (status === 200 && advice !== '') return ['warn', advice];
    if (status === 200) {
      const says =
        'it accepts postbacks. This one was forged, for an order that cannot exist: make sure that the shop has changed nothing because of it';
      return ['good', says];
    }
    if (isRefusal(status)) {
      const alike = findings.commonAnswer ? ', and to one with a correct signature' : '';
      const says = `it answered ${status} to a postback with a wrong signature${alike}: pay a bill to see whether it accepts a genuine one`;
      return ['warn', says];
    }
    return notTaken(status, advice, findings);
  }

  private async judgeRedirect(attempt: PostAttempt): Promise<Judgement> {
    const { status } = attempt.answer;
    if (isRefusal(status)) {
      const says = `it answered ${status} to a redirect with a wrong signature: that is fine if it accepts genuine ones`;
      return ['good', says];
    }
    if (status !== null && status < 400) {
      const says =
        'it accepts redirects. The signature of this one is wrong: make sure that the shop has changed nothing because of it';
      return ['good', says];
    }
    const isNotThere = status === 404 || status === 405;
    const findings = isNotThere ? await this.probes.find(attempt, this.shutdown.signal) : {};
    return notTaken(status, adviceFor(attempt, findings)?.advice ?? '', findings);
  }
}

function isRefusal(status: number | null): boolean {
  return status !== null && REFUSAL_STATUSES.includes(status);
}

function notTaken(status: number | null, advice: string, { similarAddress }: Findings): Judgement {
  const mayBeOrder = status === 404 && !similarAddress;
  return mayBeOrder ? ['warn', `${advice}; or this is how it answers for an unknown order`] : ['bad', advice];
}
