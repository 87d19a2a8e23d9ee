import type { MigrationInterface, QueryRunner } from 'typeorm';
import { kindOf } from './kind.js';

const TYPES = {
  postgres: { uuid: 'uuid', counter: 'bigint GENERATED ALWAYS AS IDENTITY', instant: 'timestamptz', now: 'now()' },
  mariadb: { uuid: 'char(36)', counter: 'bigint AUTO_INCREMENT', instant: 'datetime(6)', now: 'utc_timestamp(6)' },
};

/** Each statement is idempotent: MariaDB commits each on its own, so a killed start may have run some of them. */
export class CreateOrders1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { uuid, counter, instant, now } = TYPES[kindOf(runner.dataSource)];
    await runner.query(`CREATE TABLE IF NOT EXISTS shop_order (
      id ${uuid} PRIMARY KEY,
      shop text NOT NULL,
      amount numeric(10,2) NOT NULL,
      currency text NOT NULL,
      description text NOT NULL,
      status text NOT NULL,
      paid_amount numeric(10,2),
      note text,
      created_at ${instant} NOT NULL DEFAULT ${now}
    )`);
    await runner.query(`CREATE INDEX IF NOT EXISTS shop_order_newest ON shop_order (created_at DESC)`);
    await runner.query(`CREATE TABLE IF NOT EXISTS shop_order_event (
      id ${counter} PRIMARY KEY,
      order_id ${uuid} NOT NULL REFERENCES shop_order (id),
      name text NOT NULL,
      payment_id text NOT NULL,
      at ${instant} NOT NULL
    )`);
    await runner.query(`CREATE INDEX IF NOT EXISTS shop_order_event_of_order ON shop_order_event (order_id, id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE shop_order_event`);
    await runner.query(`DROP TABLE shop_order`);
  }
}
