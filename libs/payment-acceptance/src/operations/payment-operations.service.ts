import { Injectable } from '@nestjs/common';
import { LedgerStore, type PaymentLedger } from '../storage/ledger.store.js';

/** What operators and tools see of the module. */
@Injectable()
export class PaymentOperations {
  constructor(private readonly ledger: LedgerStore) {}

  /**
   * Everything recorded, newest first, at most `limit` rows of each kind (default 1000). Carries no secret, but the
   * business of all shops: keep it behind the host's own guard.
   */
  readLedger(limit = 1_000): Promise<PaymentLedger> {
    return this.ledger.read(limit);
  }
}
