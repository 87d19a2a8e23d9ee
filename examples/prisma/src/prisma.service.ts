import { Injectable, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/prisma/client.js';

@Injectable()
export class PrismaService extends PrismaClient implements OnModuleInit, OnApplicationShutdown {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
  }

  /** In an application, `prisma migrate` makes the table. */
  async onModuleInit(): Promise<void> {
    await this.$executeRaw`CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, amount numeric(10, 2) NOT NULL,
      currency text NOT NULL DEFAULT 'RUB', status text NOT NULL DEFAULT 'pending', note text)`;
  }

  /** After the payment workers have stopped, which onModuleDestroy would not wait for. */
  onApplicationShutdown(): Promise<void> {
    return this.$disconnect();
  }
}

@Module({ providers: [PrismaService], exports: [PrismaService] })
export class PrismaModule {}
