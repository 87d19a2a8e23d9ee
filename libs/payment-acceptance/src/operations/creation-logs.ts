import { Injectable } from '@nestjs/common';
import { isSealed, readCreationLine, type CreationRecord, type LoggedCreation } from '../bills/creation-log.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillRecord } from '../domain/bill.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';
import { isUuid } from '../domain/uuid.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { ReconciliationStore } from './storage/reconciliation.store.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import { PaymentOperations } from './payment-operations.service.js';
import { billOfRecord, type RecoveredBill } from './recovery.js';

/** A bill in the log that the tables have as an unknown outcome. */
export interface AttachedBill {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly intentId: IntentId;
  /** The error's code if the service does not show the bill or does not answer; `null` if the bill was attached. */
  readonly error: string | null;
}

/** What has been found in the log so far. */
export class LogFindings {
  lines = 0;
  creations = 0;
  underWay = 0;
  readonly unreadable: number[] = [];
  readonly attached: AttachedBill[] = [];
  readonly bills = new Map<string, RecoveredBill>();
  /** Sealed creations already handled, by shop and bill: two logs may contain the same line. */
  readonly handled = new Set<string>();
}

/** Which log lines to read, and how to handle them. */
interface LogReading {
  readonly log?: AsyncIterable<string>;
  /** Names of the shops to recover. */
  readonly names: readonly string[];
  /** Only this shop: lines about other shops are skipped. */
  readonly shop?: string;
  readonly since: Date;
  readonly operator: string;
  readonly dryRun?: boolean;
}

const BATCH = 500;
const MAX_UNREADABLE = 100;

const UNSEALED =
  'The line has no seal of a current token of the shop: the token has changed since, or somebody forged the line.';

/** Reads the creations in an application's log. */
@Injectable()
export class CreationLogs {
  constructor(
    private readonly reconciliation: ReconciliationStore,
    private readonly bills: BillStore,
    private readonly operations: PaymentOperations,
    private readonly shops: ShopRegistry,
  ) {}

  /**
   * Finds the log's bills that are not known here, and attaches those that belong to unknown outcomes.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
   */
  async read(options: LogReading): Promise<LogFindings> {
    const { names, since } = options;
    const found = new LogFindings();
    let batch: LoggedCreation[] = [];
    for await (const line of options.log ?? []) {
      found.lines += 1;
      const creation = readCreationLine(line);
      if (creation === undefined) continue;
      if (creation === 'unreadable') {
        if (found.unreadable.length < MAX_UNREADABLE) found.unreadable.push(found.lines);
        continue;
      }
      const { shop, createdAt } = creation.record;
      if (Date.parse(createdAt) < since.getTime() || (options.shop !== undefined && !names.includes(shop))) continue;
      found.creations += 1;
      batch.push(creation);
      if (batch.length < BATCH) continue;
      await this.handleBatch(batch, found, options);
      batch = [];
    }
    await this.handleBatch(batch, found, options);
    return found;
  }

  private async handleBatch(batch: readonly LoggedCreation[], found: LogFindings, options: LogReading): Promise<void> {
    for (const name of new Set(batch.map(({ record }) => record.shop))) {
      const ofShop = batch.filter(({ record }) => record.shop === name);
      const named = await this.reconciliation.billsNamed(
        name,
        ofShop.map(({ record }) => record.billId),
      );
      const known = new Set(named.map(({ billId }) => billId));
      const shop = await this.shops.find(name);
      for (const creation of ofShop) {
        const { record } = creation;
        const key = billKey(name, record.billId);
        if (known.has(record.billId)) continue;
        const isOwn = shop !== undefined && isSealed(creation, shop);
        // A forged line must never replace one of ours.
        if (found.handled.has(key)) continue;
        if (isOwn) {
          found.handled.add(key);
          found.bills.delete(key);
          await this.handleOwn(record, key, found, options);
        } else found.bills.set(key, billOfRecord(record, UNSEALED));
      }
    }
  }

  private async handleOwn(record: CreationRecord, key: string, found: LogFindings, options: LogReading): Promise<void> {
    const { shop, orderId, billId, intentId } = record;
    const intent: BillRecord | undefined = isUuid(intentId) ? await this.bills.byId(intentId, shop) : undefined;
    // The creation finished after the batch was looked up.
    if (intent?.billId === billId) return;
    if (intent?.state === 'CREATING') found.underWay += 1;
    else if (intent?.state === 'UNKNOWN') {
      const error = options.dryRun ? null : await this.attach(record, options.operator);
      found.attached.push({ shop, orderId, billId, intentId, error });
    } else if (!intent) found.bills.set(key, billOfRecord(record));
    else found.bills.set(key, billOfRecord(record, `The bill's intent ${intentId} is ${intent.state} here.`));
  }

  /** @returns the error's code, or `null` if the bill was attached */
  private async attach(
    { shop, billId, intentId, linkPageUrl }: CreationRecord,
    operator: string,
  ): Promise<string | null> {
    try {
      await this.operations
        .forShop(shop)
        .attachBill(intentId, billId, operator, linkPageUrl ?? undefined, 'Found in the log.');
      return null;
    } catch (error) {
      if (error instanceof PaymentServiceError || error instanceof PaymentOperatorActionError) return error.code;
      throw error;
    }
  }
}

/** Identifies a bill across all shops. */
export function billKey(shop: string, billId: BillId): string {
  return `${shop} ${billId}`;
}
