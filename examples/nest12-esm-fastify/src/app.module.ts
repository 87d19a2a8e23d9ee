import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { Order } from './order.entity.js';
import { OrderPayments } from './order-payments.js';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order], synchronize: true }),
    PaymentAcceptanceModule.forRoot(paymentAcceptanceOptionsFromEnv()),
  ],
  controllers: [OrdersController],
  providers: [OrderPayments],
})
export class AppModule {}
