import type { DataSource, QueryRunner } from 'typeorm';

/**
 * Shows our statements in the host's TypeORM logging, if the option `logStatements` asks for it. They are sent past the query
 * runner's `query`, which would always log them.
 */
export class StatementLog {
  constructor(
    private readonly dataSource: DataSource,
    private readonly isOn: boolean,
  ) {}

  /** Sends a statement. With the option on, logs what TypeORM would: the statement, its error, and that it was slow. */
  async around<T>(runner: QueryRunner, text: string, values: readonly unknown[], send: () => Promise<T>): Promise<T> {
    if (!this.isOn) return send();
    const {
      logger,
      options: { maxQueryExecutionTime },
    } = this.dataSource;
    const parameters = [...values];
    logger.logQuery(text, parameters, runner);
    const began = performance.now();
    try {
      return await send();
    } catch (error) {
      logger.logQueryError(error as Error, text, parameters, runner);
      throw error;
    } finally {
      const tookMs = Math.round(performance.now() - began);
      if (maxQueryExecutionTime && tookMs > maxQueryExecutionTime) {
        logger.logQuerySlow(tookMs, text, parameters, runner);
      }
    }
  }
}
