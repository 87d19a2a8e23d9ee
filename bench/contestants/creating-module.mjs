// createBill of the module: the intent, the request, and what came of it.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule, PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { create } from '../lib/creating.mjs';
import { options, ready } from '../lib/contestant.mjs';
import { provider } from '../lib/nest.mjs';
import { AMOUNT, SHOP } from '../lib/postback-bodies.mjs';

// The service of the bench has no certificate, which the module accepts outside production only.
process.env.NODE_ENV = 'bench';

const App = provider(
  function App() {},
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: options.databaseUrl }),
      PaymentAcceptanceModule.forRoot({
        shops: { main: { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: options.serviceUrl } },
        ...(options.http && { http: options.http }),
        autoStart: false,
      }),
    ],
  }),
);
const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
const payments = app.get(PaymentAcceptanceService);
ready({}, { create: create((orderId) => payments.createBill({ orderId, amount: AMOUNT, description: 'Bench' })) });
