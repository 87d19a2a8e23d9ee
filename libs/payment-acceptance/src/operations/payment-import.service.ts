import { Inject, Injectable } from '@nestjs/common';
import { prepareBill } from '../bills/bill-request.js';
import { InvalidBillRequestError } from '../bills/bill.errors.js';
import { linkLateCallbacks } from '../bills/late-callbacks.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { statedPageAddress } from '../common/web-address.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { DecimalAmount } from '../domain/money.js';
import { BillStore } from '../storage/bill.store.js';
import { isUniqueViolation } from '../storage/query-errors.js';
import { ImportStore, type ForeignBill, type KnownBill } from '../storage/import.store.js';
import { OperatorStore } from '../storage/operator.store.js';
import type { ShopScope } from '../storage/scope.js';
import { OperatorActionError } from './operator.errors.js';

/** An open bill that an older integration has had made. */
export interface BillToImport {
  /** Name of its shop in the options. Default: the default shop. */
  readonly shop?: string;
  /** The order it was made for, 1 to 255 characters. */
  readonly orderId: string;
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /** What it asks for: an exact decimal above 0, such as `100.05`. */
  readonly amount: DecimalAmount;
  /** Three capital letters. Default: the shop's currency. */
  readonly currency?: string;
  /** When it was made: ISO 8601 with its zone, such as `2026-11-21T12:00:00Z`. From then on its lifetime counts. */
  readonly createdAt: string | Date;
  /** Its payment page, http or https, in production https; without it `createBill` cannot return the bill for the same order. */
  readonly linkPageUrl?: string;
  readonly linkUrl?: string;
  /** What went out as `custom`, where anything did. */
  readonly custom?: string;
  readonly payerPaysCommission?: boolean;
  readonly description?: string;
  /**
   * `false` where order and amount are not our own record, as a postback names them, and nobody has confirmed them: it is
   * refused then. Default `true`.
   */
  readonly verified?: boolean;
}

export interface ImportOptions {
  /** Who imports: it is recorded for each bill. */
  readonly operator: string;
  /** Why, for the record. Default: none. */
  readonly note?: string;
  /** Only say what would happen. Default `false`. */
  readonly dryRun?: boolean;
  /**
   * Keep the events of the bills back until `PaymentOperations.release`, since the orders that they are about are yet to be
   * restored. Of bills that are here already nothing is changed. Default `false`.
   */
  readonly hold?: boolean;
}

/** A bill that was not imported, and why. */
export interface RefusedBill {
  /** Its place in what was given: 0 for the first. */
  readonly index: number;
  readonly orderId: string;
  readonly billId: string;
  /** A sentence for each problem. */
  readonly problems: readonly string[];
}

export interface ImportReport {
  readonly dryRun: boolean;
  /** Bills that are (with `dryRun`: would be) new here. */
  readonly imported: number;
  /** Bills that were here already, the same. */
  readonly present: number;
  readonly refused: readonly RefusedBill[];
}

const BILL_ID = /^[\x21-\x7e]{1,128}$/;
const ZONED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;

type Importing = Required<Pick<ImportOptions, 'operator' | 'hold'>> & Pick<ImportOptions, 'note'>;

/** The import of one shop's bills. */
export interface ShopImport {
  /** As {@link PaymentImport.importBills}; bills that name no shop are that shop's, and those of another are refused. */
  importBills(
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    options: ImportOptions,
  ): Promise<ImportReport>;
}

/** Takes over open bills of an older integration, so that they are checked and settle here. */
@Injectable()
export class PaymentImport {
  constructor(
    private readonly store: ImportStore,
    private readonly bills: BillStore,
    private readonly operator: OperatorStore,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same of one shop, for an operator who is in charge of that one only.
   * @throws UnknownShopError
   */
  forShop(name: string): ShopImport {
    const shop = this.shops.named(name);
    return { importBills: (bills, options) => this.importInto(shop, bills, options) };
  }

  /**
   * Stores each bill as `OPEN` and due: it is checked at once, like any other, and what the service lists makes events. So
   * import only what the older integration has not settled. Each bill is stored on its own, with the postbacks that
   * already wait for it; one that cannot be is refused with its reasons and keeps no other from being stored. Importing
   * the same again changes nothing. The service is not asked.
   * @throws OperatorActionError where `operator` is empty
   * @throws ShopResolverError, InvalidShopError where a shop cannot be found out; what was stored before stays
   */
  importBills(
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    options: ImportOptions,
  ): Promise<ImportReport> {
    return this.importInto(null, bills, options);
  }

  private async importInto(
    scope: ShopScope,
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    { operator, note, dryRun = false, hold = false }: ImportOptions,
  ): Promise<ImportReport> {
    const how = { operator, hold, ...(note !== undefined && { note }) };
    if (operator.trim() === '') throw new OperatorActionError('Say who imports with "operator".');
    const report = { dryRun, imported: 0, present: 0, refused: [] as RefusedBill[] };
    /** What a dry run would have stored by now. */
    const planned = new Map<string, KnownBill>();
    let index = -1;
    for await (const given of bills) {
      index += 1;
      const outcome = await this.take(scope, given, how, dryRun ? planned : undefined);
      if (typeof outcome === 'string') report[outcome] += 1;
      else {
        const { orderId, billId } = (given as Partial<Record<keyof BillToImport, unknown>> | null) ?? {};
        report.refused.push({ index, orderId: shown(orderId), billId: shown(billId), problems: outcome });
      }
    }
    return report;
  }

  /** Gives the problems of a bill that is refused. */
  private async take(
    scope: ShopScope,
    given: BillToImport,
    how: Importing,
    planned: Map<string, KnownBill> | undefined,
  ): Promise<'imported' | 'present' | string[]> {
    const bill = await this.read(scope, given);
    if (Array.isArray(bill)) return bill;
    const known = planned?.get(keyOf(bill)) ?? (await this.store.known(bill.shop, bill.billId));
    if (known) return compare(known, bill);
    if (planned) {
      planned.set(keyOf(bill), { ...bill, state: 'OPEN' });
      return 'imported';
    }
    try {
      await this.insert(bill, how);
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const rival = await this.store.known(bill.shop, bill.billId);
      if (!rival) throw error;
      return compare(rival, bill);
    }
    await linkLateCallbacks(this.bills, bill);
    return 'imported';
  }

  private async insert(bill: ForeignBill, { operator, hold, ...note }: Importing): Promise<void> {
    const { shop, orderId, billId: serviceBillId, amount } = bill;
    const detail = { shop, orderId, serviceBillId, amount, hold, ...note };
    await this.operator.transaction(async (manager) => {
      await this.bills.lockOrder(manager, bill.shop, bill.orderId);
      await this.store.insert(manager, bill, hold);
      const action = { id: this.random.uuid(), operator, action: 'import-bill', target: bill.intentId, detail };
      await this.operator.record(manager, action);
    });
  }

  /** The bill with its defaults, or its problems. */
  private async read(scope: ShopScope, given: BillToImport): Promise<ForeignBill | string[]> {
    if (typeof given !== 'object' || (given as object | null) === null) return ['It is no object.'];
    const shop = await this.shopOf(scope, given.shop);
    if (!shop) return [`There is no shop "${shown(given.shop)}".`];
    const id = timeOrderedUuid(this.random, this.clock.now());
    const problems: string[] = [];
    if (given.verified !== undefined && (given.verified as unknown) !== true) {
      problems.push('It is not verified: make sure of order and amount, correct them, and set "verified" to true.');
    }
    const createdAt = instantOf(given.createdAt);
    if (!createdAt) problems.push('createdAt must be an ISO 8601 instant with its zone, such as 2026-11-21T12:00:00Z.');
    else if (createdAt > this.clock.now()) problems.push('createdAt is in the future.');
    if (typeof given.billId !== 'string' || !BILL_ID.test(given.billId)) {
      problems.push('billId must be 1 to 128 visible characters without a space.');
    }
    const address = (name: 'linkPageUrl' | 'linkUrl'): string | null => {
      const { production } = this.options;
      const href = given[name] === undefined ? null : statedPageAddress(given[name], production);
      if (href === null && given[name] !== undefined) {
        problems.push(`${name} must be an ${production ? 'https' : 'http or https'} address.`);
      }
      return href;
    };
    const [linkUrl, linkPageUrl] = [address('linkUrl'), address('linkPageUrl')];
    try {
      const fields = prepareBill(shop, given, id);
      if (problems.length > 0 || !createdAt) return problems;
      return {
        ...fields,
        intentId: id,
        shop: shop.name,
        billId: given.billId,
        name: null,
        description: fields.description ?? null,
        customGiven: given.custom !== undefined,
        linkUrl,
        linkPageUrl,
        createdAt,
      };
    } catch (error) {
      if (error instanceof InvalidBillRequestError) return [...error.problems, ...problems];
      throw error;
    }
  }

  private async shopOf(scope: ShopScope, name: unknown = scope ?? this.shops.defaultName): Promise<Shop | undefined> {
    const mayUse = typeof name === 'string' && (scope === null || name === scope);
    return mayUse ? this.shops.find(name) : undefined;
  }
}

function compare(known: KnownBill, bill: ForeignBill): 'present' | string[] {
  const same = known.orderId === bill.orderId && known.amount === bill.amount && known.currency === bill.currency;
  if (same) return 'present';
  const { orderId, amount, currency, state } = known;
  return [`Its billId is here already: of order "${orderId}", over ${amount} ${currency}, ${state}.`];
}

function keyOf({ shop, billId }: ForeignBill): string {
  return `${shop} ${billId}`;
}

function instantOf(value: unknown): Date | undefined {
  const instant =
    value instanceof Date ? value : typeof value === 'string' && ZONED.test(value) ? new Date(value) : undefined;
  return instant && !Number.isNaN(instant.getTime()) ? instant : undefined;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 255) : '';
}
