import { Column, Entity, JoinColumn, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm';
import { Order } from './order.entity.js';

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
