import type { DataSource } from 'typeorm';

/** Token of the {@link Host}. */
export const HOST = Symbol.for('nestjs-payment-acceptance/host');

/** What the application has. */
export interface Host {
  /** Its TypeORM data source, if there is one of the name that the options give. */
  readonly dataSource: DataSource | undefined;
}
