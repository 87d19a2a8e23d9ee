import { Module } from '@nestjs/common';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { pool, transactions } from './database.js';
import { OrderPayments } from './order-payments.js';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [PaymentAcceptanceModule.forRoot({ ...paymentAcceptanceOptionsFromEnv(), storage: { pool }, transactions })],
  controllers: [OrdersController],
  providers: [OrderPayments],
})
export class AppModule {}
