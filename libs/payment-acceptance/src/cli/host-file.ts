import { isObject } from '../common/objects.js';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { DataSource } from 'typeorm';
import { importOrRequireFile } from 'typeorm/util/ImportUtils.js';
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js';
import { describeError } from '../common/errors.js';
import { UsageError } from './arguments.js';

/**
 * The exports of a host's file.
 * @param option the option that names the file, for errors
 * @throws UsageError
 */
export async function importHostFile(option: string, name: string): Promise<unknown> {
  const file = path.resolve(name);
  if (!existsSync(file)) throw new UsageError(`${option}: there is no file ${file}.`);
  try {
    const [exported] = (await importOrRequireFile(file)) as unknown[];
    return exported;
  } catch (error) {
    const isTypeScript = /\.[cm]?ts$/.test(file);
    throw new UsageError(`${option}: ${describeError(error)}`, isTypeScript ? forTypeScript(option, file) : undefined);
  }
}

/**
 * The one data source that a file exports: under any name, by default, or as a promise.
 * @throws UsageError
 */
export async function importDataSource(file: string): Promise<DataSource> {
  const exported = await importHostFile('--data-source', file);
  const candidates = isObject(exported) && !isDataSource(exported) ? Object.values(exported) : [exported];
  // Many files export the same data source by name and by default.
  const found = new Set((await settled(candidates)).filter(isDataSource));
  const [dataSource] = found;
  if (dataSource === undefined || found.size > 1) {
    const count = found.size === 0 ? 'no DataSource' : `${found.size} data sources`;
    throw new UsageError(
      `--data-source: ${file} exports ${count}. It must export one, such as: export default new DataSource({ … });`,
    );
  }
  return dataSource;
}

async function settled(exports: readonly unknown[]): Promise<unknown[]> {
  try {
    return await Promise.all(exports);
  } catch (error) {
    throw new UsageError(`--data-source: ${describeError(error)}`);
  }
}

/** By its mark: the host's file may have another copy of TypeORM. */
function isDataSource(value: unknown): value is DataSource {
  return InstanceChecker.isDataSource(value);
}

/** What Node itself does not read, a loader of the host's does. tsx emits no types of decorated properties, which TypeORM may need. */
function forTypeScript(option: string, file: string): string {
  const compiled = path.basename(file).replace(/ts$/, 'js');
  return (
    `Name the compiled file, such as ${option} dist/${compiled}, or let a loader of yours read TypeScript: ` +
    'NODE_OPTIONS="--import tsx" npx payment-acceptance …, or "--require ts-node/register" in CommonJS'
  );
}
