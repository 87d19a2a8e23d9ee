// The module as it is installed, in a host that only receives callbacks.
import { TypeOrmModule } from '@nestjs/typeorm';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { options } from '../lib/contestant.mjs';
import { serve } from '../lib/nest.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';

await serve(options.adapter, '/postback/payment', {
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: options.databaseUrl }),
    PaymentAcceptanceModule.forRoot({
      role: 'callbacks',
      shops: { main: { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: 'https://service.example' } },
      migrations: 'run',
      ...options.module,
    }),
  ],
});
