import type { DataSource } from 'typeorm';

export type DatabaseKind = 'postgres' | 'mariadb';

/** By the scheme: `mariadb://…` (or `mysql://…`) is MariaDB, everything else PostgreSQL. */
export function kindOfUrl(url: string): DatabaseKind {
  return /^(mariadb|mysql):/.test(url) ? 'mariadb' : 'postgres';
}

export function kindOf({ options }: DataSource): DatabaseKind {
  return options.type === 'mariadb' ? 'mariadb' : 'postgres';
}
