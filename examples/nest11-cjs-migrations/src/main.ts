import { Module, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
import { addTransactionalDataSource, initializeTransactionalContext } from 'typeorm-transactional';
import { createDataSource } from './database';
import { OrdersController } from './orders.controller';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({}),
      dataSourceFactory: () => addTransactionalDataSource(createDataSource()).initialize(),
    }),
    PaymentAcceptanceModule.forRoot({ ...paymentAcceptanceOptionsFromEnv(), migrations: 'verify' }),
  ],
  controllers: [OrdersController],
})
class AppModule {}

async function main(): Promise<void> {
  initializeTransactionalContext();
  const app = await NestFactory.create(AppModule);
  app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI }).enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000);
}

void main();
