import type { Secret } from '../common/secret.js';
import type { PaymentAcceptanceOptions } from './options.js';

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

/** Options that stay absent where they were not given; every other one has a default, or a rule that asks for it. */
type Absent = 'shopResolver' | 'defaultShop' | 'publicUrl' | 'judge' | 'resultPage' | 'migrations' | 'forwardUnknown';
type Groups = 'shopLookup' | 'http' | 'schedule' | 'confirmer' | 'deliveries' | 'callbacks' | 'creation' | 'retention';
type Filled<T> = T extends object ? Readonly<Required<Omit<T, Absent>> & Pick<T, Absent & keyof T>> : T;

/** The options as they were given, with the default of each that has one. */
export type FilledOptions = Filled<Omit<PaymentAcceptanceOptions, Groups>> & {
  readonly [G in Groups]: Filled<NonNullable<PaymentAcceptanceOptions[G]>>;
};

/** The module's options, checked, with what follows from them. */
export interface ResolvedOptions extends Omit<FilledOptions, 'shops' | 'defaultShop' | 'migrations'> {
  /** Those of the options, by name. */
  readonly shops: ReadonlyMap<string, Shop>;
  /** Name of the default shop. */
  readonly defaultShop: string;
  /** Maximum tokens that one request is tried with; the leases last that long. */
  readonly tokensPerRequest: number;
  /** Without a slash at the end. */
  readonly publicUrl: string | undefined;
  readonly migrations: 'run' | 'verify';
  /** Whether what is unsafe in production is refused. */
  readonly production: boolean;
  /** What is allowed but unwise, to be logged once at start. */
  readonly warnings: readonly string[];
}

/** Token of the {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-payment-acceptance/resolved-options');
