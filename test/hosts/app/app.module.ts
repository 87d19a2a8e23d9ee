import { Module, type DynamicModule } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule, type PaymentAcceptanceExtras } from 'nestjs-payment-acceptance';
import { Order } from './order.entity.js';
import { ORDERS_DATA_SOURCE, OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';

export interface AppOptions {
  databaseUrl: string;
  sandboxUrl: string;
  /** Name of the data source with the orders, if the application has several. */
  dataSource?: string;
  routes?: PaymentAcceptanceExtras['routes'];
  /** Whether `EventEmitterModule` is imported after the payments. */
  emitterIsLast?: boolean;
}

/** A typical application: orders in its own tables, created by `synchronize`, and two payment shops. */
@Module({})
export class AppModule {
  static with({ databaseUrl, sandboxUrl, dataSource, routes, emitterIsLast = false }: AppOptions): DynamicModule {
    const postgres = { type: 'postgres', url: databaseUrl, synchronize: true } as const;
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot({ ignoreEnvFile: true, load: [() => ({ sandboxUrl })] }),
        ...(dataSource === undefined
          ? [TypeOrmModule.forRoot({ ...postgres, entities: [Order] })]
          : [
              TypeOrmModule.forRoot({ ...postgres, entities: [] }),
              TypeOrmModule.forRoot({ ...postgres, name: dataSource, entities: [Order] }),
            ]),
        ...(emitterIsLast ? [] : [EventEmitterModule.forRoot()]),
        PaymentAcceptanceModule.forRootAsync({
          ...(dataSource !== undefined && { dataSource }),
          ...(routes && { routes }),
          imports: [ConfigModule],
          inject: [ConfigService],
          useFactory: (config: ConfigService) => {
            const apiBaseUrl = config.getOrThrow<string>('sandboxUrl');
            return {
              shops: {
                main: { shopId: 'demo-main', apiToken: 'sandbox-main-token-0123456789abcdef', apiBaseUrl },
                eu: {
                  shopId: 'demo-eu',
                  apiToken: 'sandbox-eu-token-0123456789abcdef',
                  apiBaseUrl,
                  currency: 'EUR',
                },
              },
            };
          },
        }),
        PaymentAcceptanceModule.forFeature('eu'),
        ...(emitterIsLast ? [EventEmitterModule.forRoot()] : []),
      ],
      providers: [
        { provide: ORDERS_DATA_SOURCE, useExisting: getDataSourceToken(dataSource) },
        OrdersRepository,
        OrdersService,
      ],
    };
  }
}
