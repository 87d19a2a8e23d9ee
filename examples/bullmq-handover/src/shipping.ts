import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job, Queue } from 'bullmq';
import * as payment from 'nestjs-payment-acceptance';
import { DataSource } from 'typeorm';
import { Order } from './orders.js';

/** Adds a job for each payment. Redis has no part in the transaction: where its commit fails, the handler runs again. */
export class ShippingHandover {
  constructor(@InjectQueue('shipping') private readonly queue: Queue) {}

  @payment.OnPaymentSucceeded({ consumer: 'shipping' })
  async paid(event: payment.PaymentSucceededEvent, { manager }: payment.PaymentEventContext): Promise<void> {
    const { orderId: id, amount, currency } = event;
    payment.requireOrder(event, await manager.update(Order, { id, amount, currency }, { status: 'paid' }));
    // The event's id is the same in each attempt, and BullMQ adds no second job under an id.
    await this.queue.add('ship', { id }, { jobId: event.id });
  }
}

@Processor('shipping')
export class ShippingProcessor extends WorkerHost {
  constructor(private readonly database: DataSource) {
    super();
  }

  /** May run before the handler's commit, and then fails until BullMQ tries again. */
  async process({ data: { id } }: Job<{ id: string }>): Promise<void> {
    const { status } = await this.database.manager.findOneByOrFail(Order, { id });
    if (status === 'pending') throw new Error(`Order ${id} is not paid yet.`);
    await this.database.manager.update(Order, { id }, { status: 'shipped' });
  }
}
