import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  type Provider,
  Inject,
} from '@nestjs/common';
import { registration } from '../common/registration.js';
import { createCallbackControllers } from '../callbacks/callback.controllers.js';
import { CALLBACK_ROUTES, resolveRoutes } from '../callbacks/routes.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { EXTRA_RULES } from '../config/option-rules.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { readOptions } from '../config/read-options.js';
import { resolveOptions } from '../config/resolve-options.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { AddedConsumers } from '../events/added-consumers.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { Database } from '../database/database.js';
import { databaseProvider, hostModule } from './database.provider.js';
import { duplicateCopyProblem } from './one-copy.js';

/** Lets code that has loaded another copy of the package, with other classes, find a service, too. */
export function sharedToken(service: string): symbol {
  return Symbol.for(`nestjs-payment-acceptance/${service}`);
}

/** Token of a shop's `PaymentShop`, provided by `PaymentAcceptanceModule.forFeature(name)`. */
export function getPaymentShopToken(shop: string): symbol {
  return Symbol.for(`nestjs-payment-acceptance/shop/${shop}`);
}

/** Injects the `PaymentShop` with that name. */
export function InjectPaymentShop(shop: string): PropertyDecorator & ParameterDecorator {
  return Inject(getPaymentShopToken(shop));
}

/** Nest strips from the options only what is listed here. */
const DEFAULT_EXTRAS = readExtras({});

const RAW_OPTIONS = Symbol.for('nestjs-payment-acceptance/options');

/** A test may replace it to use other options. */
export type OptionsResolver = (
  give: () => PaymentAcceptanceOptions | Promise<PaymentAcceptanceOptions>,
) => Promise<ResolvedOptions>;

export const OPTIONS_RESOLVER = Symbol.for('nestjs-payment-acceptance/options-resolver');

const resolveGiven: OptionsResolver = async (give) => resolveOptions(await give(), process.env.NODE_ENV);

/** `forRoot`, and `forRootAsync` with useFactory, useClass or useExisting (`createPaymentAcceptanceOptions()`). */
export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<PaymentAcceptanceOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createPaymentAcceptanceOptions')
  .setExtras(DEFAULT_EXTRAS, shapeModule)
  .build();

function readExtras({
  routes,
  role,
  dataSource,
  routeImports,
}: PaymentAcceptanceExtras): Required<PaymentAcceptanceExtras> {
  const problems: string[] = [];
  const place = { path: '', production: false, problems };
  const extras = readOptions<PaymentAcceptanceExtras>(EXTRA_RULES, { routes, role, dataSource, routeImports }, place);
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  return extras;
}

function shapeModule(definition: DynamicModule, extras: PaymentAcceptanceExtras): DynamicModule {
  const problem = duplicateCopyProblem(import.meta.dirname);
  if (problem !== undefined) throw new PaymentConfigurationError([problem]);
  const { role, dataSource, routeImports } = readExtras(extras);
  const routes = resolveRoutes(extras.routes ?? {});
  return {
    ...definition,
    // Like TypeOrmModule.forRoot: the providers of forFeature need the shops in any module.
    global: true,
    imports: [...(definition.imports ?? []), ...routeImports, hostModule(dataSource, definition.imports)],
    controllers: role === 'workers' ? [] : createCallbackControllers(routes),
    providers: [
      ...(definition.providers ?? []).map(replaceWithResolved),
      { provide: OPTIONS_RESOLVER, useValue: resolveGiven },
      { provide: PAYMENT_ROLE, useValue: role },
      { provide: CALLBACK_ROUTES, useValue: routes },
      databaseProvider(dataSource),
      registration(),
    ],
    // The package's other entry points build on this module and need these.
    exports: [Database, ShopRegistry, AddedConsumers, DeliveryWorker],
  };
}

/**
 * Nest keeps the value of every provider, and printing the application shows it. So the host's own options, which contain
 * tokens, must not be a provider's value: they pass through a factory, and only the resolved options are kept.
 */
function replaceWithResolved(provider: Provider): Provider {
  if (!('provide' in provider) || provider.provide !== RAW_OPTIONS) return provider;
  const { useValue, useFactory = () => useValue, inject = [] } = provider as RawOptionsProvider;
  return {
    provide: RESOLVED_OPTIONS,
    inject: [OPTIONS_RESOLVER, ...inject],
    useFactory: (resolve: OptionsResolver, ...injected: unknown[]) => resolve(() => useFactory(...injected)),
  };
}

/** A value for `forRoot`, a factory for `forRootAsync`. */
interface RawOptionsProvider {
  readonly useValue: PaymentAcceptanceOptions;
  readonly useFactory?: (...injected: unknown[]) => PaymentAcceptanceOptions | Promise<PaymentAcceptanceOptions>;
  readonly inject?: FactoryProvider['inject'];
}
