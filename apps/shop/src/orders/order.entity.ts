import {
  Column,
  CreateDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';

export type OrderStatus = 'pending' | 'paid' | 'not_paid' | 'cancelled';
export type ShopName = 'main' | 'eu';

@Entity('shop_order')
export class Order {
  /** Random, so that nobody can guess the address of another buyer's order. */
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  shop!: ShopName;

  /** An exact decimal, never a number. */
  @Column('numeric', { precision: 10, scale: 2 })
  amount!: string;

  @Column('text')
  currency!: string;

  @Column('text')
  description!: string;

  @Column('text')
  status!: OrderStatus;

  @Column('numeric', { name: 'paid_amount', precision: 10, scale: 2, nullable: true })
  paidAmount!: string | null;

  /** What a person must check; the order's page shows it. */
  @Column('text', { nullable: true })
  note!: string | null;

  @CreateDateColumn({ name: 'created_at' })
  createdAt!: Date;

  @OneToMany(() => OrderEvent, (event) => event.order)
  events!: Relation<OrderEvent>[];
}

/** Whether no further payment is expected. */
export function isFinal({ status }: Order): boolean {
  return status === 'paid' || status === 'cancelled';
}

/** A payment event that the order has processed. */
@Entity('shop_order_event')
export class OrderEvent {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @ManyToOne(() => Order, (order) => order.events)
  @JoinColumn({ name: 'order_id' })
  order!: Relation<Order>;

  @Column('text')
  name!: string;

  @Column('text', { name: 'payment_id' })
  paymentId!: string;

  @Column()
  at!: Date;
}
