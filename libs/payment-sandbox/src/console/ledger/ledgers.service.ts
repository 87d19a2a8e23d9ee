import { Injectable } from '@nestjs/common';
import { SandboxClock } from '../../storage/sandbox-clock.js';
import { SandboxStore } from '../../storage/store.js';
import { type Check, compare, type Truth } from './compare.js';
import { type Ledger, readLedger } from './ledger.js';

/** What came of holding one ledger against the sandbox. */
export interface LedgerComparison {
  url: string;
  /** The shops that show their records there. */
  shops: string[];
  /** Why nothing could be compared; null where it was. */
  problem: string | null;
  checks: Check[];
}

/** The newest bills are compared: a shop shows the newest of its records. */
const COMPARED_BILLS = 300;
/** However many look at the console, a shop is asked this often. */
const KEPT_MS = 2_000;

type Read = { ledger: Ledger } | { problem: string };

/** Reads the ledgers of all shops that show one, and compares. */
@Injectable()
export class LedgersService {
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
    // Read before the truth is taken: what happens in between makes the shop look late, not wrong.
    const read = await this.read(url);
    if ('problem' in read) return { url, shops, problem: read.problem, checks: [] };
    return { url, shops, problem: null, checks: compare(this.truth(shops), read.ledger, Date.now()) };
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
      (ledger) => ({ ledger }),
      (error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }),
    );
    this.reads.set(url, { at: Date.now(), read });
    return read;
  }
}
