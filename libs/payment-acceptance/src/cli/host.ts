import { Module, type DynamicModule, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource, QueryFailedError, TypeORMError } from 'typeorm';
import { describeError, PaymentAcceptanceError } from '../common/errors.js';
import { paymentAcceptanceOptionsFromEnv, schemaFromEnv } from '../config/environment.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { PaymentAcceptanceModule } from '../payment-acceptance.module.js';
import { UsageError } from './arguments.js';
import type { Given } from './environment-file.js';
import { DatabaseUnreachableError } from './failure.js';
import { importDataSource, importHostFile } from './host-file.js';
import type { Output } from './output.js';

/** The module for a command: on the host's database, without workers or routes. */
@Module({})
class CommandModule {}

/** Runs work on the host's data source and closes it afterwards. */
export async function withDataSource<T>(
  given: Given,
  env: NodeJS.ProcessEnv,
  work: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  const dataSource = await dataSourceOf(given, env);
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

/** Runs work with the module's services. */
export function withModule<T>(
  given: Given,
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

/** Errors of TypeORM itself are about the data source's settings and entities; all others are the driver's. */
async function connect(dataSource: DataSource): Promise<void> {
  try {
    await dataSource.initialize();
  } catch (error) {
    const ofSettings = error instanceof TypeORMError && !(error instanceof QueryFailedError);
    if (ofSettings) throw new UsageError(`The data source cannot be used. ${describeError(error)}`);
    throw new DatabaseUnreachableError(error);
  }
}

async function dataSourceOf({ command, values, environmentFiles }: Given, env: NodeJS.ProcessEnv): Promise<DataSource> {
  const file = values['data-source'];
  if (file !== undefined) return importDataSource(file);
  const url = env['DATABASE_URL'];
  if (!url) {
    throw new UsageError(
      `Name the database: DATABASE_URL is set neither in the environment nor in ${environmentFiles}.`,
      `Set DATABASE_URL there, or: npx payment-acceptance ${command} --data-source FILE`,
    );
  }
  if (/^(mariadb|mysql):/.test(url)) return new DataSource({ type: 'mariadb', url });
  return new DataSource({ type: 'postgres', url, applicationName: 'payment-acceptance' });
}

/**
 * The module's options, from the host's file or its environment.
 * @throws UsageError, PaymentConfigurationError
 */
export async function optionsOf(file: string | undefined, env: NodeJS.ProcessEnv): Promise<PaymentAcceptanceOptions> {
  if (file === undefined) return paymentAcceptanceOptionsFromEnv(env);
  const exported = defaultOf(await importHostFile('--config', file));
  let options: unknown;
  try {
    options = await givenBy(exported);
  } catch (error) {
    // A factory of the host's may throw what the module's own checks throw.
    if (error instanceof PaymentAcceptanceError) throw error;
    throw new UsageError(`--config: ${describeError(error)}`);
  }
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
  return {
    log: () => undefined,
    warn: write,
    error(message: unknown, ...more: unknown[]) {
      // What stops the start is reported as the command's own failure.
      if (more.at(-1) !== 'ExceptionHandler') write(message);
    },
    fatal: write,
  };
}
