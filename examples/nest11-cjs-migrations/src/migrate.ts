import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
import { createDataSource } from './database';

/** The application's own migrations, then the module's, which are apart. A deployment runs this before the new release. */
async function migrate(): Promise<void> {
  const dataSource = await createDataSource().initialize();
  await dataSource.runMigrations();
  await migratePaymentAcceptance(dataSource);
  await dataSource.destroy();
}

void migrate();
