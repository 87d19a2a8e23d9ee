/** Where the sandbox gets the time from. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** `2026-11-21T06:15:00.000Z`: such texts sort in time order. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** `2026-11-21 06:15:00`: `Y-m-d H:i:s` of the specification (2.3); that it is UTC is assumed. */
export function serviceTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** Returns milliseconds; undefined if no item has an instant. */
export function earliest<T>(items: Iterable<T>, instantOf: (item: T) => string | null | undefined): number | undefined {
  let first: string | undefined;
  for (const item of items) {
    const instant = instantOf(item) ?? undefined;
    if (instant !== undefined && (first === undefined || instant < first)) first = instant;
  }
  return first === undefined ? undefined : Date.parse(first);
}
