import { Module, type DynamicModule, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import path from 'node:path';
import { DataSource } from 'typeorm';
import { CommandUtils } from 'typeorm/commands/CommandUtils.js';
import { importOrRequireFile } from 'typeorm/util/ImportUtils.js';
import { describeError } from '../common/errors.js';
import { paymentAcceptanceOptionsFromEnv, schemaFromEnv } from '../config/environment.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { PaymentAcceptanceModule } from '../module/payment-acceptance.module.js';
import { UsageError, type Arguments } from './arguments.js';
import type { Output } from './output.js';

/** The module for a command: on the host's database, without workers or routes. */
@Module({})
class CommandModule {}

/** Runs work on the host's data source and closes it afterwards. */
export async function withDataSource<T>(
  { values }: Arguments,
  env: NodeJS.ProcessEnv,
  work: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  const dataSource = await dataSourceOf(values['data-source'], env);
  // What the application does to its own tables at startup must not happen here.
  dataSource.setOptions({
    subscribers: [],
    synchronize: false,
    migrationsRun: false,
    dropSchema: false,
    logging: false,
  });
  if (!dataSource.isInitialized) await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Runs work with the module's services. */
export function withModule<T>(
  given: Arguments,
  env: NodeJS.ProcessEnv,
  output: Output,
  work: (context: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withDataSource(given, env, async (dataSource) => {
    const options = await optionsOf(given.values.config, env);
    const context = await NestFactory.createApplicationContext(commandModule(dataSource, options), {
      logger: loggerTo(output),
      abortOnError: false,
    });
    try {
      return await work(context);
    } finally {
      await context.close();
    }
  });
}

function commandModule(dataSource: DataSource, options: PaymentAcceptanceOptions): DynamicModule {
  return {
    module: CommandModule,
    global: true,
    imports: [
      PaymentAcceptanceModule.forRoot({
        ...options,
        autoStart: false,
        migrations: 'verify',
        // Hosts no consumer: events wait for the application's instances.
        role: 'callbacks',
      }),
    ],
    providers: [{ provide: DataSource, useValue: dataSource }],
    exports: [DataSource],
  };
}

async function dataSourceOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<DataSource> {
  if (file !== undefined) {
    try {
      return await CommandUtils.loadDataSource(path.resolve(file));
    } catch (error) {
      throw new UsageError(`--data-source: ${describeError(error)}`);
    }
  }
  const url = env['DATABASE_URL'];
  if (!url) throw new UsageError('Name the database: set DATABASE_URL, or --data-source FILE.');
  if (/^(mariadb|mysql):/.test(url)) return new DataSource({ type: 'mariadb', url });
  return new DataSource({ type: 'postgres', url, applicationName: 'payment-acceptance' });
}

async function optionsOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<PaymentAcceptanceOptions> {
  if (file === undefined) return paymentAcceptanceOptionsFromEnv(env);
  let exported: unknown;
  try {
    [exported] = (await importOrRequireFile(path.resolve(file))) as unknown[];
  } catch (error) {
    throw new UsageError(`--config: ${describeError(error)}`);
  }
  const options = await givenBy(defaultOf(exported));
  if (typeof options !== 'object' || options === null || !('shops' in options || 'shopResolver' in options)) {
    throw new UsageError(
      `--config: ${file} must have the options, or a function that returns them, as its default export.`,
    );
  }
  return options as PaymentAcceptanceOptions;
}

/** The schema, for commands that need no shop. */
export async function schemaOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return file === undefined ? schemaFromEnv(env) : (await optionsOf(file, env)).schema;
}

/** A CommonJS file may export the options itself or as `default`; one compiled from an ES module nests `default` twice. */
function defaultOf(exported: unknown): unknown {
  const inner =
    typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : exported;
  return inner === exported ? inner : defaultOf(inner);
}

function givenBy(value: unknown): unknown {
  return typeof value === 'function' ? (value as () => unknown)() : value;
}

/** Standard output is for results, so the module logs to standard error. */
function loggerTo({ err }: Output): LoggerService {
  const write = (message: unknown): void => err(`${String(message)}\n`);
  return { log: () => undefined, warn: write, error: write, fatal: write };
}
