import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { OrdersPageController } from '../pages/orders.page.controller.js';
import { OrderPayments } from './order-payments.js';
import { OrderWatch } from './order-watch.js';
import { Order, OrderEvent } from './order.entity.js';
import { OrdersApiController } from './orders.api.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order, OrderEvent]), PaymentAcceptanceModule.forFeature('main', 'eu')],
  controllers: [OrdersApiController, OrdersPageController],
  providers: [OrdersService, OrderPayments, OrderWatch],
})
export class OrdersModule {}
