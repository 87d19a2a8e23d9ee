import { Injectable } from '@nestjs/common';
import { isUuid } from '../../domain/uuid.js';
import { ConsoleListsStore, type BillQuery } from '../console/console-lists.store.js';
import { BILL, PAGE, pageOf, type ConsoleBill, type Paged } from '../console/console.rows.js';
import { inScope, type ShopScope } from '../scope.js';
import type { MariaDatabase } from './maria.database.js';

@Injectable()
export class MariaConsoleListsStore extends ConsoleListsStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async bills({ scope, states, before }: BillQuery): Promise<Paged<ConsoleBill>> {
    if (states.length === 0) return pageOf([]);
    const each = states.map(
      (
        _state,
        index,
      ) => `(SELECT b.* FROM payment_acceptance.bill b WHERE b.state = $${index + 3} AND ${inScope('b.shop', '$1')}
         AND ($2 IS NULL OR (b.created_at, b.id) < (
           SELECT created_at, id FROM payment_acceptance.bill WHERE id = $2 AND ${inScope('shop', '$1')}))
       ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE + 1})`,
    );
    const rows = await this.maria.query<ConsoleBill>(
      `SELECT ${BILL} FROM (${each.join(' UNION ALL ')}) b ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE + 1}`,
      [scope, before !== undefined && isUuid(before) ? before : null, ...states],
    );
    return pageOf(rows);
  }

  override async search(scope: ShopScope, text: string): Promise<ConsoleBill[]> {
    const shops = scope === null ? await this.shops() : [scope];
    return this.maria.query(
      `SELECT ${BILL} FROM (
         SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND order_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND service_bill_id = $2
         UNION SELECT bill_id FROM payment_acceptance.payment WHERE shop = ANY($1) AND payment_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND id = $2) found
       JOIN payment_acceptance.bill b ON b.id = found.id ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE}`,
      [shops, text],
    );
  }
}
