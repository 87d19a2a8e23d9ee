import { describe, expect, test } from '@jest/globals';
import { applyDecorators, Controller, Inject, Injectable, Scope, type Provider, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { connectable, of } from 'rxjs';
import { handlerModule, succeeded } from '../../../../test/support/handlers.js';
import type { EntityManager } from 'typeorm';
import type {
  PaymentEvent,
  PaymentEventName,
  PaymentFailedEvent,
  PaymentSucceededEvent,
} from '../domain/payment-events.js';
import { PaymentHandlerError } from './consumer.errors.js';
import type { EventConsumer, PaymentEventContext } from './consumer.js';
import { OnBillExpired, OnPaymentEvent, OnPaymentFailed, OnPaymentSucceeded } from './handler.decorators.js';
import { HandlerExplorer } from './handler.explorer.js';

async function explore(providers: Provider[], controllers: Type[] = []): Promise<EventConsumer[]> {
  const module = await handlerModule({ explorers: [HandlerExplorer], providers, controllers });
  return module.get(HandlerExplorer).consumers();
}

/** Calls a durable handler that returns this. */
async function handled(take: () => unknown): Promise<void> {
  @Injectable()
  class Orders {
    @OnPaymentSucceeded({ consumer: 'orders' })
    take(): unknown {
      return take();
    }
  }
  const [consumer] = await explore([Orders]);
  if (consumer?.kind !== 'transaction') throw new Error('No durable handler was found.');
  await consumer.handle(succeeded(), { attempt: 1 } as PaymentEventContext);
}

describe('the type of a handler', () => {
  test('a handler is typed with its event, or with a union of several', () => {
    class Typed {
      @OnPaymentSucceeded({ consumer: 'a' })
      @OnPaymentFailed({ consumer: 'a' })
      both(given: PaymentSucceededEvent | PaymentFailedEvent): string {
        return given.id;
      }
      @OnPaymentEvent('bill.expired', { consumer: 'b' })
      any(_given: PaymentEvent, _context: PaymentEventContext<EntityManager>): void {}
      @applyDecorators(OnPaymentSucceeded({ consumer: 'd' }))
      composed(_given: PaymentSucceededEvent): void {}
      // @ts-expect-error: a handler of failures cannot take successes
      @OnPaymentFailed({ consumer: 'c' })
      wrong(given: PaymentSucceededEvent): boolean {
        return given.firstForOrder;
      }
    }
    expect(new Typed()).toBeDefined();
  });
});

describe('finding handlers', () => {
  test('handlers are found in providers and controllers, with several events or methods in one class', async () => {
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      @OnPaymentFailed({ consumer: 'orders', shops: ['main'] })
      take(): void {}
      @OnBillExpired({ consumer: 'stock' })
      release(): void {}
    }
    @Controller()
    class Mail {
      @OnPaymentSucceeded({ consumer: 'mail' })
      send(): void {}
    }
    const found = await explore([Orders], [Mail]);
    expect(found.map(({ name, event, shops, kind }) => [name, event, shops, kind]).sort()).toEqual([
      ['mail', 'payment.succeeded', null, 'transaction'],
      ['orders', 'payment.failed', ['main'], 'transaction'],
      ['orders', 'payment.succeeded', null, 'transaction'],
      ['stock', 'bill.expired', null, 'transaction'],
    ]);
  });

  test('a handler is found once if its instance is provided under several tokens', async () => {
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {}
    }
    const port = { provide: 'ORDER_PORT', useFactory: (orders: Orders) => orders, inject: [Orders] };
    const module = await handlerModule({ explorers: [HandlerExplorer], providers: [Orders, port] });
    expect(module.get(HandlerExplorer).consumers()).toHaveLength(1);
  });

  test('a handler of a base class is found on the instance of the derived class', async () => {
    abstract class Base {
      readonly taken: unknown[] = [];
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(event: unknown, context: unknown): void {
        this.taken.push(event, context);
      }
    }
    @Injectable()
    class Orders extends Base {}
    const module = await handlerModule({ explorers: [HandlerExplorer], providers: [Orders] });
    const [consumer] = module.get(HandlerExplorer).consumers();
    const [event, context] = [succeeded(), { attempt: 1 } as PaymentEventContext];
    if (consumer?.kind !== 'transaction') throw new Error('No durable handler was found.');
    await consumer.handle(event, context);
    expect(module.get(Orders).taken).toEqual([event, context]);
  });

  test('a handler that another decorator wraps is found, and the wrapper is called', async () => {
    const traced: MethodDecorator = (_prototype, _name, descriptor: PropertyDescriptor) => {
      const method = descriptor.value as (event: unknown) => unknown;
      descriptor.value = function (this: Orders, event: unknown) {
        this.taken.push('traced');
        return method.call(this, event);
      };
    };
    @Injectable()
    class Orders {
      readonly taken: string[] = [];
      @traced
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {
        this.taken.push('taken');
      }
    }
    const module = await handlerModule({ explorers: [HandlerExplorer], providers: [Orders] });
    const [consumer] = module.get(HandlerExplorer).consumers();
    if (consumer?.kind !== 'transaction') throw new Error('No durable handler was found.');
    await consumer.handle(succeeded(), {} as PaymentEventContext);
    expect(module.get(Orders).taken).toEqual(['traced', 'taken']);
  });

  test('a handler copied from a mixin is found', async () => {
    class Mixin {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {}
    }
    @Injectable()
    class Orders {}
    Object.defineProperty(Orders.prototype, 'take', Object.getOwnPropertyDescriptor(Mixin.prototype, 'take')!);
    expect(await explore([Orders])).toMatchObject([{ name: 'orders', event: 'payment.succeeded' }]);
  });

  test('an override without the decorator is not a handler', async () => {
    class Base {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {}
    }
    @Injectable()
    class Orders extends Base {
      override take(): void {}
    }
    expect(await explore([Orders])).toEqual([]);
  });

  test.each<[string, () => unknown]>([
    ['an Observable', () => of(1)],
    [
      'a generator',
      function* () {
        yield 1;
      },
    ],
    [
      'an asynchronous generator',
      async function* () {
        yield await Promise.resolve(1);
      },
    ],
  ])('a handler that returns %s fails, because its code has not run', async (_what, take) => {
    await expect(handled(take)).rejects.toThrow(
      'Orders.take: returned an Observable or a generator, so its code has not run',
    );
  });

  test.each<[string, () => unknown]>([
    ['an Observable that has begun, as of ClientProxy.emit()', () => connectable(of(1))],
    ['a row with a column of that name', () => ({ subscribe: true, next: 7 })],
    ['an iterator', () => new Map([[1, 2]]).values()],
  ])('a handler that returns %s succeeds', async (_what, take) => {
    await handled(take);
  });

  test('a handler is called as its instance has it, including the wrapper of a library', async () => {
    const called: string[] = [];
    @Injectable()
    class Orders {
      constructor() {
        const { take } = this;
        this.take = () => {
          called.push('wrapper');
          take.call(this);
        };
      }
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {
        called.push('method');
      }
    }
    const [consumer] = await explore([Orders]);
    if (consumer?.kind !== 'transaction') throw new Error('No durable handler was found.');
    await consumer.handle(succeeded(), { attempt: 1 } as PaymentEventContext);
    expect(called).toEqual(['wrapper', 'method']);
  });

  test('a handler that throws synchronously rejects like any other', async () => {
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): void {
        throw new Error('no stock');
      }
    }
    const [consumer] = await explore([Orders]);
    if (consumer?.kind !== 'transaction') throw new Error('No durable handler was found.');
    await expect(consumer.handle(succeeded(), {} as PaymentEventContext)).rejects.toThrow('no stock');
  });
});

describe('a handler that cannot be relied on fails the start', () => {
  const refusal = async (...providers: Provider[]): Promise<string> => {
    const error: unknown = await explore(providers).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaymentHandlerError);
    return (error as Error).message;
  };

  const handlerOf = (event: string, options: object): Type => {
    @Injectable()
    class Orders {
      @OnPaymentEvent(event as PaymentEventName, options as { consumer: string })
      take(): void {}
    }
    return Orders;
  };

  test('a handler in a request-scoped or transient provider, or one that depends on such, fails the start', async () => {
    for (const scope of [Scope.REQUEST, Scope.TRANSIENT]) {
      @Injectable({ scope })
      class Orders {
        @OnPaymentSucceeded({ consumer: 'orders' })
        take(): void {}
      }
      expect(await refusal(Orders)).toContain('must be in a singleton');
    }
    @Injectable()
    class Mail {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
      @OnPaymentSucceeded({ consumer: 'mail' })
      take(): void {}
    }
    expect(await refusal(Mail)).toBe(
      'Mail.take: a durable handler must be in a singleton, not in a request-scoped or transient provider. A request-scoped ' +
        'global guard, interceptor, pipe or filter makes every controller request-scoped: move the handler to a provider.',
    );
  });

  test('a handler in a class that is provided twice fails the start', async () => {
    const Handler = handlerOf('payment.failed', { consumer: 'a' });
    expect(await refusal(Handler, { provide: 'again', useClass: Handler })).toContain('provide it in one module');
  });

  test('a handler that is decorated twice for one consumer and event fails the start', async () => {
    @Injectable()
    class Divided {
      @OnPaymentSucceeded({ consumer: 'a', shops: ['main'] })
      @OnPaymentSucceeded({ consumer: 'a', shops: ['main'] })
      take(): void {}
    }
    expect(await refusal(Divided)).toContain(
      'is decorated twice for consumer "a" and payment.succeeded: name all shops',
    );
  });

  test('a handler with the consumer of another handler of the same event fails the start', async () => {
    expect(
      await refusal(handlerOf('payment.failed', { consumer: 'a' }), handlerOf('payment.failed', { consumer: 'a' })),
    ).toContain('consumer "a" already has a handler of payment.failed. Give this one its own consumer name');
    expect(
      await explore([
        handlerOf('payment.failed', { consumer: 'a' }),
        handlerOf('payment.succeeded', { consumer: 'a' }),
      ]),
    ).toHaveLength(2);
  });

  test.each([
    {},
    { consumer: '' },
    { consumer: 'two words' },
    { consumer: '-a' },
    { consumer: 'x'.repeat(101) },
    { consumer: 7 },
  ])('a handler with the consumer options %j fails the start', async (options) => {
    expect(await refusal(handlerOf('payment.failed', options))).toContain(
      'give its consumer a name of 1 to 100 letters',
    );
  });

  test.each([[[]], ['main'], [{}]])(
    'a handler with the shops %j, of which no event would ever come, fails the start',
    async (shops) => {
      expect(await refusal(handlerOf('payment.failed', { consumer: 'a', shops }))).toContain(
        'give it the names of shops',
      );
    },
  );

  test('a handler decorator on anything but an instance method throws', () => {
    const mark = OnPaymentFailed({ consumer: 'a' });
    const own: PropertyDescriptor = { value: () => undefined };
    class Orders {
      readonly taken = 0;
    }
    expect(() => mark(Orders, 'take', own)).toThrow('Orders.take: must be an instance method');
    expect(() => mark(Orders.prototype, Symbol('take'), own)).toThrow(PaymentHandlerError);
    expect(() => (mark as PropertyDecorator)(Orders.prototype, 'take')).toThrow(PaymentHandlerError);
  });

  test('a handler with a reserved consumer name, an unknown event or an unknown shop fails the start', async () => {
    expect(await refusal(handlerOf('payment.failed', { consumer: 'event-emitter' }))).toContain(
      '"event-emitter" is taken',
    );
    expect(await refusal(handlerOf('payment.lost', { consumer: 'a' }))).toContain('there is no event "payment.lost"');
    expect(await refusal(handlerOf('payment.failed', { consumer: 'a', shops: ['main', 'us'] }))).toContain(
      'there is no shop "us"',
    );
  });
});
