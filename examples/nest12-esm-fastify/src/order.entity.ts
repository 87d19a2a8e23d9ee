import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn('uuid') id!: string;
  @Column('numeric', { precision: 10, scale: 2 }) amount!: string;
  @Column('text', { default: 'RUB' }) currency!: string;
  @Column('text', { default: 'pending' }) status!: 'pending' | 'paid' | 'cancelled';
  @Column('text', { nullable: true }) note!: string | null;
}
