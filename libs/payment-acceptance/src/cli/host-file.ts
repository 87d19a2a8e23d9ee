import { existsSync, readFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DataSource } from 'typeorm';
import { importOrRequireFile } from 'typeorm/util/ImportUtils.js';
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js';
import { describeError } from '../common/errors.js';
import { UsageError } from './arguments.js';

/** What makes Node read TypeScript, and is installed in the host. */
type Loader = 'tsx' | 'ts-node';

/**
 * The exports of a host's file. TypeScript is read by the host's own tsx or ts-node.
 * @param option the option that names the file, for errors
 * @throws UsageError
 */
export async function importHostFile(option: string, name: string): Promise<unknown> {
  const file = path.resolve(name);
  if (!existsSync(file)) throw new UsageError(`${option}: there is no file ${file}.`);
  const loader = isTypeScript(file) ? startLoader(option, file) : undefined;
  try {
    const [exported] = (await importOrRequireFile(file)) as unknown[];
    return exported;
  } catch (error) {
    throw new UsageError(`${option}: ${describeError(error)}`, adviceOn(error, loader, option));
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

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isTypeScript(file: string): boolean {
  return /\.[cm]?ts$/.test(file);
}

/** @throws UsageError if the host has neither */
function startLoader(option: string, file: string): Loader {
  const isModule = isEsModule(file);
  const { resolve } = createRequire(file);
  const installed = (name: string): string | undefined => {
    try {
      return resolve(name);
    } catch {
      return undefined;
    }
  };
  const [tsx, tsNode] = [installed('tsx'), installed('ts-node')];
  // ts-node emits the types that TypeORM reads from decorators, but is less at home in ES modules.
  const loader = tsx !== undefined && (isModule || tsNode === undefined) ? 'tsx' : tsNode && 'ts-node';
  if (!loader) {
    throw new UsageError(
      `${option}: ${file} is TypeScript, and neither tsx nor ts-node is installed for it.`,
      `npm install --save-dev ts-node, or name the compiled file, such as ${option} dist/${path.basename(file).replace(/ts$/, 'js')}`,
    );
  }
  try {
    if (loader === 'tsx') createRequire(file)('tsx');
    else startTsNode(file, isModule);
  } catch (error) {
    throw new UsageError(`${option}: ${loader} does not start. ${describeError(error)}`);
  }
  return loader;
}

/** Without type checks: they belong to the build, and take seconds. */
function startTsNode(file: string, isModule: boolean): void {
  if (isModule) {
    process.env['TS_NODE_TRANSPILE_ONLY'] = 'true';
    register('ts-node/esm', pathToFileURL(file));
    return;
  }
  const require = createRequire(file);
  const tsNode = require('ts-node') as { register(options: object): unknown };
  // The resolver finds `order.ts` where an import says `./order.js`, as TypeScript does.
  tsNode.register({ transpileOnly: true, experimentalResolver: true, projectSearchDir: path.dirname(file) });
  try {
    // As in the scripts of Nest's starter: for `paths` of the tsconfig.json.
    require('tsconfig-paths/register');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
  }
}

/** As Node decides it: by the extension, else by the nearest package.json. */
function isEsModule(file: string): boolean {
  if (/\.[cm]ts$/.test(file)) return file.endsWith('.mts');
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (existsSync(manifest))
      return (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: string }).type === 'module';
    if (folder === path.dirname(folder)) return false;
  }
}

/** TypeORM's error is about tsconfig.json, which tsx does not obey in this. */
function adviceOn(error: unknown, loader: Loader | undefined, option: string): string | undefined {
  const lacksTypes = error instanceof Error && error.name === 'ColumnTypeUndefinedError';
  if (!lacksTypes || loader !== 'tsx') return undefined;
  return (
    'tsx does not emit the types of decorated properties (emitDecoratorMetadata). Name the compiled file ' +
    `(${option} dist/…), give each column its type, as in @Column('text'), or use ts-node instead of tsx`
  );
}
