import { Injectable } from '@nestjs/common';
import { isUuid } from '../common/random.js';
import type { BillState } from './bill.store.js';
import { Database, NOW, epochMs, instant, iso } from './database.js';

/** A bill in a list. */
export interface ConsoleBill {
  readonly intentId: string;
  readonly shop: string;
  readonly orderId: string;
  readonly attempt: number;
  readonly billId: string | null;
  readonly state: BillState;
  readonly amount: string;
  readonly currency: string;
  readonly createdAt: string;
}

/** Everything recorded about one bill itself. */
export interface ConsoleBillDetail extends ConsoleBill {
  readonly description: string | null;
  readonly custom: string;
  readonly payerPaysCommission: boolean;
  readonly linkPageUrl: string | null;
  readonly failure: string | null;
  readonly openedAt: string | null;
  readonly paidAt: string | null;
  readonly endedAt: string | null;
  readonly checkedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly lastCheckError: string | null;
  readonly checks: number;
  readonly failedChecks: number;
}

export interface ConsolePayment {
  readonly paymentId: string;
  readonly status: string;
  readonly serviceStatus: string | null;
  readonly amount: string | null;
  readonly amountReceived: string | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  readonly serviceCreatedAt: string | null;
  readonly verdict: string;
  readonly firstSeenAt: string;
  readonly changedAt: string;
}

export interface ConsoleCallback {
  readonly id: string;
  readonly kind: string;
  readonly status: string | null;
  readonly digest: string;
  readonly corroboration: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly pending: boolean;
  readonly asks: number;
  readonly outcome: string | null;
  readonly receivedAt: string;
}

export interface ConsoleDelivery {
  readonly deliveryId: string;
  readonly consumer: string;
  readonly state: 'PENDING' | 'DONE' | 'DEAD';
  readonly attempts: number;
  readonly replays: number;
  readonly dueAt: string;
  readonly endedAt: string | null;
  readonly lastError: string | null;
}

export interface ConsoleEvent {
  readonly id: string;
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly occurredAt: string;
  readonly deliveries: readonly ConsoleDelivery[];
}

export interface ConsoleReview {
  readonly id: string;
  readonly intentId: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string | null;
  readonly paymentId: string | null;
  readonly reason: string;
  readonly state: 'OPEN' | 'ACCEPTED' | 'DISMISSED';
  readonly detail: Readonly<Record<string, unknown>>;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly closedBy: string | null;
}

export interface ConsoleAction {
  readonly id: string;
  readonly at: string;
  readonly operator: string;
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface ConsoleHistory {
  readonly bill: ConsoleBillDetail;
  readonly payments: readonly ConsolePayment[];
  readonly callbacks: readonly ConsoleCallback[];
  readonly events: readonly ConsoleEvent[];
  readonly reviews: readonly ConsoleReview[];
  readonly actions: readonly ConsoleAction[];
}

/** What a page of bills shows. */
export interface BillQuery {
  readonly state?: BillState;
  /** Only bills made before the one of this intent: the last one shown. */
  readonly before?: string;
}

/** One hour of payments. */
export interface HourOfPayments {
  /** Start of the hour, ISO 8601. */
  readonly hour: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly reviews: number;
}

/** What the charts are drawn from. */
export interface ConsoleFigures {
  readonly hours: readonly HourOfPayments[];
  /** How long payments took from their creation at the service to their settlement, newest first. */
  readonly settled: readonly { readonly shop: string; readonly createdAtText: string; readonly settledAt: Date }[];
  /** How long what is due now has been waiting, in milliseconds. */
  readonly waitingMs: readonly number[];
  /** What went wrong, by its first words, most frequent first. */
  readonly errors: readonly { readonly kind: string; readonly count: number }[];
  /** Bills made in the last day, by state. */
  readonly states: readonly { readonly state: BillState; readonly count: number }[];
}

const PAGE = 50;

/** Rows of one bill that one page shows of each kind. */
const ROWS = 500;

/** How far the charts look back: a day, and never more than so many rows. */
const NEWEST = 20_000;
const DAY = `${NOW} - interval '1 day'`;

const BILL = `b.id AS "intentId", b.shop, b.order_id AS "orderId", b.attempt, b.service_bill_id AS "billId", b.state,
  b.amount::text AS amount, b.currency, ${iso('b.created_at')} AS "createdAt"`;

const REVIEW = `r.id, r.bill_id AS "intentId", r.shop, r.order_id AS "orderId", b.service_bill_id AS "billId",
  r.payment_id AS "paymentId", r.reason, r.state, r.detail::text AS detail, ${iso('r.opened_at')} AS "openedAt",
  ${iso('r.closed_at')} AS "closedAt", r.closed_by AS "closedBy"`;

const ACTION = `id, ${iso('a.at')} AS at, operator, action, target, detail::text AS detail`;

/** What the operator console shows. Reads only; `shop` is the only one to be seen, or `null` for all. */
@Injectable()
export class ConsoleStore {
  constructor(private readonly database: Database) {}

  /** Newest first, a page at a time. */
  bills(shop: string | null, { state, before }: BillQuery): Promise<ConsoleBill[]> {
    return this.database.query(
      `SELECT ${BILL} FROM payment_acceptance.bill b
       WHERE ($1::text IS NULL OR b.shop = $1) AND ($2::text IS NULL OR b.state = $2)
         AND ($3::uuid IS NULL OR (b.created_at, b.id) < (SELECT created_at, id FROM payment_acceptance.bill WHERE id = $3))
       ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE}`,
      [shop, state ?? null, before !== undefined && isUuid(before) ? before : null],
    );
  }

  /** Bills by the order, by the service's bill or payment id, or by the intent's id: by the whole of it. */
  search(shops: readonly string[], text: string): Promise<ConsoleBill[]> {
    return this.database.query(
      `SELECT ${BILL} FROM payment_acceptance.bill b WHERE b.id IN (
         SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND order_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND service_bill_id = $2
         UNION SELECT bill_id FROM payment_acceptance.payment WHERE shop = ANY($1) AND payment_id = $2
         UNION SELECT id FROM payment_acceptance.bill WHERE shop = ANY($1) AND id = $3::uuid)
       ORDER BY b.created_at DESC, b.id DESC LIMIT ${PAGE}`,
      [shops, text, isUuid(text) ? text : null],
    );
  }

  /** Names of the shops that have bills. */
  async shops(): Promise<string[]> {
    const rows = await this.database.query<{ shop: string }>(
      `SELECT shop FROM payment_acceptance.shop_state ORDER BY shop LIMIT 1000`,
      [],
    );
    return rows.map(({ shop }) => shop);
  }

  async history(shop: string | null, intentId: string): Promise<ConsoleHistory | undefined> {
    if (!isUuid(intentId)) return undefined;
    const [bill] = await this.database.query<ConsoleBillDetail>(
      `SELECT ${BILL}, b.description, b.custom, b.payer_pays_commission AS "payerPaysCommission",
         b.link_page_url AS "linkPageUrl", b.failure, ${iso('b.opened_at')} AS "openedAt",
         ${iso('b.paid_at')} AS "paidAt", ${iso('b.ended_at')} AS "endedAt", ${iso('b.checked_at')} AS "checkedAt",
         ${iso('b.next_check_at')} AS "nextCheckAt", b.last_check_error AS "lastCheckError", b.checks,
         b.failed_checks AS "failedChecks"
       FROM payment_acceptance.bill b WHERE b.id = $1 AND ($2::text IS NULL OR b.shop = $2)`,
      [intentId, shop],
    );
    if (!bill) return undefined;
    const [payments, callbacks, events, reviews] = await Promise.all([
      this.payments(intentId),
      this.callbacks(intentId),
      this.events(intentId),
      this.reviewsOf(intentId),
    ]);
    const targets = [
      intentId,
      ...reviews.map(({ id }) => id),
      ...events.flatMap(({ deliveries }) => deliveries.map(({ deliveryId }) => deliveryId)),
    ];
    return { bill, payments, callbacks, events, reviews, actions: await this.actionsOn(targets) };
  }

  /** Those that are open, the oldest first. */
  async reviews(shop: string | null): Promise<ConsoleReview[]> {
    const rows = await this.database.query<ConsoleReview>(
      `SELECT ${REVIEW} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id
       WHERE r.state = 'OPEN' AND ($1::text IS NULL OR r.shop = $1) ORDER BY r.opened_at LIMIT ${ROWS}`,
      [shop],
    );
    return rows.map(parsed('detail'));
  }

  async review(shop: string | null, id: string): Promise<ConsoleReview | undefined> {
    if (!isUuid(id)) return undefined;
    const rows = await this.database.query<ConsoleReview>(
      `SELECT ${REVIEW} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id
       WHERE r.id = $2 AND ($1::text IS NULL OR r.shop = $1)`,
      [shop, id],
    );
    return rows.map(parsed('detail'))[0];
  }

  /** What operators did last, of all shops. */
  async actions(): Promise<ConsoleAction[]> {
    const rows = await this.database.query<ConsoleAction>(
      `SELECT ${ACTION} FROM payment_acceptance.operator_action a ORDER BY a.at DESC LIMIT ${ROWS}`,
      [],
    );
    return rows.map(parsed('detail'));
  }

  async figures(shop: string | null): Promise<ConsoleFigures> {
    const parameters = [this.database.offsetMs, shop];
    const [hours, settled, waiting, errors, states] = await Promise.all([
      this.database.query<HourOfPayments>(
        `SELECT ${iso("h.hour")} AS hour,
           count(*) FILTER (WHERE e.name = 'payment.succeeded')::int AS succeeded,
           count(*) FILTER (WHERE e.name = 'payment.failed')::int AS failed,
           count(*) FILTER (WHERE e.name = 'payment.review')::int AS reviews
         FROM generate_series(date_trunc('hour', ${NOW}) - interval '23 hours', date_trunc('hour', ${NOW}), '1 hour') h(hour)
         LEFT JOIN (${newestEvents('name, occurred_at')}) e ON date_trunc('hour', e.occurred_at) = h.hour
         GROUP BY h.hour ORDER BY h.hour`,
        parameters,
      ),
      this.database.query<{ shop: string; createdAtText: string; settledAt: string }>(
        `SELECT e.shop, p.service_created_at AS "createdAtText", ${epochMs('e.occurred_at')} AS "settledAt"
         FROM (${newestEvents('name, shop, payload, occurred_at')}) e
         JOIN payment_acceptance.payment p ON p.shop = e.shop AND p.payment_id = e.payload ->> 'paymentId'
         WHERE e.name = 'payment.succeeded' AND p.service_created_at IS NOT NULL`,
        parameters,
      ),
      this.database.query<{ ms: string }>(
        `(SELECT floor(extract(epoch FROM ${NOW} - b.next_check_at) * 1000)::bigint::text AS ms
          FROM payment_acceptance.bill b
          WHERE b.next_check_at <= ${NOW} AND ($2::text IS NULL OR b.shop = $2) LIMIT ${NEWEST})
         UNION ALL
         (SELECT floor(extract(epoch FROM ${NOW} - e.occurred_at) * 1000)::bigint::text
          FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
          WHERE d.state = 'PENDING' AND ($2::text IS NULL OR e.shop = $2) LIMIT ${NEWEST})`,
        parameters,
      ),
      this.database.query<{ kind: string; count: number }>(
        `SELECT left(split_part(split_part(text, ':', 1), '.', 1), 60) AS kind, count(*)::int AS count FROM (
           SELECT coalesce(b.failure, b.last_check_error) AS text FROM (${newestBills('failure, last_check_error')}) b
           UNION ALL
           (SELECT d.last_error FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
            WHERE d.state IN ('PENDING', 'DEAD') AND d.last_error IS NOT NULL
              AND ($2::text IS NULL OR e.shop = $2) LIMIT ${NEWEST})) errors
         WHERE text IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 8`,
        parameters,
      ),
      this.database.query<{ state: BillState; count: number }>(
        `SELECT b.state, count(*)::int AS count FROM (${newestBills('state')}) b GROUP BY b.state ORDER BY 2 DESC`,
        parameters,
      ),
    ]);
    return {
      hours,
      settled: settled.map((row) => ({ ...row, settledAt: instant(row.settledAt) })),
      waitingMs: waiting.map(({ ms }) => Math.max(0, Number(ms))),
      errors,
      states,
    };
  }

  private payments(intentId: string): Promise<ConsolePayment[]> {
    return this.database.query(
      `SELECT payment_id AS "paymentId", status, service_status AS "serviceStatus", amount::text AS amount,
         amount_received::text AS "amountReceived", currency, from_card AS "fromCard",
         service_created_at AS "serviceCreatedAt", verdict, ${iso('first_seen_at')} AS "firstSeenAt",
         ${iso('changed_at')} AS "changedAt"
       FROM payment_acceptance.payment p WHERE bill_id = $1 ORDER BY p.first_seen_at, payment_id LIMIT ${ROWS}`,
      [intentId],
    );
  }

  private async callbacks(intentId: string): Promise<ConsoleCallback[]> {
    const rows = await this.database.query<ConsoleCallback>(
      `SELECT id, kind, status, digest, corroboration::text AS corroboration, fields::text AS fields, pending, asks,
         outcome, ${iso('received_at')} AS "receivedAt"
       FROM payment_acceptance.callback c WHERE bill_id = $1 ORDER BY c.received_at DESC LIMIT ${ROWS}`,
      [intentId],
    );
    return rows.map(parsed('corroboration')).map(parsed('fields'));
  }

  private async events(intentId: string): Promise<ConsoleEvent[]> {
    const rows = await this.database.query<ConsoleEvent>(
      `SELECT e.id, e.name, e.payload::text AS payload, ${iso('e.occurred_at')} AS "occurredAt",
         coalesce((SELECT json_agg(json_build_object('deliveryId', d.id::text, 'consumer', d.consumer, 'state', d.state,
           'attempts', d.attempts, 'replays', d.replays, 'dueAt', ${iso('d.due_at')}, 'endedAt', ${iso('d.ended_at')},
           'lastError', d.last_error) ORDER BY d.consumer)
           FROM payment_acceptance.delivery d WHERE d.event_id = e.id), '[]')::text AS deliveries
       FROM payment_acceptance.event e WHERE e.bill_id = $1 ORDER BY e.seq LIMIT ${ROWS}`,
      [intentId],
    );
    return rows.map(parsed('payload')).map(parsed('deliveries'));
  }

  private async reviewsOf(intentId: string): Promise<ConsoleReview[]> {
    const rows = await this.database.query<ConsoleReview>(
      `SELECT ${REVIEW} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id
       WHERE r.bill_id = $1 ORDER BY r.opened_at LIMIT ${ROWS}`,
      [intentId],
    );
    return rows.map(parsed('detail'));
  }

  private async actionsOn(targets: readonly string[]): Promise<ConsoleAction[]> {
    const rows = await this.database.query<ConsoleAction>(
      `SELECT ${ACTION} FROM payment_acceptance.operator_action a WHERE target = ANY($1) ORDER BY a.at LIMIT ${ROWS}`,
      [targets],
    );
    return rows.map(parsed('detail'));
  }
}

/** JSON comes as text, whatever type parsers the host has. */
function parsed<Row extends object>(column: keyof Row): (row: Row) => Row {
  return (row) => ({ ...row, [column]: JSON.parse(String(row[column])) as unknown });
}

/** Events of the last day, found through their order: `$1` is the clock's offset, `$2` the shop or null. */
function newestEvents(columns: string): string {
  return `SELECT * FROM (SELECT seq, shop AS of_shop, ${columns} FROM payment_acceptance.event ORDER BY seq DESC LIMIT ${NEWEST}) newest
    WHERE newest.occurred_at > ${DAY} AND ($2::text IS NULL OR newest.of_shop = $2)`;
}

/** Bills made in the last day. */
function newestBills(columns: string): string {
  return `SELECT ${columns} FROM payment_acceptance.bill
    WHERE created_at > ${DAY} AND ($2::text IS NULL OR shop = $2) ORDER BY created_at DESC LIMIT ${NEWEST}`;
}
