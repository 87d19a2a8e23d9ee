import { Injectable } from '@nestjs/common';
import { NOW } from '../sql.js';
import { RetentionStore } from '../retention.store.js';
import type { MariaDatabase } from './maria.database.js';

const LOCK = `CONCAT('payment_acceptance:retention:', MD5(DATABASE()))`;
const BEFORE = `${NOW} - $2::double precision * interval '1 millisecond'`;
const DECIDED = `NOT EXISTS (SELECT 1 FROM payment_acceptance.review r WHERE r.bill_id = t.bill_id AND r.state = 'OPEN')`;

/** Rows are found first and locked by their keys, so none is locked on the way; one batch at a time, under a named lock. */
@Injectable()
export class MariaRetentionStore extends RetentionStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override redactCallbacks(afterMs: number, limit: number): Promise<number> {
    return this.each('callback', 'unredacted_at', `t.unredacted_at < ${BEFORE} AND ${DECIDED}`, afterMs, limit, true);
  }

  override deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    const old = `t.pending = 0 AND t.received_at < ${BEFORE} AND ${DECIDED}`;
    return this.each('callback', 'received_at', old, afterMs, limit);
  }

  override deleteDeliveries(afterMs: number, limit: number): Promise<number> {
    const old = `t.state = 'DONE' AND t.ended_at < ${BEFORE}
      AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery earlier WHERE earlier.bill_id = t.bill_id
        AND earlier.consumer = t.consumer AND earlier.seq < t.seq AND earlier.state <> 'DONE')`;
    return this.each('delivery', 'ended_at', old, afterMs, limit);
  }

  private each(
    table: string,
    order: string,
    condition: string,
    afterMs: number,
    limit: number,
    redact = false,
  ): Promise<number> {
    return this.maria.transaction(async (manager) => {
      const [turn] = await this.maria.query<{ mine: unknown }>(`SELECT GET_LOCK(${LOCK}, 0) AS mine`, [], manager);
      if (Number(turn?.mine) !== 1) return 0;
      try {
        const found = await this.maria.query<{ id: string }>(
          `SELECT t.id::text AS id FROM payment_acceptance.${table} t WHERE ${condition} ORDER BY t.${order} LIMIT $3`,
          [this.maria.offsetMs, afterMs, limit],
          manager,
        );
        const ids = await this.maria.lockFree(
          manager,
          table,
          found.map(({ id }) => id),
          condition,
          [afterMs],
        );
        if (!redact) return await this.maria.remove(manager, table, ids);
        const statement = `UPDATE payment_acceptance.${table} SET fields = '{}' WHERE id = ANY($1)`;
        return (await this.maria.query(statement, [ids], manager)).length;
      } finally {
        await this.maria.query(`DO RELEASE_LOCK(${LOCK})`, [], manager);
      }
    });
  }
}
