import type { Secret } from '../common/secret.js';
import type { Judge } from '../domain/payment.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import type { PaymentResultRenderer } from './hooks.js';
import type {
  CallbackOptions,
  ConfirmerOptions,
  CreationOptions,
  DeliveryOptions,
  RetentionOptions,
} from './options.js';
import type { PaymentShopResolver, ServiceHttpOptions, ShopLookupOptions } from './service-options.js';

/** What of a shop's settings is no secret, with every default filled in. */
export interface PaymentShopSettings {
  readonly name: string;
  readonly shopId: string;
  /** Without a trailing slash. */
  readonly apiBaseUrl: string;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly timeZone: string;
  readonly requestsPerSecond: number;
}

/** A shop, checked, and its tokens wrapped. */
export interface Shop extends PaymentShopSettings {
  readonly token: Secret;
  readonly previousTokens: readonly Secret[];
}

/** The module's options, checked, with every default filled in. */
export interface ResolvedOptions {
  /** Those of the options, by name. */
  readonly shops: ReadonlyMap<string, Shop>;
  readonly shopResolver: PaymentShopResolver | undefined;
  readonly statementTimeoutMs: number;
  readonly shopLookup: Readonly<Required<ShopLookupOptions>>;
  /** Most tokens that one request is tried with; the leases last that long. */
  readonly tokensPerRequest: number;
  /** Name of the default shop. */
  readonly defaultShop: string;
  readonly http: Readonly<Required<ServiceHttpOptions>>;
  /** Without a slash at the end. */
  readonly publicUrl: string | undefined;
  readonly schedule: Readonly<Required<CheckScheduleOptions>>;
  readonly confirmer: Readonly<Required<ConfirmerOptions>>;
  readonly deliveries: Readonly<Required<DeliveryOptions>>;
  readonly callbacks: Readonly<
    Required<Omit<CallbackOptions, 'forwardUnknown'>> & Pick<CallbackOptions, 'forwardUnknown'>
  >;
  readonly creation: Readonly<Required<CreationOptions>>;
  readonly retention: Readonly<Required<RetentionOptions>> | false;
  readonly judge: Judge | undefined;
  readonly resultPage: PaymentResultRenderer | undefined;
  readonly migrations: 'run' | 'verify';
  readonly schema: string;
  readonly wakeUps: 'listen' | 'poll';
  readonly autoStart: boolean;
  /** Whether what is unsafe in production is refused. */
  readonly production: boolean;
  /** What is allowed but unwise, to be logged once at start. */
  readonly warnings: readonly string[];
}

/** Token of the {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-payment-acceptance/resolved-options');
