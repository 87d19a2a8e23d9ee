import { Inject, Injectable } from '@nestjs/common';
import { readCreationLine, type CreationRecord } from '../bills/creation-log.js';
import { linkLateCallbacks } from '../callbacks/late-callbacks.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { BillStore } from '../bills/storage/bill.store.js';
import type { OwnTransaction } from '../database/own-transaction.js';
import { isUniqueViolation } from '../database/query-errors.js';
import { ShopIdentities } from '../settlement/shop-identities.js';
import { ShopStore } from '../settlement/storage/shop.store.js';
import { ImportStore, type ForeignBill, type KnownBill } from './storage/import.store.js';
import { OperatorStore } from './storage/operator.store.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';
import type { ShopScope } from '../database/scope.js';
import { attachBill } from './attach-bill.js';
import { readBillToImport, type BillToImport } from './bill-to-import.js';
import { operatorName } from './operator-options.js';
import { PaymentOperatorActionError } from './operator.errors.js';

export interface PaymentImportOptions {
  /** Name of the person or program that imports; recorded for each bill. */
  readonly operator: string;
  /** The reason; recorded for each bill. Default: none. */
  readonly note?: string;
  /** Only say what would happen. Default `false`. */
  readonly dryRun?: boolean;
}

/** A bill that was not imported, and why. */
export interface RefusedBill {
  /** Its index in the input, from 0. */
  readonly index: number;
  readonly orderId: string;
  readonly billId: string;
  /** One sentence per problem. */
  readonly problems: readonly string[];
}

export interface ImportReport {
  readonly dryRun: boolean;
  /** Bills that were (with `dryRun`: would be) imported. */
  readonly imported: number;
  /** Identical bills that were already here. */
  readonly present: number;
  readonly refused: readonly RefusedBill[];
}

/** A bill found in a log. */
export interface LoggedBill {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly amount: DecimalAmount;
  readonly currency: string;
}

/** What was found in a log. */
export interface LogImportReport extends ImportReport {
  /** The bills that were (with `dryRun`: would be) imported: their orders may be lost, too. */
  readonly bills: readonly LoggedBill[];
}

type OperatorNote = Pick<PaymentImportOptions, 'operator' | 'note'>;

/** A list contains the problems of a refused bill. */
type ImportOutcome = 'imported' | 'present' | 'skipped' | string[];

const UNSEALED_PROBLEM =
  'The line is cut off, or has no seal from a current token of its shop: the token has changed since, or the line is forged.';

/** The import of one shop's bills. */
export interface ShopImport {
  /** As {@link PaymentImport.importBills}; bills without a shop belong to that shop, and bills of another are refused. */
  importBills(
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    options: PaymentImportOptions,
  ): Promise<ImportReport>;
  /** As {@link PaymentImport.importLog}; lines about other shops are skipped. */
  importLog(lines: AsyncIterable<string>, options: PaymentImportOptions): Promise<LogImportReport>;
}

/**
 * Imports open bills of an older integration, or bills that the ledger has lost, so that they are checked and settled here.
 */
@Injectable()
export class PaymentImport {
  /** @internal */
  constructor(
    private readonly store: ImportStore,
    private readonly rows: ShopStore,
    private readonly identities: ShopIdentities,
    private readonly bills: BillStore,
    private readonly callbacks: CallbackStore,
    private readonly operator: OperatorStore,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopImport {
    const shop = this.shops.requireName(name);
    return {
      importBills: (bills, options) => this.importInto(shop, bills, options),
      importLog: (lines, options) => this.importLogInto(shop, lines, options),
    };
  }

  /**
   * Stores each bill as `OPEN` and due: it is checked at once, and the payments that the service lists create events as
   * usual. So import only what the older integration has not settled. Each bill is stored in a transaction of its own and
   * linked to the postbacks that already wait for it. A bill that cannot be stored is refused with its reasons, and does
   * not affect the others. Idempotent. Does not call the service.
   * @throws PaymentOperatorActionError if `operator` is empty
   * @throws PaymentShopResolverError, PaymentInvalidShopError if a shop cannot be resolved; bills stored before that remain
   */
  importBills(
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    options: PaymentImportOptions,
  ): Promise<ImportReport> {
    return this.importInto(null, bills, options);
  }

  /**
   * The same for the lines of an application's log, to which `createBill` writes a line for each bill created. Imports those
   * bills that are not known here, for example after a failover that lost commits. If the creation has an unknown outcome
   * here, the bill is attached to it. Only a line that a current token of the shop has sealed counts; `index` is the index
   * of the line.
   * @throws PaymentOperatorActionError if `operator` is empty
   * @throws PaymentShopResolverError, PaymentInvalidShopError if a shop cannot be resolved; bills stored before that remain
   */
  importLog(lines: AsyncIterable<string>, options: PaymentImportOptions): Promise<LogImportReport> {
    return this.importLogInto(null, lines, options);
  }

  private async importLogInto(
    scope: ShopScope,
    lines: AsyncIterable<string>,
    options: PaymentImportOptions,
  ): Promise<LogImportReport> {
    const bills: CreationRecord[] = [];
    const report = await this.importEach(
      this.recordsIn(lines, scope),
      async (record, how, planned) => {
        if (record === undefined) return 'skipped';
        if (record === 'unsealed') return [UNSEALED_PROBLEM];
        const outcome = await this.importLogged(scope, record, how, planned);
        if (outcome === 'imported') bills.push(record);
        return outcome;
      },
      options,
    );
    return {
      ...report,
      bills: bills.map(({ shop, orderId, billId, amount, currency }) => ({ shop, orderId, billId, amount, currency })),
    };
  }

  private async *recordsIn(lines: AsyncIterable<string>, scope: ShopScope) {
    for await (const line of lines) {
      const record = await readCreationLine(line, (name) => this.shops.find(name));
      yield typeof record === 'object' && scope !== null && record.shop !== scope ? undefined : record;
    }
  }

  private async importLogged(
    scope: ShopScope,
    record: CreationRecord,
    how: OperatorNote,
    planned: Map<string, KnownBill> | undefined,
  ): Promise<ImportOutcome> {
    const { intentId, shop, billId, linkPageUrl = null } = record;
    const intent = await this.bills.byId(intentId, shop);
    // Keeps the intent's id, by which the service may know the bill.
    if (!intent) return this.importOne(scope, record, how, planned, intentId);
    const existing = planned?.get(keyOf(record)) ?? (await this.store.findBill(shop, billId));
    if (existing) return compare(existing, record);
    if (intent.state === 'CREATING') return ['It is still being created: import the log again in a few minutes.'];
    if (intent.state !== 'UNKNOWN')
      return [`Its intent ${intentId} is ${intent.state} here: look it up in the account.`];
    if (planned) return plan(planned, record);
    const attachment = { note: 'Found in the log.', ...how, billId, linkPageUrl };
    try {
      await attachBill(this.operator, this.callbacks, intent, attachment);
    } catch (error) {
      if (!(error instanceof PaymentOperatorActionError)) throw error;
      const existing = await this.store.findBill(shop, billId);
      return existing ? compare(existing, record) : [error.message];
    }
    return 'imported';
  }

  private importInto(
    scope: ShopScope,
    bills: Iterable<BillToImport> | AsyncIterable<BillToImport>,
    options: PaymentImportOptions,
  ): Promise<ImportReport> {
    return this.importEach(bills, (bill, how, planned) => this.importOne(scope, bill, how, planned), options);
  }

  private async importEach<T>(
    all: Iterable<T> | AsyncIterable<T>,
    importOne: (item: T, how: OperatorNote, planned: Map<string, KnownBill> | undefined) => Promise<ImportOutcome>,
    { operator, note, dryRun = false }: PaymentImportOptions,
  ): Promise<ImportReport> {
    const operatorNote = { operator: operatorName(operator), ...(note !== undefined && { note }) };
    const report = { dryRun, imported: 0, present: 0, refused: [] as RefusedBill[] };
    const planned = new Map<string, KnownBill>();
    let index = -1;
    for await (const item of all) {
      index += 1;
      const outcome = await importOne(item, operatorNote, dryRun ? planned : undefined);
      if (outcome === 'skipped') continue;
      if (typeof outcome === 'string') report[outcome] += 1;
      else {
        const { orderId, billId } = (item ?? {}) as Partial<Record<keyof BillToImport, unknown>>;
        report.refused.push({ index, orderId: truncateText(orderId), billId: truncateText(billId), problems: outcome });
      }
    }
    return report;
  }

  private async importOne(
    scope: ShopScope,
    input: BillToImport,
    how: OperatorNote,
    planned: Map<string, KnownBill> | undefined,
    intentId?: IntentId,
  ): Promise<ImportOutcome> {
    if (typeof input !== 'object' || (input as object | null) === null) return ['It is not an object.'];
    const shop = await this.shopOf(scope, input.shop);
    if (!shop) return [`There is no shop "${truncateText(input.shop)}".`];
    if (!planned) await this.identities.bind(shop);
    const now = this.clock.now();
    const bill = readBillToImport(input, {
      shop,
      intentId: intentId ?? timeOrderedUuid(this.random, now),
      now,
      production: this.options.production,
    });
    if (Array.isArray(bill)) return bill;
    const stated = { ...bill, payerPaysCommission: input.payerPaysCommission };
    const existing = planned?.get(keyOf(bill)) ?? (await this.store.findBill(bill.shop, bill.billId));
    if (existing) return compare(existing, stated);
    try {
      if (planned) await this.refuseOtherName(shop, bill.billId);
      else await this.insert(shop, bill, how);
    } catch (error) {
      if (error instanceof PaymentOperatorActionError) return [error.message];
      if (!isUniqueViolation(error)) throw error;
      const existing = await this.store.findBill(bill.shop, bill.billId);
      if (!existing) throw error;
      return compare(existing, stated);
    }
    if (planned) return plan(planned, bill);
    await linkLateCallbacks(this.callbacks, bill);
    return 'imported';
  }

  private async insert(shop: Shop, bill: ForeignBill, { operator, ...note }: OperatorNote): Promise<void> {
    const { orderId, billId: serviceBillId, amount } = bill;
    const detail = { shop: shop.name, orderId, serviceBillId, amount, ...note };
    await this.operator.act({ operator, action: 'import-bill', target: bill.intentId, detail }, async (tx) => {
      await this.bills.lockOrder(tx, shop.name, orderId);
      await this.rows.lockNames(tx, shop.shopId);
      await this.refuseOtherName(shop, serviceBillId, tx);
      await this.store.insert(tx, bill);
    });
  }

  private async refuseOtherName(shop: Shop, billId: BillId, tx?: OwnTransaction): Promise<void> {
    const otherName = await this.rows.otherNameOf(shop, billId, tx);
    if (otherName === undefined) return;
    throw new PaymentOperatorActionError(`Shop "${otherName}" is the same shop of the service, and has this bill.`);
  }

  private async shopOf(scope: ShopScope, name: unknown = scope ?? this.shops.defaultName): Promise<Shop | undefined> {
    const mayUse = typeof name === 'string' && (scope === null || name === scope);
    return mayUse ? this.shops.find(name) : undefined;
  }
}

/** Who pays the commission is compared only if it is stated: the shop's option may have changed since. */
function compare(
  existing: KnownBill,
  bill: Pick<ForeignBill, 'orderId' | 'amount' | 'currency'> & { readonly payerPaysCommission?: boolean | undefined },
): 'present' | string[] {
  const { orderId, amount, currency, payerPaysCommission, state } = existing;
  const isSame = orderId === bill.orderId && amount === bill.amount && currency === bill.currency;
  if (isSame && (bill.payerPaysCommission ?? payerPaysCommission) === payerPaysCommission) return 'present';
  const payer = payerPaysCommission ? 'payer' : 'shop';
  return [
    `A bill with this billId already exists here: order "${orderId}", ${amount} ${currency}, the ${payer} pays the commission, ${state}.`,
  ];
}

function plan(
  planned: Map<string, KnownBill>,
  bill: Omit<KnownBill, 'state'> & Pick<ForeignBill, 'shop' | 'billId'>,
): 'imported' {
  planned.set(keyOf(bill), { ...bill, state: 'OPEN' });
  return 'imported';
}

function keyOf({ shop, billId }: Pick<ForeignBill, 'shop' | 'billId'>): string {
  return `${shop} ${billId}`;
}

function truncateText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 255) : '';
}
