import type { BillRecord } from '../../../domain/bill.js';
import type { CreatedBill } from '../../../client/answers.js';
import { BillStore } from '../bill.store.js';
import { sql, type Statement } from '../../../database/statement.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';

export class MariaBillStore extends BillStore<MariaDatabase> {
  /** MariaDB would need two statements, so the general transaction is used instead. */
  override insertFirst(): Promise<boolean> {
    return Promise.resolve(false);
  }

  override async open(
    id: string,
    { billId, linkUrl, linkPageUrl }: CreatedBill,
    firstCheckMs: number,
    isVoided?: 'voided',
  ): Promise<BillRecord | undefined> {
    const opened = await this.database.change`UPDATE payment_acceptance.bill
      SET state = 'OPEN', bill_id = ${billId}, link_url = ${linkUrl}, link_page_url = ${linkPageUrl}, failure = NULL,
        opened_at = ${this.database.now()}, next_check_at = ${this.database.now(firstCheckMs)}, check_after = ${this.database.now()},
        lease_until = NULL, ended_at = NULL
      WHERE intent_id = ${id} AND state IN ('CREATING', 'UNKNOWN', ${isVoided ? 'VOIDED' : 'UNKNOWN'})`;
    return opened === 1 ? this.byId(id) : undefined;
  }

  protected override isAbandoned(now: Statement): Statement {
    return sql`creating_until < ${now}`;
  }
}
