import { SandboxError } from './errors.js';

/** Where the sandbox gets the time from. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

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

/** A length of time as text: a whole number and a unit, such as `"500ms"`, `"10s"`, `"5m"`, `"2h"`, `"3d"`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DURATION_MS = 3_650 * 86_400_000;

/** @throws SandboxError for anything but a {@link Duration} of at most ten years */
export function durationMs(value: unknown, name: string): number {
  const match = typeof value === 'string' ? /^(\d{1,12})(ms|s|m|h|d)$/.exec(value) : null;
  const ms = match ? Number(match[1]) * (UNITS[match[2] ?? ''] ?? NaN) : NaN;
  if (!(ms <= MAX_DURATION_MS)) {
    const rule = 'a duration such as "500ms", "10s", "5m", "2h" or "3d", at most "3650d"';
    throw new SandboxError(400, `${name} must be ${rule}`);
  }
  return ms;
}
