import { memoize } from '../common/memoize.js';

const OFFSET_PATTERN = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/;

/** Whether the text is an offset (`+03:00`) or a time zone that this runtime knows (`Europe/Berlin`). */
export function isTimeZone(timeZone: unknown): timeZone is string {
  if (typeof timeZone !== 'string') return false;
  if (OFFSET_PATTERN.test(timeZone)) return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const ZONED_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/i;

/** The instant of an ISO 8601 time with a time zone, such as `2026-11-21T12:00:00Z`; `undefined` for any other text. */
export function zonedInstant(text: string): Date | undefined {
  const day = ZONED_TIME.exec(text)?.[1];
  return day === undefined || !isDay(day) || Number.isNaN(Date.parse(text)) ? undefined : new Date(text);
}

/**
 * The instant of the service's `created_at`; `undefined` if it is none.
 * @param text `Y-m-d H:i:s` (section 2.3, documented) on the wall clock of `timeZone`, or ISO 8601 with a zone of its own
 */
export function serviceInstant(text: string, timeZone: string): Date | undefined {
  const [, day, time, zone] =
    /^(\d{4}-\d{2}-\d{2})[T ]((?:[01]\d|2[0-3]):\d{2}:\d{2})(?:\.\d+)? ?(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? [];
  const wall = zonedInstant(`${day}T${time}Z`);
  return wall && (zone === undefined ? instantOfWall(timeZone, wall.getTime()) : zonedInstant(`${day}T${time}${zone}`));
}

/** Whether the text is a date such as `2026-11-21`. */
export function isDay(text: string): boolean {
  const midnight = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // `Date.parse` reads 2026-02-30 as 2 March.
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(text);
}

/** The instant at which the zone's clocks show the time that UTC clocks show at `wall` (epoch milliseconds). */
export function instantOfWall(timeZone: string, wall: number): Date {
  // The offset depends on the instant we are computing; a second pass corrects the hours around a clock change.
  const guess = wall - zoneOffsetMs(timeZone, new Date(wall));
  return new Date(wall - zoneOffsetMs(timeZone, new Date(guess)));
}

/** How far the zone's wall clock is ahead of UTC at that instant, in milliseconds. */
export function zoneOffsetMs(timeZone: string, instant: Date): number {
  const fixed = OFFSET_PATTERN.exec(timeZone);
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  const day = Math.floor(instant.getTime() / DAY_MS);
  const offset = offsetAtStart(timeZone, day);
  // The clocks change on few days.
  return offset === offsetAtStart(timeZone, day + 1) ? offset : offsetAt(timeZone, instant.getTime());
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 1_000;

/** The payments of a list fall on few days; asking the runtime for each would take longer than reading the list. */
const days = new Map<string, number>();

function offsetAtStart(timeZone: string, day: number): number {
  const key = `${timeZone} ${day}`;
  const cached = days.get(key);
  if (cached !== undefined) return cached;
  if (days.size >= MAX_DAYS) days.clear();
  const offset = offsetAt(timeZone, day * DAY_MS);
  days.set(key, offset);
  return offset;
}

function offsetAt(timeZone: string, epochMs: number): number {
  const parts = formatOf(timeZone).formatToParts(epochMs);
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((p) => p.type === type)?.value);
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return wall - Math.floor(epochMs / 1000) * 1000;
}

/** Creating a format is expensive. Only shops' settings name zones, so the cache stays small. */
const formatOf = memoize(
  (timeZone) =>
    new Intl.DateTimeFormat('en', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
);
