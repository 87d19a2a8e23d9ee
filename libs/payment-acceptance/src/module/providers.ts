import type { Provider } from '@nestjs/common';
import { BILLS } from '../bills/providers.js';
import { CALLBACKS } from '../callbacks/providers.js';
import { CLIENT } from '../client/providers.js';
import { COMMON } from '../common/providers.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { DATABASE } from '../database/providers.js';
import { EVENTS } from '../events/providers.js';
import { HEALTH } from '../health/providers.js';
import { RETENTION } from '../retention/providers.js';
import { SETTLEMENT } from '../settlement/providers.js';
import { TELEMETRY } from '../telemetry/providers.js';
import { CallbackRequests } from './callback-requests.js';
import { PaymentAcceptanceRuntime } from './payment-acceptance.runtime.js';
import { PaymentAcceptanceService } from './payment-acceptance.service.js';
import { PaymentShops } from './payment-shops.js';
import { PaymentWorkers } from './payment-workers.js';
import { ShopIdentities } from './shop-identities.js';

/** The core: all that runs by itself, room by room from the ground. */
export const CORE: readonly Provider[] = [
  ...COMMON,
  ...TELEMETRY,
  ...DATABASE,
  ShopRegistry,
  ...CLIENT,
  ...EVENTS,
  ...CALLBACKS,
  ...BILLS,
  ...SETTLEMENT,
  ...HEALTH,
  ...RETENTION,
  PaymentAcceptanceService,
  PaymentShops,
  PaymentWorkers,
  ShopIdentities,
  CallbackRequests,
  PaymentAcceptanceRuntime,
];
