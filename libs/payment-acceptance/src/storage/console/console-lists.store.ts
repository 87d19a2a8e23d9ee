import { Injectable } from '@nestjs/common';
import type { BillState } from '../../domain/bill.js';
import { isUuid } from '../../domain/uuid.js';
import { ACCEPTED_ELSEWHERE } from '../callback.store.js';
import { Database } from '../database.js';
import { MATCHING, matchingParameters, type DeadLetter, type DeadLetterFilter } from '../operator.store.js';
import { inScope, type ShopScope } from '../scope.js';
import { iso } from '../sql.js';
import {
  ACTION,
  BILL,
  PAGE,
  REVIEW,
  pageOf,
  parsed,
  reviewOf,
  type ConsoleAction,
  type ConsoleBill,
  type ConsoleReview,
  type Paged,
} from './console.rows.js';
import type { IntentId, OrderId } from '../../domain/ids.js';

/** Which bills a page shows. */
export interface BillQuery {
  readonly scope: ShopScope;
  readonly states: readonly BillState[];
  /** Only bills made before the one of this intent: the last one of the page before. */
  readonly before?: string;
}

export interface ConsoleDeadLetter extends DeadLetter {
  /** Id of our bill. */
  readonly intentId: IntentId;
  readonly replays: number;
  readonly endedAt: string | null;
}

/** An action with the bill that it was about, where there is one. */
export interface LoggedAction extends ConsoleAction {
  readonly intentId: IntentId | null;
  readonly orderId: OrderId | null;
}

/** A postback that waits for a bill of ours to have the id it names. */
export interface WaitingPostback {
  readonly shop: string;
  readonly orderId: OrderId | null;
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  readonly receivedAt: string;
}

/** The lists that the operator console shows, a page at a time. Reads only. */
@Injectable()
export class ConsoleListsStore {
  constructor(private readonly database: Database) {}

  /** Newest first. Each state has its own stretch of the index, so rare ones are found as fast as all others. */
  async bills({ scope, states, before }: BillQuery): Promise<Paged<ConsoleBill>> {
    const rows = await this.database.query<ConsoleBill>(
      `WITH last AS (SELECT created_at, id FROM payment_acceptance.bill WHERE id = $3::uuid AND ${inScope('shop', '$1')})
       SELECT ${BILL} FROM unnest($2::text[]) of_state CROSS JOIN LATERAL (
         SELECT * FROM payment_acceptance.bill every WHERE every.state = of_state AND ${inScope('every.shop', '$1')}
           AND ($3::uuid IS NULL OR (every.created_at, every.id) < (SELECT created_at, id FROM last))
         ORDER BY every.created_at DESC, every.id DESC LIMIT ${PAGE + 1}) b
       ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE + 1}`,
      [scope, states, uuidOrNull(before)],
    );
    return pageOf(rows);
  }

  /** Bills by their order, by the service's bill or payment id, or by the intent's id: by the whole of it. */
  async search(scope: ShopScope, text: string): Promise<ConsoleBill[]> {
    const shops = scope === null ? await this.shops() : [scope];
    return this.database.query(
      `SELECT ${BILL} FROM payment_acceptance.bill b WHERE b.id IN (
         SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND order_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND service_bill_id = $2
         UNION SELECT bill_id FROM payment_acceptance.payment WHERE shop = ANY($1) AND payment_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND id = $3::uuid)
       ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE}`,
      [shops, text, uuidOrNull(text)],
    );
  }

  /** Every shop that there has been. */
  async shops(): Promise<string[]> {
    const rows = await this.database.query<{ shop: string }>(
      `SELECT shop FROM payment_acceptance.shop_state ORDER BY shop`,
      [],
    );
    return rows.map(({ shop }) => shop);
  }

  /** Open ones, the oldest first. */
  async reviews(scope: ShopScope, after?: string): Promise<Paged<ConsoleReview>> {
    const rows = await this.database.query<ConsoleReview>(
      `SELECT ${REVIEW} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id
       WHERE r.state = 'OPEN' AND ${inScope('r.shop', '$1')}
         AND ($2::uuid IS NULL OR (r.opened_at, r.id) > (
           SELECT opened_at, id FROM payment_acceptance.review WHERE id = $2 AND ${inScope('shop', '$1')}))
       ORDER BY r.opened_at, r.id LIMIT ${PAGE + 1}`,
      [scope, uuidOrNull(after)],
    );
    return pageOf(rows.map(reviewOf));
  }

  async review(scope: ShopScope, id: string): Promise<ConsoleReview | undefined> {
    if (!isUuid(id)) return undefined;
    const rows = await this.database.query<ConsoleReview>(
      `SELECT ${REVIEW} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id
       WHERE r.id = $2 AND ${inScope('r.shop', '$1')}`,
      [scope, id],
    );
    return rows.map(reviewOf)[0];
  }

  /** Those that fit the filter, in settlement order. */
  async deadLetters(scope: ShopScope, filter: DeadLetterFilter, after?: string): Promise<Paged<ConsoleDeadLetter>> {
    const rows = await this.database.query<ConsoleDeadLetter>(
      `SELECT d.id::text AS "deliveryId", d.consumer, d.event_name AS event, d.event_id AS "eventId", b.shop,
         b.order_id AS "orderId", b.id AS "intentId", d.attempts, d.replays, d.last_error AS "lastError",
         ${iso('d.ended_at')} AS "endedAt"
       ${MATCHING} AND ($7::bigint IS NULL OR (d.seq, d.id) > (
         SELECT last.seq, last.id FROM payment_acceptance.delivery last JOIN payment_acceptance.event e ON e.id = last.event_id
         WHERE last.id = $7::bigint AND ${inScope('e.shop', '$6')}))
       ORDER BY d.seq, d.id LIMIT ${PAGE + 1}`,
      [...matchingParameters(filter, scope), after !== undefined && isDeliveryId(after) ? after : null],
    );
    return pageOf(rows);
  }

  async deadLetterCount(scope: ShopScope, filter: DeadLetterFilter): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count ${MATCHING}`,
      matchingParameters(filter, scope),
    );
    return row?.count ?? 0;
  }

  /** The newest postbacks that name no bill of ours and still wait for one. */
  waitingPostbacks(scope: ShopScope): Promise<WaitingPostback[]> {
    return this.database.query(
      `SELECT c.shop, c.order_id AS "orderId", c.service_bill_id AS "trsId", c.status, c.digest,
         ${iso('c.received_at')} AS "receivedAt"
       FROM payment_acceptance.callback c
       WHERE c.pending AND c.bill_id IS NULL AND NOT ${ACCEPTED_ELSEWHERE('c')} AND ${inScope('c.shop', '$1')}
       ORDER BY c.received_at DESC, c.id LIMIT ${PAGE}`,
      [scope],
    );
  }

  /** What operators did, of all shops, newest first. */
  async actions(before?: string): Promise<Paged<LoggedAction>> {
    const rows = await this.database.query<LoggedAction>(
      `SELECT ${ACTION}, b.id AS "intentId", b.order_id AS "orderId" FROM (
         SELECT a.*, CASE
           WHEN a.target ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN coalesce(
             (SELECT r.bill_id FROM payment_acceptance.review r WHERE r.id = a.target::uuid), a.target::uuid)
           WHEN a.target ~ '^[0-9]{1,18}$' THEN (
             SELECT d.bill_id FROM payment_acceptance.delivery d WHERE d.id = a.target::bigint) END AS of_bill
         FROM payment_acceptance.operator_action a
         WHERE $1::uuid IS NULL OR (a.at, a.id) < (SELECT at, id FROM payment_acceptance.operator_action WHERE id = $1)
         ORDER BY a.at DESC, a.id DESC LIMIT ${PAGE + 1}) a
       LEFT JOIN payment_acceptance.bill b ON b.id = a.of_bill ORDER BY a.at DESC, a.id DESC`,
      [uuidOrNull(before)],
    );
    return pageOf(rows.map(parsed('detail')));
  }
}

/** Whether a delivery can have this id. */
export function isDeliveryId(text: string): boolean {
  return /^\d{1,18}$/.test(text);
}

function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && isUuid(text) ? text : null;
}
