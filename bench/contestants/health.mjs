// The module in a host that is asked for its health. `databaseUrl` names PostgreSQL or MariaDB.
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { options } from '../lib/contestant.mjs';
import { serve } from '../lib/nest.mjs';
import { eitherDatabase } from '../lib/orders.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';

/** Older readings are not shared any more. */
const PAUSE_MS = 1_100;

await serve(
  'express',
  '/',
  {
    imports: [
      eitherDatabase(options.databaseUrl),
      PaymentAcceptanceModule.forRoot({
        shops: { main: { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: 'https://service.example' } },
        migrations: 'run',
        autoStart: false,
      }),
    ],
  },
  undefined,
  (app) => ({
    async read() {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const began = performance.now();
      const { payments } = await app.get(PaymentHealthIndicator).isHealthy('payments', { timeoutMs: 60_000 });
      return { ms: performance.now() - began, health: payments };
    },
  }),
);
