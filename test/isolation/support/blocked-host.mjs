// A host whose event loop can be blocked, as by a loop of its own: started by a test, against the built library. It says
// its address on standard output; a line on standard input blocks it for as long as the file is there that it names.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { optionsFromJson } from '../../support/options-json.mjs';

const { DATABASE_URL = '', PAYMENT_OPTIONS = '' } = process.env;

const Host = class Host {
  name = 'host';
};
Module({
  imports: [
    TypeOrmModule.forRoot({ type: DATABASE_URL.startsWith('mariadb:') ? 'mariadb' : 'postgres', url: DATABASE_URL }),
    EventEmitterModule.forRoot(),
    PaymentAcceptanceModule.forRootAsync({ useFactory: () => optionsFromJson(PAYMENT_OPTIONS) }),
  ],
})(Host);

const app = await NestFactory.create(Host, { logger: ['error'], forceCloseConnections: true });
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
const nobody = new Int32Array(new SharedArrayBuffer(4));
for await (const line of createInterface(process.stdin)) {
  console.log('blocked');
  while (existsSync(line)) Atomics.wait(nobody, 0, 0, 50);
}
await app.close();
