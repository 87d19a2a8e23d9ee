import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { EventEmitter2, EventEmitterReadinessWatcher, OnEvent, type OnEventMetadata } from '@nestjs/event-emitter';
import { describeError } from '../common/errors.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { PAYMENT_EVENT_NAMES, type PaymentEventName } from '../domain/payment-events.js';
import { PaymentHandlerError, isNonRetryable, isOrderNotFound } from './consumer.errors.js';
import type { AnyPaymentEvent, EventConsumer } from './consumer.js';
import { EVENT_EMITTER_CONSUMER, HandlerExplorer, refuseLazy } from './handler.explorer.js';

type Listener = (...parameters: unknown[]) => unknown;

/**
 * The metadata key of `@OnEvent` in every version. A literal, since version 11 does not export it, and the decorator may
 * be wrapped by another library (such as Sentry), whose wrapper does not carry it. {@link isKeyOfListeners} verifies the
 * key at each start.
 */
const LISTENER_METADATA = 'EVENT_LISTENER_METADATA';

/**
 * The host's `EventEmitter2` as one more consumer: all listeners of an event together, at least once. `emitAsync` does
 * not prove that they ran: it resolves if there are none, and rejects while others still run. So each listener is
 * called directly, and the outcome is decided after all have settled.
 */
@Injectable()
export class EventEmitterConsumers {
  /** How many listeners of each event existed before the marked ones. */
  private readonly byHand = new Map<PaymentEventName, number>();

  constructor(
    private readonly explorer: HandlerExplorer,
    private readonly modules: ModuleRef,
  ) {}

  /**
   * Makes the errors of plain `@OnEvent` listeners of payment events reach us; `@nestjs/event-emitter` swallows them by
   * default. Runs before that package reads the same metadata, at bootstrap.
   * @throws PaymentHandlerError for a listener whose failure could not be detected.
   * @throws PaymentConfigurationError if this version of the package marks its listeners in another way
   */
  prepareListeners(): void {
    const emitter = this.find(EventEmitter2);
    if (!emitter) return;
    if (!isKeyOfListeners()) {
      throw new PaymentConfigurationError([
        'Plain @OnEvent listeners cannot be found with this version of @nestjs/event-emitter, or with a wrapper around its ' +
          'decorator, so their errors would be lost. Use a version that peerDependencies allows.',
      ]);
    }
    for (const name of PAYMENT_EVENT_NAMES) this.byHand.set(name, listenersOf(emitter, name).length);
    for (const { label, listeners } of this.markedMethods()) {
      for (const listener of listeners) {
        const exact = PAYMENT_EVENT_NAMES.some((name) => name === textOf(listener.event));
        if (exact || PAYMENT_EVENT_NAMES.some((name) => matches(emitter, listener.event, name))) {
          passErrorsOn(label, listener, exact);
        }
      }
    }
  }

  /**
   * One consumer for each event with a listener. Listeners added by hand must exist before modules are initialized.
   * @throws PaymentHandlerError if the emitter has a listener that was neither there from the start nor marked, or one
   *   that removes itself
   */
  consumers(): EventConsumer[] {
    const emitter = this.find(EventEmitter2);
    if (!emitter) return [];
    const marked = this.markedMethods().flatMap(({ listeners }) => listeners);
    return PAYMENT_EVENT_NAMES.filter((name) => {
      const byHand = this.byHand.get(name) ?? 0;
      const knownCount = byHand + marked.filter(({ event }) => matches(emitter, event, name)).length;
      const totalCount = listenersOf(emitter, name).length;
      if (totalCount > knownCount) {
        throw new PaymentHandlerError(
          'EventEmitter2',
          `has listeners for ${name} that the module does not know about (${totalCount - knownCount} of ${totalCount}), so their errors would be lost. ` +
            'Add them in a constructor, or use @OnPaymentEvent.',
        );
      }
      if (listenersOf(emitter, name).some(removesItself)) {
        throw new PaymentHandlerError(
          'EventEmitter2',
          `has a listener of ${name} that was added with once() or many(), so it would miss later events and retries. Use on().`,
        );
      }
      return knownCount > 0;
    }).map((event) => ({
      kind: 'lease',
      name: EVENT_EMITTER_CONSUMER,
      event,
      shops: null,
      handle: (payload) => this.emit(emitter, payload),
    }));
  }

  private async emit(emitter: EventEmitter2, event: AnyPaymentEvent): Promise<void> {
    await this.find(EventEmitterReadinessWatcher)?.waitUntilReady();
    const listeners = listenersOf(emitter, event.name);
    if (listeners.length === 0) throw new Error(`No listener of ${event.name} is left in this process.`);
    const label = `A listener of ${event.name}`;
    const call = async (listener: Listener): Promise<void> => refuseLazy(label, await listener.call(emitter, event));
    const ends = await Promise.allSettled(listeners.map(call));
    const reasons: unknown[] = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason as unknown);
    const errors = reasons.map((reason) => describeError(reason));
    if (errors.length > 0) {
      // If every failed listener found no order, the delivery gets the longer retries for missing orders.
      const [first] = reasons;
      if (isOrderNotFound(first) && reasons.every(isOrderNotFound)) throw first;
      // If no failed listener can ever succeed, a further attempt would only call the others again.
      if (isNonRetryable(first) && reasons.every(isNonRetryable)) throw first;
      throw new Error(
        `${errors.length} of ${listeners.length} listeners of ${event.name} failed: ${errors.join('; ')}`,
      );
    }
  }

  private markedMethods(): { label: string; listeners: OnEventMetadata[] }[] {
    return this.explorer.methods().flatMap(({ label, member }) => {
      const listeners: unknown = Reflect.getMetadata(LISTENER_METADATA, member);
      return Array.isArray(listeners) ? [{ label, listeners: listeners as OnEventMetadata[] }] : [];
    });
  }

  private find<T>(type: new (...parameters: never[]) => T): T | undefined {
    try {
      return this.modules.get<T>(type, { strict: false });
    } catch {
      return undefined;
    }
  }
}

function isKeyOfListeners(): boolean {
  const descriptor: TypedPropertyDescriptor<unknown> = { value: () => undefined, configurable: true, writable: true };
  OnEvent('*')({}, 'marked', descriptor);
  return Reflect.hasMetadata(LISTENER_METADATA, descriptor.value as object);
}

/**
 * Exact-name listeners are changed to pass their errors on. A wildcard listener also hears other events, so its author
 * must do that.
 */
function passErrorsOn(label: string, listener: OnEventMetadata, exact: boolean): void {
  const options = listener.options;
  const refuse = (sentence: string): never => {
    throw new PaymentHandlerError(label, `@OnEvent('${textOf(listener.event)}') ${sentence}`);
  };
  if (options?.async) refuse('has async: true, so its result is lost. Remove it: the listener itself may be async.');
  if (options?.nextTick) refuse('has nextTick: true, so its result is lost. Remove it.');
  if (options?.suppressErrors === true) {
    refuse('has suppressErrors: true, so a failure would be lost. Remove it, or use @OnPaymentEvent.');
  }
  if (!exact && options?.suppressErrors !== false) {
    refuse('also receives payment events and would swallow its errors. Set { suppressErrors: false }.');
  }
  listener.options = { ...options, suppressErrors: false };
}

function listenersOf(emitter: EventEmitter2, name: PaymentEventName): Listener[] {
  const any = emitter.listenersAny().map(
    (listener): Listener =>
      (event) =>
        (listener as Listener)(name, event),
  );
  return [...(emitter.listeners(name) as Listener[]), ...any];
}

/** Whether the listener is a wrapper made by `once` or `many`, not one made for an option such as `promisify`. */
function removesItself(listener: Listener): boolean {
  const { _origin: original, _async: isOptional } = listener as {
    readonly _origin?: unknown;
    readonly _async?: boolean;
  };
  return typeof original === 'function' && isOptional !== true;
}

function textOf(event: OnEventMetadata['event']): string {
  return Array.isArray(event) ? event.map(String).join('.') : String(event);
}

/** Whether a listener for `event` hears `name`, decided by the matching of an emitter with the same settings. */
function matches(emitter: EventEmitter2, event: OnEventMetadata['event'], name: PaymentEventName): boolean {
  const { wildcard, delimiter } = emitter as unknown as { wildcard?: boolean; delimiter?: string };
  const probe = new EventEmitter2({ wildcard: wildcard === true, ...(delimiter !== undefined && { delimiter }) });
  probe.on(event, () => undefined);
  return probe.listeners(name).length > 0;
}
