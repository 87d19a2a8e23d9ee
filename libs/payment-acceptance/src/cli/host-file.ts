import { isObject } from '../common/objects.js';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DataSource } from 'typeorm';
import { describeError } from '../common/errors.js';
import { UsageError } from './arguments.js';

/**
 * @param option the option that names the file, for errors
 * @throws UsageError
 */
export async function importHostFile(option: string, name: string): Promise<unknown> {
  const file = path.resolve(name);
  if (!existsSync(file)) throw new UsageError(`${option}: file not found: ${file}.`);
  try {
    if (isModule(file)) return (await import(pathToFileURL(file).href)) as unknown;
    return createRequire(file)(file) as unknown;
  } catch (error) {
    const isTypeScript = /\.[cm]?ts$/.test(file);
    throw new UsageError(`${option}: ${describeError(error)}${isTypeScript ? `. ${forTypeScript(option, file)}` : ''}`);
  }
}

/** Decided as Node decides it, so that a loader for either kind of module gets the file. */
function isModule(file: string): boolean {
  if (/\.[mc][jt]s$/.test(file)) return /\.m[jt]s$/.test(file);
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (existsSync(manifest))
      return (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown }).type === 'module';
    if (folder === path.dirname(folder)) return false;
  }
}

/**
 * The file may export one data source, under any name, by default, or as a promise.
 * @throws UsageError
 */
export async function importDataSource(file: string): Promise<DataSource> {
  const exported = await importHostFile('--data-source', file);
  // Recognized by TypeORM's own mark: the host's file may use another copy of TypeORM, and none may be installed here.
  const isDataSource = (value: unknown): value is DataSource =>
    isObject(value) && (value as Record<string, unknown>)['@instanceof'] === Symbol.for('DataSource');
  const candidates = isObject(exported) && !isDataSource(exported) ? Object.values(exported) : [exported];
  // Many files export the same data source by name and by default.
  const dataSources = new Set((await awaitExports(candidates)).filter(isDataSource));
  const [dataSource] = dataSources;
  if (dataSource === undefined || dataSources.size > 1) {
    const count = dataSources.size === 0 ? 'no DataSource' : `${dataSources.size} data sources`;
    throw new UsageError(
      `--data-source: ${file} exports ${count}. It must export one, such as: export default new DataSource({ … });`,
    );
  }
  return dataSource;
}

async function awaitExports(exports: readonly unknown[]): Promise<unknown[]> {
  try {
    return await Promise.all(exports);
  } catch (error) {
    throw new UsageError(`--data-source: ${describeError(error)}`);
  }
}

/** TypeORM may need the types of decorated properties, which tsx does not emit. */
function forTypeScript(option: string, file: string): string {
  const compiled = path.basename(file).replace(/ts$/, 'js');
  return (
    `Pass the compiled file, such as ${option} dist/${compiled}, or use a TypeScript loader: ` +
    'NODE_OPTIONS="--import tsx" npx payment-acceptance …, or "--require ts-node/register" in CommonJS'
  );
}
