import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Instant, Shop } from '../model/entities.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { adviceFor } from './advice.js';
import { post, type PostAnswer } from './post.js';
import { postbackBody } from './postback.js';
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
    const addresses = await Promise.all([
      this.checkResultUrl(shop),
      this.checkRedirect(shop, 'successUrl'),
      this.checkRedirect(shop, 'failUrl'),
    ]);
    const check = { shopId: shop.id, at, addresses };
    if (this.checks.size >= MAX_KEPT_CHECKS) this.checks.clear();
    this.checks.set(shop.id, check);
    return check;
  }

  beforeApplicationShutdown(): void {
    this.shutdown.abort();
  }

  private async checkResultUrl(shop: Shop): Promise<CheckedAddress> {
    const setting = 'resultUrl';
    const { resultUrl: url, postbackFormat: format } = shop;
    if (url === null) return unsetAddress(setting, 'no Result URL is set: no postback is sent');
    const answer = await this.send(url, format, impossibleFields());
    const findings = await this.probes.find({ shop, url, format, answer }, this.shutdown.signal, true);
    const { status } = answer;
    const checked = verdictOn(setting, url, answer);
    // Leaves out the wrong digest: the advice is about the address, not about this postback.
    const { SignatureValue: _wrong, ...fields } = impossibleFields();
    const advice = adviceFor({ shop, url, format, fields, answer }, findings)?.advice ?? '';
    if (findings.requirement) return checked('bad', advice);
    if (findings.understands) {
      const says = `it understands postbacks: it can tell a correct signature from a wrong one, which it refused with ${status}`;
      return checked('good', says);
    }
    if (status === 200 && advice !== '') return checked('warn', advice);
    if (status === 200) {
      const says =
        'it accepts postbacks. This one was forged, for an order that cannot exist: make sure that the shop has changed nothing because of it';
      return checked('good', says);
    }
    if (status !== null && REFUSAL_STATUSES.includes(status)) {
      return checked(
        'warn',
        `it answered ${status} to a postback with a wrong signature${findings.commonAnswer ? ', and to one with a correct signature' : ''}: pay a bill to see whether it accepts a genuine one`,
      );
    }
    if (status === 404 && !findings.similarAddress)
      return checked('warn', `${advice}; or this is how it answers for an unknown order`);
    return checked('bad', advice);
  }

  private async checkRedirect(shop: Shop, setting: 'successUrl' | 'failUrl'): Promise<CheckedAddress> {
    const { [setting]: url } = shop;
    if (url === null) return unsetAddress(setting, 'no address is set: the payer stays on the result page');
    const { InvId = '', OutSum = '', CurrencyIn = '', SignatureValue = '' } = impossibleFields();
    const answer = await this.send(url, 'form', { InvId, OutSum, CurrencyIn, SignatureValue });
    const { status } = answer;
    const checked = verdictOn(setting, url, answer);
    if (status !== null && REFUSAL_STATUSES.includes(status)) {
      return checked(
        'good',
        `it answered ${status} to a redirect with a wrong signature: that is fine if it accepts genuine ones`,
      );
    }
    if (status !== null && status < 400) {
      return checked(
        'good',
        'it accepts redirects. The signature of this one is wrong: make sure that the shop has changed nothing because of it',
      );
    }
    const isNotThere = status === 404 || status === 405;
    const attempt = { shop, url, format: 'form', answer } as const;
    const findings = isNotThere ? await this.probes.find(attempt, this.shutdown.signal) : {};
    const advice = adviceFor({ shop, url, format: 'form', fields: {}, answer }, findings)?.advice ?? '';
    if (status === 404 && !findings.similarAddress)
      return checked('warn', `${advice}; or this is how it answers for an unknown order`);
    return checked('bad', advice);
  }

  private send(url: string, format: Shop['postbackFormat'], fields: Record<string, string>): Promise<PostAnswer> {
    const { type, text } = postbackBody(fields, format);
    return post(url, type, text, TIMEOUT_MS, this.shutdown.signal);
  }
}

function verdictOn(setting: CheckedAddress['setting'], url: string, { status, body }: PostAnswer) {
  return (verdict: CheckedAddress['verdict'], says: string): CheckedAddress => ({
    setting,
    url,
    status,
    body,
    verdict,
    says,
  });
}

function unsetAddress(setting: CheckedAddress['setting'], says: string): CheckedAddress {
  return { setting, url: null, status: null, body: '', verdict: 'warn', says };
}
