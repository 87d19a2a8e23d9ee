import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OnEvent } from '@nestjs/event-emitter';
import { demoShops, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppModule } from './app.module.js';
import { OrdersService } from './orders.service.js';

/** Of a tracing library that wraps the method, where the file that is loaded before has set it. */
const traced = (globalThis as { spanDecorator?: MethodDecorator }).spanDecorator ?? (() => undefined);

@Injectable()
class Mailer {
  heard: string[] = [];

  @traced
  @OnEvent('payment.succeeded')
  hear({ orderId }: { orderId: string }): void {
    this.heard.push(orderId);
    if (this.heard.length === 1) throw new Error('the mail server is away');
  }
}

@Module({ providers: [Mailer] })
class MailModule {}

/** An application under instrumentation: takes a payment whose plain listener throws once, then prints `heard again`. */
async function main(isFirst: boolean): Promise<void> {
  const sandbox = await startPaymentSandbox({ shops: demoShops('http://127.0.0.1:9') });
  const databaseUrl = process.env['DATABASE_URL'] ?? '';
  const payments: DynamicModule = AppModule.with({ databaseUrl, sandboxUrl: sandbox.url, emitterIsLast: isFirst });
  @Module({ imports: isFirst ? [payments, MailModule] : [MailModule, payments] })
  class InstrumentedModule {}
  const app = await NestFactory.create(InstrumentedModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  for (const [id, settings] of Object.entries(demoShops(await app.getUrl())))
    await sandbox.sandbox.putShop(id, settings);
  const { billId, orderId } = await app.get(OrdersService).order('100.05');
  await sandbox.sandbox.pay(billId);
  const { heard } = app.get(Mailer);
  for (const end = Date.now() + 40_000; heard.length < 2; await sleep(50)) {
    if (Date.now() > end) throw new Error(`The listener was called ${heard.length} times within 40 s.`);
  }
  if (heard.some((each) => each !== orderId)) throw new Error(`The listener heard ${heard.join(', ')}.`);
  await app.close();
  await sandbox.close();
  process.stdout.write('heard again\n');
}

main(process.argv[2] === 'first').then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
