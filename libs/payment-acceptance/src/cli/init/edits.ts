import path from 'node:path';
import type { Host } from './look-at-host.js';

/** Lines to add to a file of the application. */
export interface Edit {
  /** From the application's folder. */
  readonly file: string;
  readonly place: 'new file' | 'end' | 'top' | 'imports' | 'providers' | 'before listen';
  readonly code: string;
}

const APP_MODULE = 'src/app.module.ts';
const MAIN = 'src/main.ts';
const HANDLER = 'order-payments';

/** Whatever of these lines the application does not have yet. */
export function editsOf(host: Host): Edit[] {
  return [...envEdits(host), ...handlerEdits(host), ...moduleEdits(host), ...mainEdits(host)];
}

/** The service is the sandbox at first, which answers with these. */
function envEdits({ envNames = [], sources }: Host): Edit[] {
  if (envNames.includes('PAYMENT_ACCEPTANCE_SHOPS')) return [];
  const lines = Object.entries({
    ...(sources.dataSources.length === 0 && { DATABASE_URL: 'postgres://user:password@127.0.0.1:5432/database' }),
    PAYMENT_ACCEPTANCE_API_BASE_URL: 'http://127.0.0.1:4010',
    PAYMENT_ACCEPTANCE_SHOP_ID: 'demo-main',
    PAYMENT_ACCEPTANCE_API_TOKEN: 'sandbox-main-token-0123456789abcdef',
  }).filter(([name]) => !envNames.includes(name));
  return lines.length > 0
    ? [{ file: '.env', place: 'end', code: lines.map(([name, value]) => `${name}=${value}`).join('\n') }]
    : [];
}

function handlerEdits(host: Host): Edit[] {
  const { sources } = host;
  if (sources.ourHandler) return [];
  const file = path.posix.join(path.posix.dirname(sources.appModule ?? APP_MODULE), `${HANDLER}.ts`);
  return [{ file, place: 'new file', code: HANDLER_CODE }];
}

const HANDLER_CODE = `import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  PaymentAcceptanceService,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';

@Injectable()
export class OrderPayments {
  constructor(private readonly payments: PaymentAcceptanceService) {}

  // Call it in your checkout, once the order is stored, and send the payer to the address. The amount is a decimal, as '100.05'.
  async start(order: { id: string | number; amount: string }): Promise<string> {
    const bill = await this.payments.createBill({ orderId: String(order.id), amount: order.amount });
    return bill.linkPageUrl;
  }

  // 'Order' is the name of your entity, and these are its columns: leave out currency if your orders have none. Until they are
  // right the update throws, and the event is tried again, for a day at least.
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { manager }: PaymentEventContext): Promise<void> {
    const { orderId: id, billedAmount: amount, currency } = event;
    requireOrder(event, await manager.update('Order', { id, amount, currency }, { status: 'paid' }));
  }
}`;

function moduleEdits(host: Host): Edit[] {
  const { sources, modules } = host;
  const file = sources.appModule ?? APP_MODULE;
  const ending = (sources.importsWithEnding ?? modules === 'ES modules') ? '.js' : '';
  const top: string[] = [];
  const imports: string[] = [];
  if (!sources.ourModule) {
    if (!sources.envReader) {
      top.push(`import { ConfigModule } from '@nestjs/config';`);
      imports.push('ConfigModule.forRoot(), // reads .env');
    }
    if (sources.dataSources.length === 0) {
      top.push(`import { TypeOrmModule } from '@nestjs/typeorm';`);
      imports.push(
        `TypeOrmModule.forRootAsync({\n  useFactory: () => ({ type: 'postgres', url: process.env.DATABASE_URL, autoLoadEntities: true }),\n}),`,
      );
    }
    top.push(`import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';`);
    imports.push('PaymentAcceptanceModule.forRootAsync({ useFactory: () => paymentAcceptanceOptionsFromEnv() }),');
  }
  if (!sources.ourHandler) top.push(`import { OrderPayments } from './${HANDLER}${ending}';`);
  return [
    ...(top.length > 0 ? [{ file, place: 'top', code: top.join('\n') } as const] : []),
    ...(imports.length > 0 ? [{ file, place: 'imports', code: imports.join('\n') } as const] : []),
    ...(sources.ourHandler ? [] : [{ file, place: 'providers', code: 'OrderPayments,' } as const]),
  ];
}

function mainEdits({ sources }: Host): Edit[] {
  if (sources.shutdownHooks) return [];
  return [{ file: sources.mains[0] ?? MAIN, place: 'before listen', code: 'app.enableShutdownHooks();' }];
}
