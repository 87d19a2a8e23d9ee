import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { database } from './database.js';
import { OrderPayments } from './order-payments.js';

/** Checks bills, settles payments and runs the handlers. It listens on no port. */
@Module({
  imports: [database, PaymentAcceptanceModule.forRoot({ role: 'workers', ...paymentAcceptanceOptionsFromEnv() })],
  providers: [OrderPayments],
})
class WorkersModule {}

const app = await NestFactory.createApplicationContext(WorkersModule);
app.enableShutdownHooks(); // running payments end before the application stops
