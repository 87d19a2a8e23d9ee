interface Row {
  readonly [column: string]: unknown;
}

export interface Accounted {
  readonly bills: readonly Row[];
  readonly seen: { readonly orders: Row[]; readonly postbacks: Row[]; readonly redirects: Row[] };
  readonly ledger: Readonly<
    Record<'bills' | 'payments' | 'events' | 'deliveries' | 'reviews' | 'callbacks' | 'orders' | 'effects', Row[]>
  >;
}

export function account(input: Accounted): {
  lost: string[];
  double: string[];
  unstored: string[];
  figures: [string, string | number][];
};
