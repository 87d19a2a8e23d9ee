import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateOrders1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE shop_order (
      id uuid PRIMARY KEY,
      shop text NOT NULL,
      amount numeric(10,2) NOT NULL,
      currency text NOT NULL,
      description text NOT NULL,
      status text NOT NULL,
      paid_amount numeric(10,2),
      note text,
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
    await runner.query(`CREATE INDEX shop_order_newest ON shop_order (created_at DESC)`);
    await runner.query(`CREATE TABLE shop_order_event (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      order_id uuid NOT NULL REFERENCES shop_order (id),
      name text NOT NULL,
      payment_id text NOT NULL,
      at timestamptz NOT NULL
    )`);
    await runner.query(`CREATE INDEX shop_order_event_of_order ON shop_order_event (order_id, id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE shop_order_event`);
    await runner.query(`DROP TABLE shop_order`);
  }
}
