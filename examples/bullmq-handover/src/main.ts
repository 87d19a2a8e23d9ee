import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { Order, OrdersController } from './orders.js';
import { ShippingHandover, ShippingProcessor } from './shipping.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order], synchronize: true }),
    PaymentAcceptanceModule.forRoot(paymentAcceptanceOptionsFromEnv()),
    BullModule.forRoot({
      connection: { url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' },
      prefix: process.env.QUEUE_PREFIX ?? 'example',
      // Done jobs stay for longer than an event is retried, so that their ids stay known.
      defaultJobOptions: {
        attempts: 10,
        backoff: { type: 'exponential', delay: 500 },
        removeOnComplete: { age: 7 * 24 * 60 * 60 },
      },
    }),
    BullModule.registerQueue({ name: 'shipping' }),
  ],
  controllers: [OrdersController],
  providers: [ShippingHandover, ShippingProcessor],
})
class AppModule {}

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000);
