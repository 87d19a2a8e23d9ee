import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import type { BillId } from '../../domain/ids.js';
import { inPieces } from '../../common/pieces.js';
import type { OwnTransaction } from '../../database/own-transaction.js';
import type { Queryable } from '../../database/queryable.js';
import { join, sql, type Statement } from '../../database/statement.js';

/** How often a shop that the service refuses is probed. */
export const PROBE_MS = 60_000;

/** Which shop of the service a name stands for; `null` if never stored. */
export interface ShopIdentity {
  readonly name: string;
  readonly shopId: string | null;
  readonly apiBaseUrl: string | null;
}

/**
 * One row per shop: whether the service refuses it, and which shop of the service its name stands for. Claims of bills
 * and inquiries also write the rows: each takes the shop's turn in the statement that claims. Imports lock them.
 */
@Injectable()
export class ShopStore {
  constructor(private readonly database: Database) {}

  /** The rows hold the shops' limits. Sorted, so that instances that start together do not deadlock. */
  async register(shops: readonly string[]): Promise<void> {
    for (const piece of inPieces([...shops].sort())) {
      const rows = piece.map((shop) => sql`(${shop}, '1970-01-01')`);
      await this.database.change`
        INSERT INTO payment_acceptance.shop_state (shop, next_request_at) VALUES ${join(rows, ', ')}
        ${this.database.dialect.ignoreExisting('shop')}`;
    }
  }

  /** From now on, the shop is probed with one bill at a time. Returns `false` if it was already marked. */
  async refuse(shop: string, reason: string): Promise<boolean> {
    const refused = await this.database.change`UPDATE payment_acceptance.shop_state
      SET refused_since = ${this.database.now()}, refused_reason = ${reason}, probe_at = ${this.database.now(PROBE_MS)}
      WHERE shop = ${shop} AND refused_since IS NULL`;
    return refused === 1;
  }

  async accept(shop: string): Promise<void> {
    await this.database.change`
      UPDATE payment_acceptance.shop_state SET refused_since = NULL, refused_reason = NULL, probe_at = NULL
      WHERE shop = ${shop}`;
  }

  /** @param like only what this name stands for, and the names of all shops with this id */
  identities(like?: Pick<ShopIdentity, 'name' | 'shopId'>): Promise<ShopIdentity[]> {
    const which = like ? sql`WHERE shop = ${like.name} OR shop_id = ${like.shopId}` : sql``;
    return this.database.rows<ShopIdentity>({})`
      SELECT shop AS name, shop_id AS "shopId", api_base_url AS "apiBaseUrl" FROM payment_acceptance.shop_state ${which}`;
  }

  /** Returns the address that was stored before, if any. Changes nothing if the name stands for another shop. */
  async bindIdentity({ name, shopId, apiBaseUrl }: ShopIdentity): Promise<string | null> {
    const before = (await this.identities({ name, shopId: null }))[0]?.apiBaseUrl ?? null;
    await this.database.change`
      UPDATE payment_acceptance.shop_state SET shop_id = ${shopId}, api_base_url = ${apiBaseUrl}
      WHERE shop = ${name} AND (shop_id IS NULL OR shop_id = ${shopId})`;
    return before;
  }

  /**
   * If a shop has several names, the second of two transactions that take in bills of it waits for the first. Take this
   * lock after all others: claims skip the shop's row meanwhile.
   */
  async lockNames(tx: OwnTransaction, shopId: string): Promise<void> {
    const names = await tx.ids`SELECT shop AS id FROM payment_acceptance.shop_state WHERE shop_id = ${shopId}`;
    if (names.length < 2) return;
    // By key: MariaDB would lock every row that it looks at.
    await tx.rows({})`SELECT 1 FROM payment_acceptance.shop_state
      WHERE shop ${this.database.dialect.oneOf(names, 'text')} ORDER BY shop FOR UPDATE`;
  }

  /** Another name of the same shop under which the bill is known: it would be settled twice. A bill keeps the id of its shop. */
  async otherNameOf(
    shop: ShopIdentity,
    billId: BillId,
    database: Queryable = this.database,
  ): Promise<string | undefined> {
    const [other] = await database.rows<{ name: string }>({})`
      SELECT s.shop AS name FROM payment_acceptance.shop_state s
      JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.bill_id = ${billId}
      WHERE (b.shop_id = ${shop.shopId} OR s.shop_id = ${shop.shopId}) AND coalesce(s.api_base_url, ${shop.apiBaseUrl}) = ${shop.apiBaseUrl} AND s.shop <> ${shop.name} LIMIT 1`;
    return other?.name;
  }

  /** Whether the shop has a bill that was made at the service, or may have been. */
  async hasBills(shop: string): Promise<boolean> {
    const rows = await this.database.rows({})`SELECT 1 ${billsOf(shop)} LIMIT 1`;
    return rows.length > 0;
  }

  /** Forgets which shop the name stands for; returns `false` if the name has bills. */
  async forget(shop: string): Promise<boolean> {
    const forgotten = await this.database.change`
      UPDATE payment_acceptance.shop_state SET shop_id = NULL, api_base_url = NULL
      WHERE shop = ${shop} AND NOT EXISTS (SELECT 1 ${billsOf(shop)})`;
    return forgotten === 1;
  }
}

function billsOf(shop: string): Statement {
  return sql`FROM payment_acceptance.bill WHERE shop = ${shop} AND state NOT IN ('REJECTED', 'VOIDED')`;
}
