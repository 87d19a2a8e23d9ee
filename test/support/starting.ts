import type { DynamicModule, Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { connectionOf, createTestDatabase, type TestDatabase } from './database.js';

/** Hosts that may fail to start, all on one database. Leaves nothing open, even if a start fails. */
export class Starting {
  private database: Promise<TestDatabase> | undefined;
  private readonly open: (() => Promise<unknown>)[] = [];

  /** Address of the database, which is initially empty. */
  async url(): Promise<string> {
    this.database ??= createTestDatabase();
    return (await this.database).url;
  }

  async dataSource(options: Partial<DataSourceOptions> = {}): Promise<DataSource> {
    const made = new DataSource({ ...connectionOf(await this.url()), ...options } as DataSourceOptions);
    this.open.push(async () => made.isInitialized && made.destroy());
    return made.initialize();
  }

  /** Starts a host with a default data source and these modules. */
  async start(
    imports: (DynamicModule | Promise<DynamicModule>)[],
    options: { dataSource?: Partial<DataSourceOptions>; name?: string; providers?: Provider[] } = {},
  ): Promise<TestingModule> {
    const { name } = options;
    // Connected beforehand, because a failed start would leave behind a data source that is still connecting.
    const dataSource = await this.dataSource(options.dataSource);
    const database = TypeOrmModule.forRootAsync({
      ...(name !== undefined && { name }),
      useFactory: () => ({ type: 'postgres' }),
      dataSourceFactory: () => Promise.resolve(dataSource),
    });
    const module = await Test.createTestingModule({
      imports: [database, ...imports],
      providers: options.providers ?? [],
    }).compile();
    this.open.push(() => module.close());
    module.useLogger(false);
    return module.init();
  }

  /** Closes what is open; drops the database at the end of the file. */
  async close(end: 'keep' | 'drop'): Promise<void> {
    for (const close of this.open.splice(0).reverse()) await close();
    if (end === 'keep') return;
    await (await this.database)?.drop();
    this.database = undefined;
  }
}
