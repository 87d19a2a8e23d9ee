import { Injectable } from '@nestjs/common';
import type { BillRecord } from '../../domain/bill.js';
import { BillStore } from '../bill.store.js';
import { NOW, inMs } from '../sql.js';
import type { MariaDatabase } from './maria.database.js';
import type { BillId } from '../../domain/ids.js';

@Injectable()
export class MariaBillStore extends BillStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  /** Takes two statements there, and so the transaction that all others take. */
  override insertFirst(): Promise<boolean> {
    return Promise.resolve(false);
  }

  override async open(
    id: string,
    answer: { billId: BillId; linkUrl: string | null; linkPageUrl: string | null },
    firstCheckMs: number,
  ): Promise<BillRecord | undefined> {
    const opened = await this.maria.query(
      `UPDATE payment_acceptance.bill
       SET state = 'OPEN', service_bill_id = $4, link_url = $5, link_page_url = $6, failure = NULL, opened_at = ${NOW},
         next_check_at = ${inMs('$2')}, check_after = ${NOW}, lease_until = NULL
       WHERE id = $3 AND state IN ('CREATING', 'UNKNOWN')`,
      [this.maria.offsetMs, firstCheckMs, id, answer.billId, answer.linkUrl, answer.linkPageUrl],
    );
    return opened.length === 1 ? this.byId(id) : undefined;
  }

  override async closeAbandoned(): Promise<BillRecord[]> {
    const abandoned = await this.maria.query<{ id: string }>(
      `SELECT id FROM payment_acceptance.bill WHERE creating_until < ${NOW} LIMIT 100`,
      [this.maria.offsetMs],
    );
    if (abandoned.length === 0) return [];
    const closed = await this.transaction(async (manager) => {
      const ids = await this.maria.lockFree(
        manager,
        'bill',
        abandoned.map(({ id }) => id),
        `t.state = 'CREATING' AND t.lease_until < ${NOW}`,
      );
      await this.maria.query(
        `UPDATE payment_acceptance.bill
         SET state = 'UNKNOWN', failure = 'The process ended before the answer came.', lease_until = NULL, ended_at = ${NOW}
         WHERE id = ANY($2)`,
        [this.maria.offsetMs, ids],
        manager,
      );
      return ids;
    });
    const bills = await Promise.all(closed.map((id) => this.byId(id)));
    return bills.flatMap((bill) => bill ?? []);
  }

  override async linkWaitingCallbacks(bill: Pick<BillRecord, 'intentId' | 'shop' | 'billId'>): Promise<void> {
    await this.maria.atReadCommitted(
      `UPDATE payment_acceptance.callback SET bill_id = $1
       WHERE pending = 1 AND shop = $2 AND service_bill_id = $3 AND bill_id IS NULL`,
      [bill.intentId, bill.shop, bill.billId],
    );
  }
}
