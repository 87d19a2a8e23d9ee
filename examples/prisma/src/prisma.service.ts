import { Injectable, Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/prisma/client.js';

@Injectable()
export class PrismaService extends PrismaClient implements OnModuleInit, OnModuleDestroy {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
  }

  /** In an application, `prisma migrate` makes the table. */
  async onModuleInit(): Promise<void> {
    await this.$executeRaw`CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, amount numeric(10, 2) NOT NULL,
      currency text NOT NULL DEFAULT 'RUB', status text NOT NULL DEFAULT 'pending', note text)`;
  }

  onModuleDestroy(): Promise<void> {
    return this.$disconnect();
  }
}

@Module({ providers: [PrismaService], exports: [PrismaService] })
export class PrismaModule {}
