import { Injectable } from '@nestjs/common';
import { SandboxClock } from '../../storage/sandbox-clock.js';
import { SandboxStore } from '../../storage/store.js';
import { type Check, compare, type Truth } from './compare.js';
import { type Ledger, NoLedgerError, readLedger } from './ledger.js';

/** The result of comparing one ledger with the sandbox. */
export interface LedgerComparison {
  url: string;
  /** The shops whose records are there. */
  shops: string[];
  /** Why nothing could be compared; null if it was. */
  problem: string | null;
  /** No ledger was ever found there: the shop may have none, or may not be running yet. */
  absent: boolean;
  checks: Check[];
}

/** Only the newest bills are compared: a shop shows only its newest records. */
const COMPARED_BILLS = 300;
/** A shop is asked at most this often, however many people watch the console. */
const KEPT_MS = 2_000;

type Read = { ledger: Ledger } | { problem: string; absent: boolean };

/** Reads and compares the ledgers of all shops that have one. */
@Injectable()
export class LedgersService {
  /** Addresses where a ledger has been found before. */
  private readonly seen = new Set<string>();
  private readonly reads = new Map<string, { at: number; read: Promise<Read> }>();

  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
  ) {}

  async compare(): Promise<LedgerComparison[]> {
    const shopsByUrl = new Map<string, string[]>();
    for (const { id, ledgerUrl } of this.store.shops.values()) {
      if (ledgerUrl) shopsByUrl.set(ledgerUrl, [...(shopsByUrl.get(ledgerUrl) ?? []), id]);
    }
    for (const url of this.reads.keys()) if (!shopsByUrl.has(url)) this.reads.delete(url);
    return Promise.all([...shopsByUrl].map(([url, shops]) => this.compareOne(url, shops)));
  }

  private async compareOne(url: string, shops: string[]): Promise<LedgerComparison> {
    // Reads the ledger first: what happens in between makes the shop look late, not wrong.
    const read = await this.read(url);
    if ('problem' in read) return { url, shops, ...read, checks: [] };
    return { url, shops, problem: null, absent: false, checks: compare(this.truth(shops), read.ledger, Date.now()) };
  }

  private truth(shopIds: string[]): Truth {
    const bills = [...this.store.bills.values()].filter(({ shopId }) => shopIds.includes(shopId));
    return {
      bills: bills.slice(-COMPARED_BILLS),
      now: this.clock.now(),
      billOf: (id) => this.store.bills.get(id),
      paymentsOf: (id) => this.store.paymentsOf(id),
    };
  }

  private read(url: string): Promise<Read> {
    const known = this.reads.get(url);
    if (known && Date.now() - known.at < KEPT_MS) return known.read;
    const read = readLedger(url).then(
      (ledger) => {
        this.seen.add(url);
        return { ledger };
      },
      (error: unknown) => ({
        problem: error instanceof Error ? error.message : String(error),
        absent: error instanceof NoLedgerError && !this.seen.has(url),
      }),
    );
    this.reads.set(url, { at: Date.now(), read });
    return read;
  }
}
