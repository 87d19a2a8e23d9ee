import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentHandlerError } from './consumer.errors.js';
import type { EventConsumer } from './consumer.js';
import { isPaymentEventName, paymentHandlersOf, type PaymentHandlerMetadata } from './handler.decorators.js';

export interface HostMethod {
  /** `OrdersService.markPaid`, for messages. */
  readonly label: string;
  readonly instance: object;
  readonly name: string;
  /** The instance's prototype, or one that it inherits from. */
  readonly definedBy: object;
  readonly method: (...parameters: unknown[]) => unknown;
  /** What the instance has under this name: the method, or what a library has put in its place. */
  readonly member: object;
  readonly singleton: boolean;
}

/** Reserved for the host's `EventEmitter2`; handlers cannot use it. */
export const EVENT_EMITTER_CONSUMER = 'event-emitter';

export const CONSUMER_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

@Injectable()
export class HandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** @throws PaymentHandlerError for a handler that would not be reliable. */
  consumers(): EventConsumer[] {
    const consumers: EventConsumer[] = [];
    const seen = new Map<object, Set<string>>();
    const taken = new Map<string, HostMethod>();
    for (const host of this.methods()) {
      // One instance may be provided under several tokens.
      const names = seen.get(host.instance) ?? new Set();
      seen.set(host.instance, names);
      if (names.has(host.name)) continue;
      names.add(host.name);
      for (const handler of paymentHandlersOf(host.definedBy, host.name, host.method)) {
        this.check(host, handler, taken);
        const consumer = { name: handler.consumer, event: handler.event, shops: handler.shops ?? null };
        const handle = async (...args: unknown[]): Promise<void> => {
          // Looked up by name, as a caller would: a library may have wrapped the method on the instance.
          const member = (host.instance as Record<string, unknown>)[host.name];
          const method = typeof member === 'function' ? (member as HostMethod['method']) : host.method;
          refuseLazy(host.label, await method.call(host.instance, ...args));
        };
        if (this.options.handlers === 'once') consumers.push({ ...consumer, kind: 'transaction', handle });
        else {
          consumers.push({
            ...consumer,
            kind: 'lease',
            handle: (event, signal, { attempt, deliveryId }) => handle(event, { signal, attempt, deliveryId }),
          });
        }
      }
    }
    return consumers;
  }

  /** Finds them as `@nestjs/event-emitter` does. */
  methods(): HostMethod[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].flatMap((wrapper) =>
      this.methodsOf(wrapper),
    );
  }

  private methodsOf(wrapper: InstanceWrapper): HostMethod[] {
    const instance: unknown = wrapper.instance;
    if (wrapper.isAlias || typeof instance !== 'object' || instance === null) return [];
    const prototype: unknown = Object.getPrototypeOf(instance);
    if (typeof prototype !== 'object' || prototype === null) return [];
    return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
      const method: unknown = (prototype as Record<string, unknown>)[name];
      if (typeof method !== 'function') return [];
      const member: unknown = (instance as Record<string, unknown>)[name];
      return [
        {
          member: typeof member === 'function' ? member : method,
          label: `${prototype.constructor.name}.${name}`,
          instance,
          name,
          definedBy: definerOf(prototype, name),
          method: method as HostMethod['method'],
          // A transient provider's dependency tree is static, but the instance seen here is not one that anybody uses.
          singleton: wrapper.isDependencyTreeStatic() && !wrapper.isTransient,
        },
      ];
    });
  }

  private check(host: HostMethod, handler: PaymentHandlerMetadata, taken: Map<string, HostMethod>): void {
    const refuse = (sentence: string): never => {
      throw new PaymentHandlerError(host.label, sentence);
    };
    if (!isPaymentEventName(handler.event)) refuse(`there is no event "${String(handler.event)}".`);
    if (typeof handler.consumer !== 'string' || !CONSUMER_NAME_PATTERN.test(handler.consumer)) {
      refuse('give its consumer a name of 1 to 100 letters, digits, ".", "_" or "-", as in { consumer: "orders" }.');
    }
    if (handler.consumer === EVENT_EMITTER_CONSUMER) refuse(`the consumer name "${EVENT_EMITTER_CONSUMER}" is taken.`);
    if (!host.singleton)
      refuse(
        'a durable handler must be in a singleton, not in a request-scoped or transient provider. A request-scoped global guard, ' +
          'interceptor, pipe or filter makes every controller request-scoped: move the handler to a provider.',
      );
    if (handler.shops && !(Array.isArray(handler.shops) && handler.shops.length > 0)) {
      refuse('give it the names of shops, or omit "shops" for all.');
    }
    for (const shop of handler.shops ?? []) if (!this.shops.mayExist(shop)) refuse(`there is no shop "${shop}".`);
    const key = `${handler.consumer} ${handler.event}`;
    const other = taken.get(key);
    taken.set(key, host);
    if (!other) return;
    if (other.label === host.label && other.definedBy === host.definedBy) {
      refuse(
        other.instance === host.instance
          ? `it is decorated twice for consumer "${handler.consumer}" and ${handler.event}: name all shops in one list.`
          : 'its class is provided more than once: provide it in one module, and import that module elsewhere.',
      );
    }
    refuse(
      `consumer "${handler.consumer}" already has a handler of ${handler.event}. ` +
        'Give this one its own consumer name: each gets its own delivery.',
    );
  }
}

/**
 * Refuses an Observable or a generator as the result of a handler: nobody has subscribed to it or started it, so its
 * work has not been done.
 */
export function refuseLazy(label: string, result: unknown): void {
  const { subscribe, connect } = (result ?? {}) as { readonly subscribe?: unknown; readonly connect?: unknown };
  // An observable with `connect` has already begun, such as the one that ClientProxy.emit() returns.
  const isCold = typeof subscribe === 'function' && typeof connect !== 'function';
  if (isCold || /^\[object (Async)?Generator]$/.test(Object.prototype.toString.call(result))) {
    throw new PaymentHandlerError(
      label,
      'returned an Observable or a generator, so its code has not run: return a promise instead, for example with firstValueFrom().',
    );
  }
}

function definerOf(prototype: object, name: string): object {
  for (let each: object | null = prototype; each; each = Object.getPrototypeOf(each) as object | null) {
    if (Object.hasOwn(each, name)) return each;
  }
  return prototype;
}
