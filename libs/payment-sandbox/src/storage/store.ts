import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bill, Callback, Change, Payment, Shop, ShopSettings, Visit } from '../model/entities.js';
import type { FaultDocument } from '../model/fault-document.js';
import { type FolderLock, lockFolder } from './folder-lock.js';
import { FileJournal, type Journal, noJournal } from './journal.js';

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
  readonly planned = new Set<string>();
  readonly pending = new Set<string>();
  clockOffsetMs = 0;
  faults: FaultDocument = {};

  private readonly visits = new Map<string, Visit[]>();
  private readonly paymentIds = new Map<string, Set<string>>();
  private readonly callbackIds = new Map<string, Set<string>>();
  private readonly listeners = new Set<() => void>();

  private constructor(
    private journal: Journal,
    private readonly lock?: FolderLock,
  ) {}

  static inMemory(): SandboxStore {
    return new SandboxStore(noJournal);
  }

  /** Locks the folder for this process, reads its journal and compacts it. */
  static async open(folder: string): Promise<SandboxStore> {
    mkdirSync(folder, { recursive: true });
    const lock = await lockFolder(folder);
    try {
      const path = join(folder, 'journal.jsonl');
      const store = new SandboxStore(noJournal, lock);
      for (const changes of FileJournal.read(path)) store.apply(changes);
      store.journal = FileJournal.openCompacted(folder, path, store.snapshot());
      return store;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  commit(...changes: Change[]): void {
    this.journal.append(changes);
    this.apply(changes);
    for (const listener of this.listeners) listener();
  }

  /** Resolves when everything committed so far would survive a kill and a power failure. */
  durable(): Promise<void> {
    return this.journal.durable();
  }

  onCommit(listener: () => void): void {
    this.listeners.add(listener);
  }

  paymentsOf(billId: string): Payment[] {
    return pick(this.paymentIds.get(billId), this.payments);
  }

  callbacksOf(billId: string): Callback[] {
    return pick(this.callbackIds.get(billId), this.callbacks);
  }

  visitsOf(billId: string): readonly Visit[] {
    return this.visits.get(billId) ?? [];
  }

  async close(): Promise<void> {
    this.listeners.clear();
    await this.journal.close();
    await this.lock?.release();
  }

  private apply(changes: readonly Change[]): void {
    for (const change of changes) this.applyOne(change);
  }

  private applyOne(change: Change): void {
    if ('shop' in change) this.shops.set(change.shop.id, change.shop);
    else if ('bill' in change) this.bills.set(change.bill.id, change.bill);
    else if ('payment' in change) {
      const payment = withHistory(change.payment);
      this.payments.set(payment.id, payment);
      add(this.paymentIds, payment.billId, payment.id);
      toggle(this.planned, payment.id, payment.plan.length > 0);
    } else if ('callback' in change) {
      const { callback } = change;
      this.callbacks.set(callback.id, callback);
      add(this.callbackIds, callback.billId, callback.id);
      toggle(this.pending, callback.id, callback.nextTryAt !== null);
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

/** Journals written before payments had a history lack it. */
function withHistory(payment: Omit<Payment, 'history'> & Partial<Pick<Payment, 'history'>>): Payment {
  return { ...payment, history: payment.history ?? [{ status: 'NEW', at: payment.createdAt }] };
}

function pick<T>(ids: Set<string> | undefined, from: Map<string, T>): T[] {
  return [...(ids ?? [])].flatMap((id) => from.get(id) ?? []);
}

function add(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids) ids.add(id);
  else index.set(key, new Set([id]));
}

function toggle(set: Set<string>, id: string, present: boolean): void {
  if (present) set.add(id);
  else set.delete(id);
}
