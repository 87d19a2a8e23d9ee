import { describe, expect, test } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { EventEmitter2, OnEvent } from '@nestjs/event-emitter';
import { of } from 'rxjs';
import { handlerModule, succeeded } from '../../../../test/support/handlers.js';
import { PaymentHandlerError, PaymentNonRetryableError } from './consumer.errors.js';
import { EventEmitterConsumers } from './event-emitter.consumer.js';
import { HandlerExplorer } from './handler.explorer.js';

type OnEventOptions = NonNullable<Parameters<typeof OnEvent>[1]>;
type Emitter = NonNullable<Parameters<typeof handlerModule>[0]['emitter']>;

/** Starts the host as the runtime does: listeners are prepared before `@nestjs/event-emitter` reads them. */
async function host(providers: Type[], emitter: Emitter = {}) {
  const module = await handlerModule({ explorers: [HandlerExplorer, EventEmitterConsumers], providers, emitter });
  const consumers = module.get(EventEmitterConsumers);
  consumers.prepareListeners();
  await module.init();
  return { module, consumers: () => consumers.consumers() };
}

const HANDED = { attempt: 1, deliveryId: '00000000-0000-8000-8000-000000000002', traceparent: null };

async function emit(providers: Type[], emitter?: Emitter): Promise<void> {
  const { consumers, module } = await host(providers, emitter);
  const consumer = consumers().find(({ event }) => event === 'payment.succeeded');
  if (consumer?.kind !== 'lease') throw new Error('EventEmitter2 is no consumer of payment.succeeded.');
  try {
    await consumer.handle(succeeded(), new AbortController().signal, HANDED);
  } finally {
    await module.close();
  }
}

/** A provider with a listener of that event that runs the given code; each call creates a new class. */
function listener(
  event: string | string[],
  options?: OnEventOptions,
  act: (event: unknown) => unknown = () => undefined,
): Type {
  @Injectable()
  class Listener {
    @OnEvent(event, options)
    hear(payload: unknown): unknown {
      return act(payload);
    }
  }
  return Listener;
}

const fails = () => Promise.reject(new Error('the mail server is away'));

describe('a plain @OnEvent listener', () => {
  test('a plain @OnEvent listener gets the event itself', async () => {
    const heard: unknown[] = [];
    await emit([listener('payment.succeeded', undefined, (event) => heard.push(event))]);
    expect(heard).toEqual([succeeded()]);
  });

  test.each<[string, OnEventOptions | undefined]>([
    ['without options', undefined],
    ['with prependListener', { prependListener: true }],
    ['with suppressErrors: false', { suppressErrors: false }],
  ])('a listener %s counts: its failure fails the delivery', async (_name, options) => {
    await expect(emit([listener('payment.succeeded', options, fails)])).rejects.toThrow(
      '1 of 1 listeners of payment.succeeded failed: Error: the mail server is away',
    );
  });

  test('a failing listener does not stop the others, and all of them end before the delivery is decided', async () => {
    let slowEnded = false;
    const slow = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      slowEnded = true;
    };
    const throwsAtOnce = () => {
      throw new Error('broken');
    };
    const providers = [listener('payment.succeeded', {}, throwsAtOnce), listener('payment.succeeded', {}, slow)];
    await expect(emit(providers)).rejects.toThrow('1 of 2 listeners');
    expect(slowEnded).toBe(true);
  });

  test('a delivery is not retried if a retry can help none of its failed listeners', async () => {
    const useless = () => Promise.reject(new PaymentNonRetryableError('no such customer'));
    const [a, b] = [listener('payment.succeeded', {}, useless), listener('payment.succeeded')];
    await expect(emit([a, b])).rejects.toBeInstanceOf(PaymentNonRetryableError);
    await expect(emit([a, b, listener('payment.succeeded', {}, fails)])).rejects.not.toBeInstanceOf(
      PaymentNonRetryableError,
    );
  });

  test('a listener of another event is left alone, whatever its options', async () => {
    const others = [
      listener('order.paid', { async: true, nextTick: true, suppressErrors: true }),
      listener('payment.*', { async: true }),
    ];
    const { consumers } = await host(others);
    expect(consumers()).toEqual([]);
  });

  test('a wildcard listener counts if it sets suppressErrors: false', async () => {
    const wildcard = { wildcard: true };
    await expect(emit([listener('payment.*', { suppressErrors: false }, fails)], wildcard)).rejects.toThrow('1 of 1');
    const { consumers } = await host([listener(['payment', 'failed'])], wildcard);
    expect(consumers().map(({ event }) => event)).toEqual(['payment.failed']);
  });
});

describe('listeners whose failure would be lost', () => {
  test.each<[string, string, OnEventOptions | undefined, Emitter, string]>([
    ['async', 'payment.succeeded', { async: true }, {}, 'has async: true'],
    ['nextTick', 'payment.failed', { nextTick: true }, {}, 'has nextTick: true'],
    ['suppressErrors', 'bill.expired', { suppressErrors: true }, {}, 'has suppressErrors: true'],
    ['a wildcard', 'payment.*', undefined, { wildcard: true }, 'Set { suppressErrors: false }'],
    ['a deep wildcard', '**', {}, { wildcard: true }, 'Set { suppressErrors: false }'],
    ['an async wildcard', 'payment.*', { async: true, suppressErrors: false }, { wildcard: true }, 'has async: true'],
    [
      'a wildcard of another delimiter',
      '*',
      undefined,
      { wildcard: true, delimiter: '/' },
      'Set { suppressErrors: false }',
    ],
  ])('a listener whose failure would be lost fails the start: %s', async (_name, event, options, emitter, sentence) => {
    const error: unknown = await host([listener(event, options)], emitter).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaymentHandlerError);
    expect((error as Error).message).toMatch(`Listener.hear: @OnEvent('${event}') `);
    expect((error as Error).message).toContain(sentence);
  });
});

describe('the event-emitter consumer', () => {
  test('the event-emitter consumer also calls listeners added by hand, and onAny() ones with the event name', async () => {
    const heard: unknown[] = [];
    @Injectable()
    class ByHand {
      constructor(emitter: EventEmitter2) {
        emitter.on('payment.succeeded', (event: unknown) => heard.push(event));
        emitter.onAny((name: unknown) => heard.push(name));
      }
    }
    await emit([ByHand]);
    expect(heard).toEqual([succeeded(), 'payment.succeeded']);
  });

  test('a delivery fails if a listener only returns an Observable that nobody subscribes to', async () => {
    await expect(emit([listener('payment.succeeded', {}, () => of(1))])).rejects.toThrow('returned an Observable');
  });

  test('a listener added with once() is refused', async () => {
    @Injectable()
    class ByHand {
      constructor(emitter: EventEmitter2) {
        emitter.once('payment.succeeded', () => undefined);
      }
    }
    const { consumers } = await host([ByHand]);
    expect(consumers).toThrow('added with once()');
  });

  test('a delivery fails if no listener of its event is left', async () => {
    const { module, consumers } = await host([listener('payment.succeeded')]);
    const [consumer] = consumers();
    module.get(EventEmitter2).removeAllListeners();
    if (consumer?.kind !== 'lease') throw new Error('EventEmitter2 is no consumer.');
    await expect(consumer.handle(succeeded(), new AbortController().signal, HANDED)).rejects.toThrow(
      'No listener of payment.succeeded',
    );
  });

  test('a host without @nestjs/event-emitter has no event-emitter consumer', async () => {
    const module = await handlerModule({ explorers: [HandlerExplorer, EventEmitterConsumers], emitter: false });
    const consumers = module.get(EventEmitterConsumers);
    consumers.prepareListeners();
    expect(consumers.consumers()).toEqual([]);
  });
});

test('an event is frozen: one listener cannot change what another one sees', () => {
  expect(() => Object.assign(succeeded(), { amount: '0.01' })).toThrow(TypeError);
});

describe('a plain listener that another library has wrapped', () => {
  /** As Sentry does: another function, marked by the package's own decorator, which does not show its key. */
  const wrapped =
    (event: string, options?: OnEventOptions): MethodDecorator =>
    (target, name, descriptor) => {
      const method = descriptor.value as unknown as (...parameters: unknown[]) => unknown;
      descriptor.value = async function (this: unknown, ...parameters: unknown[]) {
        return await method.apply(this, parameters);
      } as never;
      return OnEvent(event, options)(target, name, descriptor);
    };
  const hearing = (act: (event: unknown) => unknown, options?: OnEventOptions): Type => {
    @Injectable()
    class Listener {
      @wrapped('payment.succeeded', options)
      hear(payload: unknown): unknown {
        return act(payload);
      }
    }
    return Listener;
  };

  test('a listener wrapped by another library is called, and its failure fails the delivery', async () => {
    const heard: unknown[] = [];
    await emit([hearing((event) => heard.push(event))]);
    expect(heard).toEqual([succeeded()]);
    await expect(emit([hearing(fails)])).rejects.toThrow('the mail server is away');
  });

  test('a wrapped listener is refused with options that would lose its failure', async () => {
    await expect(host([hearing(fails, { suppressErrors: true })])).rejects.toThrow(PaymentHandlerError);
    await expect(host([hearing(fails, { async: true })])).rejects.toThrow(PaymentHandlerError);
  });

  test('a wrapped listener is found on the instance, where a library has put it', async () => {
    @Injectable()
    class Patched {
      readonly heard: unknown[] = [];
      constructor() {
        const { hear } = this;
        this.hear = Object.assign((payload: unknown) => hear.call(this, payload), {});
        OnEvent('payment.succeeded')(this, 'hear', { value: this.hear });
      }
      hear(payload: unknown): unknown {
        return Promise.reject(new Error(`no mail for ${(payload as { name: string }).name}`));
      }
    }
    await expect(emit([Patched])).rejects.toThrow('no mail for payment.succeeded');
  });

  test('a listener that only the emitter knows fails the start', async () => {
    @Injectable()
    class Late {
      constructor(private readonly emitter: EventEmitter2) {}
      onApplicationBootstrap(): void {
        this.emitter.on('payment.succeeded', () => undefined);
      }
    }
    const { consumers, module } = await host([Late]);
    expect(consumers).toThrow(
      'EventEmitter2: has listeners for payment.succeeded that the module does not know about (1 of 1)',
    );
    await module.close();
  });
});
