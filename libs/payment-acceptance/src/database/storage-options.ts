/** Schema of our tables by default; every statement in the source names it. */
export const DEFAULT_SCHEMA = 'payment_acceptance';

/** Rule for the schema's name, or on MariaDB the tables' prefix: it is written into statements unescaped. */
export const SCHEMA_NAME_RULE =
  'must be 1 to 40 lower-case letters, digits and "_", starting with a letter, such as "payment_acceptance", and not one of the ' +
  "database's own names (pg_…, information_schema).";

export function isSchemaName(name: unknown): name is string {
  return typeof name === 'string' && /^(?!pg_|information_schema$)[a-z][a-z0-9_]{0,39}$/.test(name);
}

/** Where the module's tables are, and how many connections of its own it opens. */
export interface PaymentStorageOptions {
  /** Address of the database: `postgres://…`, `mariadb://…` or `mysql://…`. */
  url?: string;
  /** A pool of yours, of `pg` or `mysql2`. */
  pool?: object;
  /**
   * Maximum connections that the module opens, for `url` or beside a TypeORM data source: when needed, until idle for
   * ten seconds. `wakeUps: 'listen'` adds one. Default 4.
   */
  connections?: number;
}

/** Whether the options name a database themselves: then a TypeORM data source is left alone. */
export function namesDatabase({ url, pool }: PaymentStorageOptions): boolean {
  return url !== undefined || pool !== undefined;
}
