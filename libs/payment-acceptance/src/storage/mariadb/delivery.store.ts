import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { NOW, epochMs, inMs } from '../sql.js';
import { DeliveryStore, type ClaimedDelivery, type HostedConsumer } from '../delivery.store.js';
import type { MariaDatabase } from './maria.database.js';

const IN_SIGHT = 20;
/** How many deliveries are looked at for each that may be claimed: another instance may have locked some. */
const LOOKED_AT = 3;

/** The next deliveries `d` of each consumer and its shops, whose names begin with the parameter after `before`. */
function ofEach(hosted: readonly HostedConsumer[], before: number, columns: string, condition: string, limit: number) {
  const one = (consumer: number): string =>
    `(SELECT ${columns} FROM payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.consumer = $${consumer}
      AND d.event_name = $${consumer + 1} AND ($${consumer + 2} IS NULL OR JSON_CONTAINS($${consumer + 2}, ${SHOP_OF('d')}))
      ${condition} ORDER BY d.due_at, d.seq LIMIT ${limit})`;
  return {
    sql: hosted.map((_each, index) => one(before + 1 + 3 * index)).join(' UNION ALL '),
    names: hosted.flatMap(({ name, event, shops }) => [name, event, shops && JSON.stringify(shops)]),
  };
}

/** The shop of a delivery. */
const SHOP_OF = (d: string): string =>
  `JSON_QUOTE((SELECT e.shop FROM payment_acceptance.event e WHERE e.id = ${d}.event_id))`;

/**
 * Whether a delivery `earlier` is of a shop that its consumer does not name here: a condition whose parameters begin after
 * `before`. It has the bill, and so the shop, of the delivery `d`.
 */
function unnamed(hosted: readonly HostedConsumer[], before: number, d: string) {
  const some = hosted.filter(({ shops }) => shops !== null);
  const one = (at: number): string =>
    `earlier.consumer = $${at} AND earlier.event_name = $${at + 1} AND NOT JSON_CONTAINS($${at + 2}, ${SHOP_OF(d)})`;
  return {
    sql: some.length > 0 ? `(${some.map((_each, index) => one(before + 1 + 3 * index)).join(' OR ')})` : 'FALSE',
    names: some.flatMap(({ name, event, shops }) => [name, event, JSON.stringify(shops)]),
  };
}

const LATER = `EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.bill_id = d.bill_id
  AND later.consumer = d.consumer AND later.seq > d.seq AND later.state = 'DONE') AS late`;

@Injectable()
export class MariaDeliveryStore extends DeliveryStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async register(consumers: readonly HostedConsumer[]): Promise<void> {
    if (consumers.length === 0) return;
    const now = this.maria.now();
    const inOrder = [...consumers].sort((a, b) => (a.name + a.event < b.name + b.event ? -1 : 1));
    const rows = inOrder.map(({ name, event, shops }) => [name, event, shops && JSON.stringify(shops), now, now]);
    await this.maria.query(
      `INSERT INTO payment_acceptance.consumer (name, event_name, shops, registered_at, last_seen_at) VALUES $1
       ON DUPLICATE KEY UPDATE last_seen_at = VALUES(last_seen_at), shops = CASE
         WHEN JSON_CONTAINS(shops, VALUES(shops)) THEN shops ELSE JSON_MERGE_PRESERVE(shops, VALUES(shops)) END`,
      [rows],
    );
  }

  protected override async known(): Promise<HostedConsumer[]> {
    const rows = await this.maria.query<{ name: string; event: string; shops: string | null }>(
      `SELECT name, event_name AS event, CAST(shops AS CHAR) AS shops FROM payment_acceptance.consumer ORDER BY 1, 2`,
      [],
    );
    return rows.map(({ shops, ...row }) => ({
      ...row,
      // Shops that two releases have named stand there twice.
      shops: shops === null ? null : [...new Set(JSON.parse(shops) as string[])],
    }));
  }

  override async claim(
    hosted: readonly HostedConsumer[],
    limit: number,
    leaseMs: number,
    token: string,
    absentMs: number,
    maxAttempts: number,
  ): Promise<ClaimedDelivery[]> {
    if (hosted.length === 0) return [];
    const free = (d: string, absent: string, most: string, elsewhere: string): string =>
      `${d}.due_at <= ${NOW} AND (${d}.lease_until IS NULL OR ${d}.lease_until < ${NOW} AND ${d}.attempts < ${most})
       AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery earlier
         JOIN payment_acceptance.consumer c ON c.name = earlier.consumer AND c.event_name = earlier.event_name
         WHERE earlier.state = 'PENDING' AND earlier.bill_id = ${d}.bill_id AND earlier.consumer = ${d}.consumer
           AND earlier.seq < ${d}.seq AND c.last_seen_at >= ${NOW} - ${absent}::double precision * interval '1 millisecond'
           AND (earlier.due_at >= ${NOW} - ${absent}::double precision * interval '1 millisecond' OR NOT ${elsewhere}))
       AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery running WHERE running.state = 'PENDING'
         AND running.bill_id = ${d}.bill_id AND running.consumer = ${d}.consumer AND running.id <> ${d}.id
         AND running.lease_until >= ${NOW})`;
    const others = unnamed(hosted, 3, 'd');
    const next = ` AND ${free('d', '$2', '$3', others.sql)}`;
    const each = ofEach(hosted, 3 + others.names.length, 'd.id, d.due_at, d.seq', next, limit * LOOKED_AT);
    const due = await this.maria.query<{ id: string }>(
      `SELECT id::text AS id FROM (${each.sql}) due ORDER BY due_at, seq LIMIT ${limit * LOOKED_AT}`,
      [this.maria.offsetMs, absentMs, maxAttempts, ...others.names, ...each.names],
    );
    if (due.length === 0) return [];
    return this.maria.transaction(async (manager) => {
      const same = unnamed(hosted, 3, 't');
      const condition = `t.state = 'PENDING' AND ${free('t', '$2', '$3', same.sql)}`;
      const locked = await this.maria.lockFree(
        manager,
        'delivery',
        due.map(({ id }) => id),
        condition,
        [absentMs, maxAttempts, ...same.names],
      );
      const ids = locked.slice(0, limit);
      await this.maria.query(
        `UPDATE payment_acceptance.delivery SET attempts = attempts + 1, lease_token = $3, lease_until = ${inMs('$2')}
         WHERE id = ANY($4)`,
        [this.maria.offsetMs, leaseMs, token, ids],
        manager,
      );
      return this.maria.query<ClaimedDelivery>(
        `SELECT d.id::text AS id, d.lease_token AS token, d.consumer, d.event_name AS "eventName",
           d.attempts AS attempt, e.payload::text AS payload, e.traceparent, b.state AS "billState", ${LATER}
         FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
         JOIN payment_acceptance.bill b ON b.id = d.bill_id WHERE d.id = ANY($1)`,
        [ids],
        manager,
      );
    });
  }

  override async nextDueMs(hosted: readonly HostedConsumer[]): Promise<number | null> {
    if (hosted.length === 0) return null;
    const each = ofEach(hosted, 1, 'GREATEST(d.due_at, coalesce(d.lease_until, d.due_at)) AS at', '', IN_SIGHT);
    const [row] = await this.maria.query<{ next: string | null; now: string }>(
      `SELECT ${epochMs('next')} AS next, ${epochMs(NOW)} AS now
       FROM (SELECT MIN(at) AS next FROM (${each.sql}) soon WHERE at > ${NOW}) soonest`,
      [this.maria.offsetMs, ...each.names],
    );
    return typeof row?.next === 'string' ? Number(row.next) - Number(row.now) : null;
  }

  override async deadLetterExhausted(maxAttempts: number): Promise<{ id: string; consumer: string }[]> {
    const condition = `t.state = 'PENDING' AND t.attempts >= $2 AND t.lease_until < ${NOW}`;
    const found = await this.maria.query<{ id: string; consumer: string }>(
      `SELECT t.id::text AS id, t.consumer FROM payment_acceptance.delivery t WHERE ${condition} LIMIT 100`,
      [this.maria.offsetMs, maxAttempts],
    );
    if (found.length === 0) return [];
    return this.maria.transaction(async (manager) => {
      const ids = await this.maria.lockFree(
        manager,
        'delivery',
        found.map(({ id }) => id),
        condition,
        [maxAttempts],
      );
      await this.maria.query(
        `UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = ${NOW}, lease_token = NULL, lease_until = NULL,
           last_error = coalesce(last_error, 'The process ended during the last attempt.') WHERE id = ANY($2)`,
        [this.maria.offsetMs, ids],
        manager,
      );
      return found.filter(({ id }) => ids.includes(id));
    });
  }

  override async completeWith(
    manager: EntityManager,
    delivery: ClaimedDelivery,
  ): Promise<{ late: boolean } | undefined> {
    const [own] = await this.maria.query<{ until: string }>(
      `SELECT CAST(lease_until AS CHAR) AS until FROM payment_acceptance.delivery
       WHERE id = $1 AND lease_token = $2 AND state = 'PENDING' FOR UPDATE`,
      [delivery.id, delivery.token],
      manager,
    );
    if (!own) return undefined;
    const [row] = await this.maria.query<{ late: boolean; rivalled: boolean }>(
      `SELECT ${LATER}, EXISTS (SELECT 1 FROM payment_acceptance.delivery rival WHERE rival.state = 'PENDING'
           AND rival.bill_id = d.bill_id AND rival.consumer = d.consumer AND rival.lease_until >= ${NOW}
           AND (rival.lease_until < $3 OR rival.lease_until = $3 AND rival.id < d.id)) AS rivalled
       FROM payment_acceptance.delivery d WHERE d.id = $2`,
      [this.maria.offsetMs, delivery.id, own.until],
      manager,
    );
    if (row?.rivalled) throw new Error('Another delivery of the same bill to the same consumer is under way.');
    await this.maria.query(
      `UPDATE payment_acceptance.delivery SET state = 'DONE', ended_at = ${NOW}, lease_token = NULL, lease_until = NULL,
         last_error = NULL WHERE id = $2`,
      [this.maria.offsetMs, delivery.id],
      manager,
    );
    return { late: row?.late === true };
  }

  override async absent(afterMs: number): Promise<{ name: string; event: string; waiting: number }[]> {
    return this.maria.query(
      `SELECT c.name, c.event_name AS event, (SELECT LEAST(10000, COUNT(*)) FROM payment_acceptance.delivery d
         WHERE d.state = 'PENDING' AND d.consumer = c.name AND d.event_name = c.event_name) AS waiting
       FROM payment_acceptance.consumer c
       WHERE c.last_seen_at < ${NOW} - $2::double precision * interval '1 millisecond' ORDER BY 1, 2`,
      [this.maria.offsetMs, afterMs],
    );
  }
}
