import { ConfigurableModuleBuilder, type DynamicModule } from '@nestjs/common';
import { createCallbackControllers } from './callbacks/callback.controllers.js';
import { CALLBACK_ROUTES, resolveRoutes } from './callbacks/routes.js';
import type { PaymentAcceptanceExtras, PaymentAcceptanceOptions } from './config/options.js';
import { PAYMENT_ROLE } from './payment-acceptance.runtime.js';
import { databaseProvider } from './database.provider.js';

/** Every extra has a default: only those listed here are kept out of the options. */
const EXTRAS: Required<PaymentAcceptanceExtras> = {
  routes: {},
  role: 'all',
  dataSource: 'default',
  routeImports: [],
};

/** `forRoot`, and `forRootAsync` with useFactory, useClass or useExisting (`createPaymentAcceptanceOptions()`). */
export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<PaymentAcceptanceOptions>({
    optionsInjectionToken: Symbol.for('nestjs-payment-acceptance/options'),
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createPaymentAcceptanceOptions')
    .setExtras(EXTRAS, shapeModule)
    .build();

function shapeModule(definition: DynamicModule, extras: PaymentAcceptanceExtras): DynamicModule {
  const { role = EXTRAS.role, dataSource = EXTRAS.dataSource, routeImports } = extras;
  const routes = resolveRoutes(extras.routes ?? EXTRAS.routes);
  return {
    ...definition,
    // As TypeOrmModule.forRoot: what forFeature provides must find the shops from anywhere.
    global: true,
    imports: [...(definition.imports ?? []), ...(routeImports ?? [])],
    controllers: role === 'workers' ? [] : createCallbackControllers(routes),
    providers: [
      ...(definition.providers ?? []),
      { provide: PAYMENT_ROLE, useValue: role },
      { provide: CALLBACK_ROUTES, useValue: routes },
      databaseProvider(dataSource),
    ],
  };
}
