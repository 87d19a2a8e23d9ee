import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import { REGISTRATION } from '../common/registration.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { sharedToken } from './payment-acceptance.module-definition.js';

/**
 * Refuses registrations that Nest accepts but that would fail unnoticed. Injects nothing of the host's, so it always
 * runs.
 */
@Injectable()
export class RegistrationCheck implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  /** Nest calls no hooks of request-scoped providers: no worker would start; each callback would open connections. */
  onModuleInit(): void {
    const providers = this.discovery.getProviders();
    const isScoped = (wrapper: InstanceWrapper): boolean => !wrapper.isDependencyTreeStatic();
    const registeringModules = new Set(providers.filter(({ token }) => token === REGISTRATION).map(({ host }) => host));
    const scoped = providers.filter((wrapper) => registeringModules.has(wrapper.host) && isScoped(wrapper));
    if (scoped.length === 0) return;
    const injected = new Set<unknown>(scoped.flatMap(({ inject }) => inject ?? []));
    const scopedDependencies = providers.filter(
      (wrapper) => injected.has(wrapper.token) && isScoped(wrapper) && !registeringModules.has(wrapper.host),
    );
    const names =
      [...new Set(scopedDependencies.map(({ name }) => String(name)))].join(', ') || 'what its factory injects';
    const module = scoped[0]?.host?.name ?? 'PaymentAcceptanceModule';
    throw new PaymentConfigurationError([
      `The options of ${module} depend on a request-scoped or durable provider (${names}), so the module could not run outside ` +
        'of requests. Inject singletons only: a shop resolver gets the name of the shop, and needs no request.',
    ]);
  }

  /**
   * With a second registration, one of the two would get the other's bills, and its events would never reach a handler.
   * @throws PaymentConfigurationError
   */
  refuseSecond(): void {
    const token = sharedToken('PaymentAcceptanceService');
    const times = this.discovery.getProviders().filter((provider) => provider.token === token).length;
    if (times === 1) return;
    throw new PaymentConfigurationError([
      `PaymentAcceptanceModule is registered ${times} times in this application. Call forRoot or forRootAsync once, with all ` +
        "shops in the option `shops`, and import PaymentAcceptanceModule.forFeature('name') in the modules that inject a shop.",
    ]);
  }
}
