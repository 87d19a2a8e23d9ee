import { Injectable } from '@nestjs/common';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentHandlerError } from './consumer.errors.js';
import type { EventConsumer } from './consumer.js';
import { CONSUMER_NAME_PATTERN, EVENT_EMITTER_CONSUMER } from './handler.explorer.js';

/** Consumers of broker modules. They are hosted when the application starts, like all others. */
@Injectable()
export class AddedConsumers {
  private readonly added: EventConsumer[] = [];
  private areHosted = false;

  constructor(private readonly shops: ShopRegistry) {}

  /** @throws PaymentHandlerError also after the start, since nobody would host the consumers */
  add(origin: string, consumers: readonly EventConsumer[]): void {
    if (this.areHosted)
      throw new PaymentHandlerError(origin, 'import its module at start: a module loaded later gets no events.');
    for (const { name, shops } of consumers) {
      if (!CONSUMER_NAME_PATTERN.test(name)) {
        const sentence =
          'give its consumer a name of 1 to 100 letters, digits, ".", "_" or "-", as in { consumer: "bus" }.';
        throw new PaymentHandlerError(origin, sentence);
      }
      if (name === EVENT_EMITTER_CONSUMER || this.added.some((other) => other.name === name)) {
        throw new PaymentHandlerError(origin, `the consumer name "${name}" is taken. Choose another name.`);
      }
      const unknown = shops?.find((shop) => !this.shops.mayExist(shop));
      if (unknown !== undefined) throw new PaymentHandlerError(origin, `there is no shop "${unknown}".`);
    }
    this.added.push(...consumers);
  }

  /** @throws PaymentHandlerError if a handler has the name of an added consumer: they would share deliveries */
  beside(handlers: readonly EventConsumer[]): EventConsumer[] {
    const conflicting = handlers.find(({ name }) => this.added.some((other) => other.name === name));
    if (conflicting) {
      const sentence = `a handler and a broker share this consumer name. Rename one of them.`;
      throw new PaymentHandlerError(`"${conflicting.name}"`, sentence);
    }
    this.areHosted = true;
    return [...handlers, ...this.added];
  }
}
