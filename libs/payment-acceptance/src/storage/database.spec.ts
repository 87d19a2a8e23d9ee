import { describe, expect, test } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import { Database, instant } from './database.js';
import { migratePaymentAcceptance } from './migrate.js';
import { UnsupportedDataSourceError } from './storage.errors.js';

const ofType = (type: string) => ({ options: { type } }) as DataSource;

describe('a data source', () => {
  test.each(['better-sqlite3', 'sqljs', 'expo', 'capacitor', 'cordova', 'react-native', 'nativescript'])(
    'of type %s is refused with the reason',
    async (type) => {
      expect(() => new Database(ofType(type), new PaymentClock())).toThrow(UnsupportedDataSourceError);
      await expect(migratePaymentAcceptance(ofType(type))).rejects.toThrow(
        /share one connection.*name its data source with the option "dataSource"/,
      );
    },
  );

  test.each(['mysql', 'mongodb', 'aurora-postgres', 'cockroachdb'])('of type %s is refused', (type) => {
    expect(() => new Database(ofType(type), new PaymentClock())).toThrow(`cannot use a data source of type "${type}"`);
  });

  test('of type postgres is taken', () => {
    expect(() => new Database(ofType('postgres'), new PaymentClock())).not.toThrow();
  });
});

test('an instant is read from text, so that no type parser of the host has a say', () => {
  expect(instant('1795262400123')).toEqual(new Date('2026-11-21T12:00:00.123Z'));
  expect(instant(null)).toBeNull();
});
