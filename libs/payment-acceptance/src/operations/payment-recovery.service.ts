import { Injectable } from '@nestjs/common';
import { PaymentRandom } from '../common/random.js';
import type { Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillId } from '../domain/ids.js';
import { OperatorStore } from '../storage/operator.store.js';
import { RecoveryStore, type BillToRecheck, type UnknownBillPostback } from '../storage/recovery.store.js';
import { billKey, CreationLogs, type AttachedBill } from './creation-logs.js';
import { OperatorActionError } from './operator.errors.js';
import { PostbackEvidence, type RecoveredBill } from './recovery.js';

export interface RecoveryOptions {
  /** From when on commits may be missing: the time of the backup, or when the standby was last level. An hour more is looked at. */
  readonly since: Date;
  /** Who recovers: it is recorded. */
  readonly operator: string;
  /** Name of the only shop. Default: all shops. */
  readonly shop?: string;
  /** Lines of logs, in which the creations since are looked for. Default: none. */
  readonly log?: AsyncIterable<string>;
  /** Only say what would be done. Default `false`. */
  readonly dryRun?: boolean;
}

export interface RecoveryReport {
  readonly dryRun: boolean;
  /** Of each shop how many known bills are checked again, and within how many seconds. */
  readonly shops: readonly { readonly shop: string; readonly rechecked: number; readonly withinSeconds: number }[];
  /** Unknown outcomes for which the log has the bill. */
  readonly attached: readonly AttachedBill[];
  /** Bills that are not known here: those of the log, then those that only postbacks name. */
  readonly bills: readonly RecoveredBill[];
  /** Creations of the log that are still under way here, or were a moment ago: look again in some minutes. */
  readonly underWay: number;
  /** Creations whose outcome stays unknown: somebody has to look for them at the service. */
  readonly unknownOutcomes: number;
  /** What the log had. */
  readonly log: {
    readonly lines: number;
    /** Creations since then. */
    readonly creations: number;
    /** Numbers, counted from 1 over all that was given, of lines with a creation that cannot be read: the first hundred. */
    readonly unreadable: readonly number[];
  };
}

/** The recovery of one shop. */
export interface ShopRecovery {
  /** As {@link PaymentRecovery.recover}, of that shop; lines of a log about others are passed over. */
  recover(options: Omit<RecoveryOptions, 'shop'>): Promise<RecoveryReport>;
}

/** Clocks may disagree by this much, and a commit may have been under way for so long. */
const MARGIN_MS = 3_600_000;

/** Most checks a second of a shop that a recovery asks for: those of new bills come in between. */
const MAX_RECHECKS_PER_SECOND = 20;

const PAGE = 5_000;

/**
 * Finds again what a database has lost that went back in time: a standby that was behind has been promoted, an older
 * backup restored. Doing it again does no harm.
 */
@Injectable()
export class PaymentRecovery {
  /** @internal */
  constructor(
    private readonly store: RecoveryStore,
    private readonly operator: OperatorStore,
    private readonly creationLogs: CreationLogs,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
  ) {}

  /**
   * The same of one shop, for an operator who is in charge of that one only.
   * @throws UnknownShopError
   */
  forShop(name: string): ShopRecovery {
    const shop = this.shops.named(name);
    return { recover: (options) => this.recover({ ...options, shop }) };
  }

  /**
   * Has every known bill checked again that is open or has changed since, whatever its state, at no more than half of its
   * shop's rate; attaches the bills that the log has of unknown outcomes; and gives those that are not known here, for
   * `PaymentImport`: of the log, as our own record, and of postbacks, to be confirmed. It imports none by itself. A bill
   * of which neither a line of the log nor a postback is left only the merchant's account shows:
   * `PaymentReconciliation.against`.
   * @throws OperatorActionError where `operator` is empty
   * @throws UnknownShopError, ShopResolverError, InvalidShopError
   */
  async recover(options: RecoveryOptions): Promise<RecoveryReport> {
    const { operator, shop, dryRun = false } = options;
    if (operator.trim() === '') throw new OperatorActionError('Say who recovers with "operator".');
    const names = shop === undefined ? await this.shops.list() : [(await this.shops.get(shop)).name];
    const since = new Date(options.since.getTime() - MARGIN_MS);
    const found = await this.creationLogs.read({ ...options, names, since });
    const shops: RecoveryReport['shops'][number][] = [];
    const postbacks: RecoveredBill[] = [];
    let unknownOutcomes = 0;
    for (const name of names) {
      shops.push(await this.recheck(await this.shops.get(name), since, options));
      postbacks.push(...(await this.ofPostbacks(name, since, found.bills)));
      unknownOutcomes += await this.store.unknownOutcomes(name);
    }
    const { attached, underWay, lines, creations, unreadable } = found;
    const bills = [...found.bills.values(), ...postbacks];
    return { dryRun, shops, attached, bills, underWay, unknownOutcomes, log: { lines, creations, unreadable } };
  }

  private async recheck(
    { name: shop, requestsPerSecond }: Shop,
    since: Date,
    { operator, dryRun }: RecoveryOptions,
  ): Promise<RecoveryReport['shops'][number]> {
    const perSecond = Math.max(1, Math.min(MAX_RECHECKS_PER_SECOND, Math.floor(requestsPerSecond / 2)));
    let [rechecked, seconds] = [0, 0];
    let last: BillToRecheck | undefined;
    do {
      const page = await this.store.billsToRecheck(shop, since, last, PAGE);
      rechecked += page.length;
      for (let at = 0; at < page.length; at += perSecond, seconds += 1) {
        const ids = page.slice(at, at + perSecond).map(({ intentId }) => intentId);
        if (!dryRun) await this.store.recheck(ids, seconds * 1_000);
      }
      last = page.length < PAGE ? undefined : page.at(-1);
    } while (last);
    if (!dryRun) {
      const detail = { since: since.toISOString(), rechecked };
      const action = { id: this.random.uuid(), operator, action: 'recover', target: shop, detail };
      await this.operator.transaction((manager) => this.operator.record(manager, action));
    }
    return { shop, rechecked, withinSeconds: seconds };
  }

  private async ofPostbacks(
    shop: string,
    since: Date,
    logged: ReadonlyMap<string, RecoveredBill>,
  ): Promise<RecoveredBill[]> {
    const evidence = new Map<BillId, PostbackEvidence>();
    let last: UnknownBillPostback | undefined;
    do {
      const page = await this.store.postbacksOfUnknownBills(shop, since, last, PAGE);
      for (const postback of page) {
        if (logged.has(billKey(shop, postback.billId))) continue;
        const bill = evidence.get(postback.billId) ?? new PostbackEvidence(shop, postback);
        bill.add(postback);
        evidence.set(bill.billId, bill);
      }
      last = page.length < PAGE ? undefined : page.at(-1);
    } while (last);
    return Array.from(evidence.values(), (each) => each.bill());
  }
}
