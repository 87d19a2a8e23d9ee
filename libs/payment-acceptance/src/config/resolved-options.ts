import type { Secret } from '../common/secret.js';
import type { Constants } from './constants.js';
import type { PaymentAcceptanceOptions } from './options.js';

/** A shop's settings without its secrets, with every default filled in. */
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

/** A validated shop, with its tokens wrapped as secrets. */
export interface Shop extends PaymentShopSettings {
  readonly token: Secret;
  readonly previousTokens: readonly Secret[];
}

/** Options that may stay undefined; every other one has a default or is required by its rule. */
type OptionalKey =
  | 'shopResolver'
  | 'defaultShop'
  | 'publicUrl'
  | 'judge'
  | 'transactions'
  | 'url'
  | 'pool'
  | 'resultPage'
  | 'migrations';
type Groups = 'storage' | 'http' | 'schedule' | 'checks' | 'deliveries' | 'callbacks' | 'retention';
type WithDefaults<T> = T extends object ? Readonly<Required<Omit<T, OptionalKey>> & Pick<T, OptionalKey & keyof T>> : T;

export type FilledOptions = WithDefaults<Omit<PaymentAcceptanceOptions, Groups>> & {
  readonly [G in Groups]: WithDefaults<NonNullable<PaymentAcceptanceOptions[G]>>;
};

export interface ResolvedOptions extends Omit<FilledOptions, 'shops' | 'defaultShop' | 'migrations' | keyof Constants> {
  /** By name; without those of the shop resolver. */
  readonly shops: ReadonlyMap<string, Shop>;
  readonly defaultShop: string;
  readonly shopLookup: Constants['shopLookup'];
  readonly http: FilledOptions['http'] & Constants['http'];
  readonly schedule: FilledOptions['schedule'] & Constants['schedule'];
  readonly deliveries: FilledOptions['deliveries'] & Constants['deliveries'];
  readonly callbacks: FilledOptions['callbacks'] & Constants['callbacks'];
  readonly creation: Constants['creation'];
  readonly retention: false | (Exclude<FilledOptions['retention'], false> & Constants['retention']);
  /** How long claims last, in milliseconds: twice as long as the requests under them may take. */
  readonly leases: { readonly checkMs: number; readonly creationMs: number };
  readonly tokensPerRequest: number;
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly migrations: 'run' | 'verify';
  /** Whether to refuse settings that are unsafe in production. */
  readonly production: boolean;
  /** Allowed but unwise settings, logged once at start. */
  readonly warnings: readonly string[];
}

export const RESOLVED_OPTIONS = Symbol.for('nestjs-payment-acceptance/resolved-options');
