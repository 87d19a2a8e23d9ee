import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('host_order')
export class Order {
  @PrimaryGeneratedColumn('uuid') id!: string;
  @Column('numeric', { precision: 18, scale: 2 }) amount!: string;
  @Column() currency!: string;
  @Column({ default: 'pending' }) status!: string;
  @Column({ type: 'text', nullable: true }) note!: string | null;
}
