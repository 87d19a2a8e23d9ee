import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { found } from '../common/errors.js';
import type { Bill, Callback, Change, Payment, Shop, ShopSettings, Visit } from '../model/entities.js';
import type { FaultDocument } from '../model/fault-document.js';
import { lockFolder } from './folder-lock.js';
import { FileJournal } from './journal.js';

/**
 * The whole state of the sandbox. A commit is applied synchronously, so nothing happens between a read and a write. It
 * reaches the disk later: await {@link durable} before answering or sending a postback. Records are never changed in
 * place, so what was read stays as it was.
 */
export class SandboxStore {
  readonly shops = new Map<string, Shop>();
  readonly bills = new Map<string, Bill>();
  readonly payments = new Map<string, Payment>();
  readonly callbacks = new Map<string, Callback>();
  /** What each shop was last seeded with, to tell settings changed by hand from settings that follow the options. */
  readonly seeded = new Map<string, Partial<ShopSettings>>();
  /** The payments with a status still to come. */
  readonly planned = new Map<string, Payment>();
  /** The callbacks with an attempt still to come. */
  readonly pending = new Map<string, Callback>();
  clockOffsetMs = 0;
  faults: FaultDocument = {};

  private readonly visits = new Map<string, Visit[]>();
  private readonly paymentsByBill = new Map<string, Map<string, Payment>>();
  private readonly callbacksByBill = new Map<string, Map<string, Callback>>();
  private readonly listeners = new Set<() => void>();

  /** Undefined if all state is in memory. */
  private journal: FileJournal | undefined;
  private unlock: (() => Promise<void>) | undefined;

  /** Locks the folder for this process, reads its journal and compacts it. */
  static async open(folder: string): Promise<SandboxStore> {
    mkdirSync(folder, { recursive: true });
    const unlock = await lockFolder(folder);
    try {
      const path = join(folder, 'journal.jsonl');
      const store = new SandboxStore();
      for (const change of FileJournal.read(path).flat()) store.apply(change);
      store.journal = FileJournal.openCompacted(folder, path, store.snapshot());
      store.unlock = unlock;
      return store;
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  commit(...changes: Change[]): void {
    this.journal?.append(changes);
    for (const change of changes) this.apply(change);
    for (const listener of this.listeners) listener();
  }

  /** Resolves when everything committed so far would survive a kill and a power failure. */
  async durable(): Promise<void> {
    await this.journal?.durable();
  }

  onCommit(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** @throws SandboxError if there is none */
  bill(id: string): Bill {
    return found(this.bills.get(id), `There is no bill ${id}`);
  }

  /** @throws SandboxError if there is none */
  shop(id: string): Shop {
    return found(this.shops.get(id), `There is no shop ${id}`);
  }

  shopOf(billId: string): Shop {
    return this.shop(this.bill(billId).shopId);
  }

  paymentsOf(billId: string): Payment[] {
    return [...(this.paymentsByBill.get(billId)?.values() ?? [])];
  }

  callbacksOf(billId: string): Callback[] {
    return [...(this.callbacksByBill.get(billId)?.values() ?? [])];
  }

  visitsOf(billId: string): readonly Visit[] {
    return this.visits.get(billId) ?? [];
  }

  async close(): Promise<void> {
    this.listeners.clear();
    await this.journal?.close();
    await this.unlock?.();
  }

  private apply(change: Change): void {
    if ('shop' in change) this.shops.set(change.shop.id, change.shop);
    else if ('bill' in change) this.bills.set(change.bill.id, change.bill);
    else if ('payment' in change) {
      const { payment } = change;
      this.payments.set(payment.id, payment);
      add(this.paymentsByBill, payment);
      toggle(this.planned, payment, payment.plan.length > 0);
    } else if ('callback' in change) {
      const { callback } = change;
      this.callbacks.set(callback.id, callback);
      add(this.callbacksByBill, callback);
      toggle(this.pending, callback, callback.nextTryAt !== null);
    } else if ('visit' in change)
      this.visits.set(change.visit.billId, [...this.visitsOf(change.visit.billId), change.visit]);
    else if ('clockOffsetMs' in change) this.clockOffsetMs = change.clockOffsetMs;
    else if ('faults' in change) this.faults = change.faults;
    else this.seeded.set(change.seeded.shopId, change.seeded.settings);
  }

  private snapshot(): Change[] {
    return [
      { clockOffsetMs: this.clockOffsetMs },
      { faults: this.faults },
      ...[...this.seeded].map(([shopId, settings]) => ({ seeded: { shopId, settings } })),
      ...[...this.shops.values()].map((shop) => ({ shop })),
      ...[...this.bills.values()].map((bill) => ({ bill })),
      ...[...this.payments.values()].map((payment) => ({ payment })),
      ...[...this.callbacks.values()].map((callback) => ({ callback })),
      ...[...this.visits.values()].flat().map((visit) => ({ visit })),
    ];
  }
}

function add<T extends { id: string; billId: string }>(index: Map<string, Map<string, T>>, item: T): void {
  const items = index.get(item.billId) ?? new Map<string, T>();
  index.set(item.billId, items.set(item.id, item));
}

function toggle<T extends { id: string }>(index: Map<string, T>, item: T, present: boolean): void {
  if (present) index.set(item.id, item);
  else index.delete(item.id);
}
