export interface Counts {
  readonly orders: Readonly<Record<string, number>>;
  readonly payments: number;
  readonly events: number;
  readonly migrations: number;
}

export function between(before: Counts, after: Counts): Counts;

export function problemsOf(row: Counts & { readonly name: string; readonly releases: readonly string[] }): string[];
