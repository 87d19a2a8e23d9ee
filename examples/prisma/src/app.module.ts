import { Module } from '@nestjs/common';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { prismaTransactions } from 'nestjs-payment-acceptance/prisma';
import { OrderPayments } from './order-payments.js';
import { OrdersController } from './orders.controller.js';
import { PrismaModule, PrismaService } from './prisma.service.js';

@Module({
  imports: [
    PrismaModule,
    PaymentAcceptanceModule.forRootAsync({
      imports: [PrismaModule],
      inject: [PrismaService],
      useFactory: (prisma: PrismaService) => ({
        ...paymentAcceptanceOptionsFromEnv(),
        storage: { url: process.env.DATABASE_URL },
        transactions: prismaTransactions(prisma),
      }),
    }),
  ],
  controllers: [OrdersController],
  providers: [OrderPayments],
})
export class AppModule {}
