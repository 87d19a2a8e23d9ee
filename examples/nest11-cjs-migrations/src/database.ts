import { DataSource, Column, Entity, PrimaryGeneratedColumn, type MigrationInterface, type QueryRunner } from 'typeorm';

@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn('uuid') id!: string;
  @Column('numeric', { precision: 10, scale: 2 }) amount!: string;
  @Column('text', { default: 'RUB' }) currency!: string;
  @Column('text', { default: 'pending' }) status!: 'pending' | 'paid' | 'cancelled';
  @Column('text', { nullable: true }) note!: string | null;
}

class CreateOrders1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE orders (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(), amount numeric(10, 2) NOT NULL,
      currency text NOT NULL DEFAULT 'RUB', status text NOT NULL DEFAULT 'pending', note text)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE orders');
  }
}

const migrations = [CreateOrders1700000000000];
export const createDataSource = () =>
  new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order], migrations });
