import { NestFactory } from '@nestjs/core';
import { demoShops, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppModule } from './app.module.js';
import { OrdersService } from './orders.service.js';

/** The application as a built program: takes one payment, then prints `paid`. */
async function main(): Promise<void> {
  const sandbox = await startPaymentSandbox({ shops: demoShops('http://127.0.0.1:9') });
  const databaseUrl = process.env['DATABASE_URL'] ?? '';
  const app = await NestFactory.create(AppModule.with({ databaseUrl, sandboxUrl: sandbox.url }), { logger: ['error'] });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  for (const [id, settings] of Object.entries(demoShops(await app.getUrl())))
    await sandbox.sandbox.putShop(id, settings);

  const orders = app.get(OrdersService);
  const { billId, orderId } = await orders.order('100.05');
  await sandbox.sandbox.pay(billId);
  for (const end = Date.now() + 20_000; (await orders.statusOf(orderId)) !== 'paid'; await sleep(50)) {
    if (Date.now() > end) throw new Error('The order was not paid within 20 s.');
  }
  process.stdout.write('paid\n');
  await app.close();
  await sandbox.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
