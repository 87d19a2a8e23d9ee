import { Module, type DynamicModule, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { describeError, PaymentAcceptanceError } from '../common/errors.js';
import { paymentAcceptanceOptionsFromEnv, schemaFromEnv } from '../config/environment.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { namesDatabase, type PaymentStorageOptions } from '../database/storage-options.js';
import { withConnections } from '../database/open-database.js';
import { PaymentAcceptanceModule } from '../payment-acceptance.module.js';
import { UsageError } from './arguments.js';
import type { CommandLine } from './environment-file.js';
import { DatabaseUnreachableError } from './failure.js';
import { importDataSource, importHostFile } from './host-file.js';
import type { Output } from './output.js';

@Module({})
class CommandModule {}

/** The data source of the host's file, or an address. */
export type NamedDatabase = DataSource | PaymentStorageOptions;

export async function withDatabase<T>(
  invocation: CommandLine,
  env: NodeJS.ProcessEnv,
  work: (database: NamedDatabase) => Promise<T>,
): Promise<T> {
  const file = invocation.values['data-source'];
  if (file !== undefined) return withDataSource(await importDataSource(file), work);
  const storage = await storageOf(invocation, env);
  if (!storage) {
    throw new UsageError(
      `Missing database: DATABASE_URL is set neither in the environment nor in ${invocation.environmentFiles}. ` +
        'Set it there, or pass --data-source FILE.',
    );
  }
  await withConnections(storage, async (source) => {
    try {
      source.release(await source.connect(), false);
    } catch (error) {
      throw new DatabaseUnreachableError(error);
    }
  });
  return work(storage);
}

/** Closes the data source afterwards. */
async function withDataSource<T>(dataSource: DataSource, work: (dataSource: DataSource) => Promise<T>): Promise<T> {
  // What the application does to its own tables at startup must not happen here.
  dataSource.setOptions({
    subscribers: [],
    synchronize: false,
    migrationsRun: false,
    dropSchema: false,
    logging: false,
  });
  if (!dataSource.isInitialized) await connect(dataSource);
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Errors of TypeORM itself are about the data source's settings and entities; all others are the driver's. */
async function connect(dataSource: DataSource): Promise<void> {
  try {
    await dataSource.initialize();
  } catch (error) {
    const { QueryFailedError, TypeORMError } = await import('typeorm');
    const ofSettings = error instanceof TypeORMError && !(error instanceof QueryFailedError);
    if (ofSettings) throw new UsageError(`The data source cannot be used. ${describeError(error)}`);
    throw new DatabaseUnreachableError(error);
  }
}

/** `DATABASE_URL` comes before the host's own option `storage`. */
export async function storageOf(
  { values: { config } }: CommandLine,
  env: NodeJS.ProcessEnv,
): Promise<PaymentStorageOptions | undefined> {
  const url = env['DATABASE_URL'];
  if (url) return { url };
  const { storage } = config === undefined ? {} : await optionsOf(config, env);
  return storage && namesDatabase(storage) ? storage : undefined;
}

/** The module runs without workers and routes. */
export function withModule<T>(
  invocation: CommandLine,
  env: NodeJS.ProcessEnv,
  work: (context: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withDatabase(invocation, env, async (database) => {
    const options = await optionsOf(invocation.values.config, env);
    const context = await NestFactory.createApplicationContext(await commandModule(database, options), {
      abortOnError: false,
    });
    try {
      return await work(context);
    } finally {
      await context.close();
    }
  });
}

async function commandModule(database: NamedDatabase, options: PaymentAcceptanceOptions): Promise<DynamicModule> {
  const root = (storage: PaymentStorageOptions): DynamicModule =>
    PaymentAcceptanceModule.forRoot({
      ...options,
      storage,
      autoStart: false,
      migrations: 'verify',
      // Hosts no consumer: events wait for the application's instances.
      role: 'callbacks',
    });
  if (!('driver' in database)) return { module: CommandModule, imports: [root(database)] };
  const { DataSource } = await import('typeorm');
  return {
    module: CommandModule,
    global: true,
    imports: [root({})],
    providers: [{ provide: DataSource, useValue: database }],
    exports: [DataSource],
  };
}

/**
 * Reads the options from the host's file or its environment.
 * @throws UsageError, PaymentConfigurationError
 */
export async function optionsOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<PaymentAcceptanceOptions> {
  if (file === undefined) return paymentAcceptanceOptionsFromEnv(env);
  const exported = defaultOf(await importHostFile('--config', file));
  let options: unknown;
  try {
    options = await (typeof exported === 'function' ? (exported as () => unknown)() : exported);
  } catch (error) {
    // The host's function may run the module's own checks, whose errors already say what is wrong.
    if (error instanceof PaymentAcceptanceError) throw error;
    throw new UsageError(`--config: ${describeError(error)}`);
  }
  if (typeof options !== 'object' || options === null || !('shops' in options || 'shopResolver' in options)) {
    throw new UsageError(`--config: ${file} must export the options, or a function that returns them, as its default.`);
  }
  return options as PaymentAcceptanceOptions;
}

/** Commands that need no shop read only the schema. */
export async function schemaOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return file === undefined ? schemaFromEnv(env) : (await optionsOf(file, env)).schema;
}

/** A CommonJS file may export the options itself or as `default`; one compiled from an ES module nests `default` twice. */
function defaultOf(exported: unknown): unknown {
  const inner =
    typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : exported;
  return inner === exported ? inner : defaultOf(inner);
}

/** Standard output is for results, so the module logs to standard error. */
export function loggerTo({ err }: Output): LoggerService {
  const write = (message: unknown): void => err(`${String(message)}\n`);
  return {
    log: () => undefined,
    warn: write,
    error(message: unknown, ...optionalParams: unknown[]) {
      // An error that prevents startup is reported as the command's own failure.
      if (optionalParams.at(-1) !== 'ExceptionHandler') write(message);
    },
    fatal: write,
  };
}
