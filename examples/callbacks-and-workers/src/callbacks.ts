import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { database } from './database.js';
import { OrdersController } from './orders.controller.js';

/** Faces the network: creates bills, stores callbacks. It asks the service about no payment, and has no handlers. */
@Module({
  imports: [database, PaymentAcceptanceModule.forRoot({ role: 'callbacks', ...paymentAcceptanceOptionsFromEnv() })],
  controllers: [OrdersController],
})
class CallbacksModule {}

const app = await NestFactory.create(CallbacksModule);
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000);
