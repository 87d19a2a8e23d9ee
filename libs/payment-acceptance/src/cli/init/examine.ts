import path from 'node:path';
import type { InstalledPackage } from '../../peers/installed-package.js';
import { runCommand } from '../../peers/package-manager.js';
import { editsOf, type Edit } from './edits.js';
import { flawsOf } from './flaws.js';
import type { Host } from './look-at-host.js';
import { missingPackages } from './packages.js';
import { plainPrefix } from './source-facts.js';

/** What `init` tells, also as its JSON document. */
export interface Examination {
  /** Whether nothing stands in the way. */
  readonly fits: boolean;
  readonly folder: string;
  /** What the application is, as far as it could be told. */
  readonly found: readonly string[];
  /** What stands in the way, each with what to do. */
  readonly flaws: readonly string[];
  readonly install: {
    readonly missing: readonly string[];
    readonly missingForTests: readonly string[];
    readonly commands: readonly string[];
  };
  readonly edits: readonly Edit[];
  /** Starts the service for development, which calls the application on port 3000. */
  readonly sandbox: string;
  /** For a deployment, before the application starts. */
  readonly migrate: string;
  /** To be entered at the service. */
  readonly addresses: Readonly<Record<'Success URL' | 'Fail URL' | 'Result URL', string>>;
  /** What could not be told, and what to check. */
  readonly notes: readonly string[];
}

export function examine(host: Host, own: InstalledPackage, node: string): Examination {
  const flaws = flawsOf(host, own, node);
  const { notes, ...install } = missingPackages(host, own);
  const edits = editsOf(host);
  const prefix = `https://your.example${prefixOf(host)}`;
  return {
    fits: flaws.length === 0,
    folder: host.folder,
    found: findings(host),
    flaws,
    install,
    edits,
    sandbox: runCommand(
      host.manager.name,
      `nestjs-payment-sandbox --data .data/sandbox --shop-url http://127.0.0.1:3000${prefixOf(host)}`,
    ),
    migrate: migrateCommand(host),
    addresses: {
      'Success URL': `${prefix}/redirect/payment/success`,
      'Fail URL': `${prefix}/redirect/payment/fail`,
      'Result URL': `${prefix}/postback/payment`,
    },
    notes: [...notes, ...notesOf(host, edits)],
  };
}

function findings({ versions, manager, modules, testRunner, workspaceRoot, sources }: Host): string[] {
  const nest = versions.of('@nestjs/common');
  const typeorm = versions.of('typeorm');
  const [database] = sources.databases;
  const [prefix] = sources.prefixes;
  return [
    `NestJS ${nest?.version ?? 'of unknown version'} (${nest?.from ?? 'package.json'}) on ${adapterOf({ versions, sources })}, ${modules}, ${testRunner ?? 'no Jest or Vitest'}`,
    typeorm ? `TypeORM ${typeorm.version} (${typeorm.from})` : 'no TypeORM',
    database ? `database: ${database.code} (${database.file})` : 'no type of a database',
    `${manager.name} (${manager.because ?? 'assumed: no lockfile'})${workspaceRoot === undefined ? '' : `, in the repository ${workspaceRoot}`}`,
    ...(sources.mains.length > 0 ? [`start: ${sources.mains.join(', ')}`] : []),
    ...(sources.appModule === undefined ? [] : [`its module: ${sources.appModule}`]),
    ...sources.dataSources.map(({ file, code }) => `data source: ${code} (${file})`),
    ...(prefix ? sources.prefixes.map(({ file, code }) => `global prefix: ${code} (${file})`) : ['no global prefix']),
    ...(sources.versioning ? [`versioning (${sources.versioning.file}): the callbacks have no version`] : []),
    ...(sources.validationPipe
      ? [`global ValidationPipe (${sources.validationPipe.file}): the callbacks work with it`]
      : []),
    ...(sources.ourModule ? [`payments: ${sources.ourModule.code} (${sources.ourModule.file})`] : []),
  ];
}

function adapterOf({ versions, sources }: Pick<Host, 'versions' | 'sources'>): string {
  if (sources.fastify) return `Fastify (${sources.fastify.file})`;
  if (versions.declared('@nestjs/platform-express') !== undefined) return 'Express';
  return versions.declared('@nestjs/platform-fastify') === undefined ? 'no HTTP adapter' : 'Fastify';
}

/** Where it cannot be told, a placeholder that nobody enters by mistake. */
function prefixOf({ sources: { prefixes } }: Host): string {
  return plainPrefix(prefixes) ?? '/GLOBAL-PREFIX';
}

function migrateCommand({ manager, sources: { dataSourceFile } }: Host): string {
  const compiled = dataSourceFile?.replace(/^src\//, 'dist/').replace(/\.([cm]?)ts$/, '.$1js');
  const source = compiled === undefined ? '' : ` --data-source ./${path.posix.normalize(compiled)}`;
  return runCommand(manager.name, `payment-acceptance migrate${source}`);
}

function notesOf(host: Host, edits: readonly Edit[]): string[] {
  const { sources, envNames, typeScript, versions } = host;
  const { prefixes, guard, bodyParserOff, dataSources, mains } = sources;
  const unread = plainPrefix(prefixes) === undefined;
  const withOptions = prefixes.find(({ code }) => /,\s*\{/.test(code));
  const candidates: [boolean, string][] = [
    [
      edits.some(({ file }) => file === '.env'),
      'The values for .env are those of the sandbox, which nestjs-payment-sandbox starts. In production: the https address of the service, and the id and the token of your shop.',
    ],
    [
      unread,
      'The global prefix is not one plain text: put yours in the place of GLOBAL-PREFIX. The application logs the addresses when it starts.',
    ],
    [
      withOptions !== undefined,
      `${withOptions?.file}: ${withOptions?.code}: if it excludes the callbacks, they have no prefix. The application logs the addresses when it starts.`,
    ],
    [
      guard !== undefined,
      `${guard?.file}: ${guard?.code}: if it turns away callers without a session, let the callbacks pass: PaymentAcceptanceModule.forRootAsync({ routes: { decorators: [Public()] }, … }), with your decorator for public routes.`,
    ],
    [
      bodyParserOff !== undefined,
      `${bodyParserOff?.file} has ${bodyParserOff?.code}: the callbacks need the body parser. Leave it on.`,
    ],
    [
      mains.length > 1,
      `Several programs start an application (${mains.join(', ')}): the lines are for the first; put them where the orders are.`,
    ],
    [mains.length === 0, 'No file calls NestFactory.create, so main.ts and app.module.ts are assumed in src.'],
    [
      dataSources.length > 1,
      "There are several data sources: PaymentAcceptanceModule uses the default one; for another name it: forRootAsync({ dataSource: 'name', … }).",
    ],
    [
      dataSources.length === 0 && versions.declared('typeorm') !== undefined,
      'TypeORM is there, but no TypeOrmModule.forRoot was found: if the data source is made elsewhere, leave out the lines for it.',
    ],
    [
      dataSources.length > 0 && sources.databases.length === 0,
      'The type of the database is not written as text: it must be PostgreSQL, or MariaDB 10.6 or newer.',
    ],
    [
      envNames === undefined && sources.ourModule === undefined,
      'There is no .env here: if the variables come from elsewhere, set them there. Keep .env out of the repository.',
    ],
    [!typeScript, 'There is no tsconfig.json here: the lines are TypeScript.'],
  ];
  return candidates.flatMap(([applies, note]) => (applies ? [note] : []));
}
