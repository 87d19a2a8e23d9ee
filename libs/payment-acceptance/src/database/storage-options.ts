/** Where the module's tables are, for applications without a TypeORM data source. */
export interface PaymentStorageOptions {
  /** Address of the database: `postgres://…`, `mariadb://…` or `mysql://…`. The module opens connections of its own. */
  url?: string;
  /** A pool of yours to share: a `pg.Pool`, or one of `mysql2`. */
  pool?: object;
  /** Maximum connections that are opened for `url`; at least 2. Default 4. */
  connections?: number;
}
