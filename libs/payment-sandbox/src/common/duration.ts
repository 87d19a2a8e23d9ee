import { SandboxError } from './errors.js';

/** A length of time as text: a whole number and a unit, such as `"500ms"`, `"10s"`, `"5m"`, `"2h"`, `"3d"`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DURATION_MS = 3_650 * 86_400_000;

/** @throws SandboxError for anything but a {@link Duration} of at most ten years */
export function durationMs(value: unknown, name: string): number {
  const match = typeof value === 'string' ? /^(\d{1,12})(ms|s|m|h|d)$/.exec(value) : null;
  const ms = match ? Number(match[1]) * (UNITS[match[2] ?? ''] ?? NaN) : NaN;
  if (!(ms <= MAX_DURATION_MS)) {
    throw new SandboxError(
      400,
      `${name} must be a duration such as "500ms", "10s", "5m", "2h" or "3d", at most "3650d"`,
    );
  }
  return ms;
}
