import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job, Queue } from 'bullmq';
import * as payment from 'nestjs-payment-acceptance';
import { DataSource, type EntityManager } from 'typeorm';
import { Order } from './orders.js';

/** Adds a job for each payment. Redis has no part in the transaction: where its commit fails, the handler runs again. */
export class ShippingHandover {
  constructor(@InjectQueue('shipping') private readonly queue: Queue) {}

  @payment.OnPaymentSucceeded({ consumer: 'shipping' })
  async paid(
    event: payment.PaymentSucceededEvent,
    { manager }: payment.PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { affected } = await manager.update(Order, { ...order, status: 'pending' }, { status: 'paid' });
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    if (!affected) payment.requireOrder(event, await manager.update(Order, order, { note: `Payment ${paymentId}` }));
    // The event's id is the same in each attempt, and BullMQ adds no second job under an id.
    if (affected) await this.queue.add('ship', { id }, { jobId: event.id });
  }
}

@Processor('shipping')
export class ShippingProcessor extends WorkerHost {
  constructor(private readonly database: DataSource) {
    super();
  }

  /** Asks for no status: the event says that the order is paid, and the handler's transaction may still be open. */
  async process({ data: { id } }: Job<{ id: string }>): Promise<void> {
    const { affected } = await this.database.manager.update(Order, { id }, { shipped: true });
    if (affected === 0) throw new Error(`There is no order ${id} to be shipped.`);
  }
}
