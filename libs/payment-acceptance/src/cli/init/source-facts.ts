import path from 'node:path';
import { matches, type Place, type SourceFile } from './source-files.js';

/** What the application's sources say, as far as a search for text can tell. */
export interface SourceFacts {
  /** Files that call `NestFactory.create`. */
  readonly mains: readonly string[];
  /** The file of the module that the first of them starts. */
  readonly appModule: string | undefined;
  /** Whether relative imports there end in `.js`; `undefined` if there are none. */
  readonly importsWithEnding: boolean | undefined;
  readonly fastify: Place | undefined;
  /** `TypeOrmModule.forRoot`, `forRootAsync` */
  readonly dataSources: readonly Place[];
  /** `new DataSource`, as TypeORM's own commands take it */
  readonly dataSourceFile: string | undefined;
  /** Types of databases, such as `postgres`. */
  readonly databases: readonly (Place & { type: string })[];
  /** A prefix that is not written as text has no `value`. */
  readonly prefixes: readonly (Place & { value: string | undefined })[];
  readonly versioning: Place | undefined;
  readonly validationPipe: Place | undefined;
  readonly guard: Place | undefined;
  readonly shutdownHooks: Place | undefined;
  readonly bodyParserOff: Place | undefined;
  /** What reads a file `.env`. */
  readonly envReader: Place | undefined;
  readonly ourModule: Place | undefined;
  readonly ourHandler: Place | undefined;
}

const TYPEORM_TYPES =
  'postgres|cockroachdb|aurora-postgres|mariadb|mysql|aurora-mysql|sqlite|better-sqlite3|sqljs|mssql|oracle|mongodb|sap|spanner|expo';

export function sourceFacts(files: readonly SourceFile[]): SourceFacts {
  const all = (pattern: RegExp): Place[] => matches(files, pattern).map(({ file, code }) => ({ file, code }));
  const first = (pattern: RegExp): Place | undefined => all(pattern)[0];
  const mains = files.filter(({ text }) => /\bNestFactory\.create\b/.test(text));
  const appModule = mains[0] && moduleOf(mains[0], files);
  const own = [appModule, mains[0]?.file].flatMap((name) => files.find(({ file }) => file === name) ?? []);
  // Elsewhere such a text may mean anything.
  const ofTypeOrm = files.filter(({ text }) => /typeorm|\bDataSource/i.test(text));
  const relative = matches(own, /\bfrom\s*['"]\.{1,2}\/[^'"]*['"]/g);

  return {
    mains: mains.map(({ file }) => file),
    appModule,
    importsWithEnding: relative.length > 0 ? relative.some(({ code }) => /\.m?js['"]$/.test(code)) : undefined,
    fastify: first(/\bnew FastifyAdapter\b/g),
    dataSources: all(/\bTypeOrmModule\.forRoot(?:Async)?\b/g),
    dataSourceFile: first(/\bexport\b[^;]*\bnew DataSource\(/g)?.file,
    databases: matches(ofTypeOrm, new RegExp(`\\btype:\\s*['"\`](${TYPEORM_TYPES})['"\`]`, 'g')).map(
      ({ file, code, groups: [type = ''] }) => ({ file, code, type }),
    ),
    prefixes: matches(files, /\bsetGlobalPrefix\(\s*(?:(['"`])([^'"`$]*)\1(?=\s*[,)])|[^)]*)[^)]*\)/g).map(
      ({ file, code, groups: [, value] }) => ({ file, code, value }),
    ),
    versioning: first(/\benableVersioning\b/g),
    validationPipe: matches(files, /\b(?:useGlobalPipes\(|APP_PIPE\b)[\s\S]{0,200}?ValidationPipe\b/g)[0],
    guard: first(/\b(?:useGlobalGuards\([^)]*\)|provide:\s*APP_GUARD\b)/g),
    shutdownHooks: first(/\benableShutdownHooks\(/g),
    bodyParserOff: first(/\bbodyParser:\s*false\b/g),
    envReader: first(/\bConfigModule\.forRoot\(|\bdotenv\/config\b|\bdotenv\.config\(|\bprocess\.loadEnvFile\(/g),
    ourModule: first(/\bPaymentAcceptanceModule\.forRoot(?:Async)?\b/g),
    ourHandler: first(/@OnPayment(?:Succeeded|Event)\b/g),
  };
}

/**
 * The global prefix as it stands before a path: empty, or `/api`. `undefined` if it cannot be told, because it is not written as
 * text, or there are several.
 */
export function plainPrefix(prefixes: SourceFacts['prefixes']): string | undefined {
  const values = new Set(prefixes.map(({ value }) => value?.replace(/^\/+|\/+$/g, '')));
  const [only = ''] = values;
  if (values.size > 1 || values.has(undefined)) return undefined;
  return only === '' ? '' : `/${only}`;
}

/** The file of the module that `NestFactory.create` is given. */
function moduleOf(main: SourceFile, files: readonly SourceFile[]): string | undefined {
  const name = /\bNestFactory\.create\w*\s*(?:<[^>(]*>)?\s*\(\s*(\w+)/.exec(main.text)?.[1];
  if (name === undefined) return undefined;
  const from = new RegExp(`import\\s*\\{[^}]*\\b${name}\\b[^}]*\\}\\s*from\\s*['"](\\.[^'"]+)['"]`).exec(
    main.text,
  )?.[1];
  const target = from && path.posix.join(path.posix.dirname(main.file), from).replace(/\.[cm]?[jt]s$/, '');
  const declares = new RegExp(`\\bclass ${name}\\b`);
  const candidates = files.filter(({ text }) => declares.test(text)).map(({ file }) => file);
  return candidates.find((file) => file.replace(/\.[cm]?[jt]s$/, '') === target) ?? candidates[0];
}
