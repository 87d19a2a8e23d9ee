// A host that only receives callbacks, on the built library, in a process that can be killed. Started by a test.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { writeSync } from 'node:fs';
import { optionsFromJson } from './options-json.mjs';

const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    PaymentAcceptanceModule.forRootAsync({
      useFactory: () => optionsFromJson(process.env.PAYMENT_OPTIONS ?? ''),
      role: 'callbacks',
    }),
  ],
})(Host);

const app = await NestFactory.create(Host, new FastifyAdapter(), { logger: ['error'] });
await app.listen(0, '127.0.0.1');
writeSync(1, `${await app.getUrl()}\n`);
