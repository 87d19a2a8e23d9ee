import { expect, test } from '@jest/globals';
import { instantOfWall, isTimeZone, serviceInstant, zonedInstant, zoneOffsetMs } from './time-zone.js';

const HOUR = 3_600_000;

test.each(['UTC', 'Europe/Berlin', 'Europe/Moscow', 'Asia/Kathmandu', '+00:00', '+03:00', '-09:30', '+14:00'])(
  '%s is a time zone',
  (zone) => {
    expect(isTimeZone(zone)).toBe(true);
  },
);

test.each(['', 'Mars/Olympus', '+3', '+24:00', '+99:99', '+03:60', '03:00', 'UTC+3'])(
  '%j is not a time zone',
  (zone) => {
    expect(isTimeZone(zone)).toBe(false);
  },
);

test.each([
  ['UTC', '2026-07-01T00:00:00Z', 0],
  ['+03:00', '2026-07-01T00:00:00Z', 3 * HOUR],
  ['-09:30', '2026-07-01T00:00:00Z', -9.5 * HOUR],
  ['Europe/Moscow', '2026-07-01T00:00:00Z', 3 * HOUR],
  ['Europe/Berlin', '2026-07-01T00:00:00Z', 2 * HOUR],
  ['Europe/Berlin', '2026-01-01T00:00:00Z', HOUR],
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', HOUR],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', 2 * HOUR],
  ['Asia/Kathmandu', '2026-01-01T00:00:00.500Z', 5.75 * HOUR],
  ['Antarctica/Casey', '2020-10-03T16:00:59.999Z', 8 * HOUR],
  ['Antarctica/Casey', '2020-10-03T16:01:00Z', 11 * HOUR],
  ['Australia/Lord_Howe', '2026-04-04T14:59:59.999Z', 11 * HOUR],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 10.5 * HOUR],
])('%s is ahead of UTC at %s by %d ms', (zone, at, ahead) => {
  expect(zoneOffsetMs(zone, new Date(at))).toBe(ahead);
});

test.each([
  ['+14:00', '2026-11-21T00:00:00Z', '2026-11-20T10:00:00.000Z'],
  ['Europe/Berlin', '2026-11-21T00:00:00Z', '2026-11-20T23:00:00.000Z'],
  ['Europe/Berlin', '2026-03-29T03:00:00Z', '2026-03-29T01:00:00.000Z'],
  ['Europe/Berlin', '2026-03-29T01:59:59Z', '2026-03-29T00:59:59.000Z'],
])('the wall clocks of %s show %s at %s', (zone, wall, at) => {
  expect(instantOfWall(zone, Date.parse(wall)).toISOString()).toBe(at);
});

test.each([
  ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
  ['2026-02-28T23:30:00.5+01:00', '2026-02-28T22:30:00.500Z'],
  ['2026-02-30T00:00:00Z', undefined],
  ['2026-13-01T00:00:00Z', undefined],
  ['2026-11-21T12:00:00', undefined],
  ['2026-11-21', undefined],
  ['tomorrow', undefined],
])('zonedInstant reads %s as the instant %s', (text, instant) => {
  expect(zonedInstant(text)?.toISOString()).toBe(instant);
});

test.each([
  ['2026-11-21 12:00:00', '2026-11-21T09:00:00.000Z'],
  ['2026-11-21T12:00:00.5Z', '2026-11-21T12:00:00.000Z'],
  ['2026-11-21 12:00:00 +01:00', '2026-11-21T11:00:00.000Z'],
])('created_at %j is the instant %s', (text, instant) => {
  expect(serviceInstant(text, '+03:00')?.toISOString()).toBe(instant);
});

test.each(['2026-11-31 12:00:00', '2026-11-21 24:00:00', '2026-11-21 12:00:00+30:00', '2026-11-21', ''])(
  'created_at %j is no instant',
  (text) => {
    expect(serviceInstant(text, '+03:00')).toBeUndefined();
  },
);
