import { Module } from '@nestjs/common';
import { ConfigModule, type ConfigType } from '@nestjs/config';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { databaseOptions, openDatabase } from './database/database.js';
import { OrdersModule } from './orders/orders.module.js';
import { paymentResultPage } from './pages/payment-result.page.js';
import { AssetsController } from './pages/assets.controller.js';
import { paymentsConfig } from './payments.config.js';
import { isDevelopment } from './production.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({ useFactory: databaseOptions, dataSourceFactory: openDatabase }),
    PaymentAcceptanceModule.forRootAsync({
      imports: [ConfigModule.forFeature(paymentsConfig)],
      inject: [paymentsConfig.KEY],
      useFactory: (payments: ConfigType<typeof paymentsConfig>) => ({ ...payments, resultPage: paymentResultPage }),
    }),
    OrdersModule,
    // The console has no guard here, so it exists in development only. Your shop would name a guard that admits operators.
    ...(isDevelopment() ? [PaymentConsoleModule.register()] : []),
  ],
  controllers: [AssetsController],
})
export class AppModule {}
