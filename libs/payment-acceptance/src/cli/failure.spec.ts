import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { QueryFailedError } from '../database/query-failed.error.js';
import * as service from '../client/service.errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { TimeoutError } from '../common/timeout.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from '../config/shop.errors.js';
import { PaymentActionInterruptedError, PaymentOperatorActionError } from '../operations/operator.errors.js';
import { PaymentJudgeError } from '../settlement/judge.error.js';
import * as storage from '../database/database.errors.js';
import { readArguments, UsageError } from './arguments.js';
import { DatabaseUnreachableError, failureOf } from './failure.js';

const source = path.resolve('libs/payment-acceptance/src');

/** Errors that end no command, or only as a fault of the program: then `doctor` is next. */
const OF_THE_APPLICATION = [
  'PaymentBillError',
  'PaymentReconciliationIncompleteError',
  'PaymentShopError',
  'PaymentServiceError',
  'PaymentInvalidBillRequestError',
  'PaymentCreationInProgressError',
  'PaymentOrderAlreadyPaidError',
  'PaymentOrderCancelledError',
  'PaymentOrderIdReusedError',
  'PaymentBillMismatchError',
  'PaymentUnknownOutcomeError',
  'PaymentBillNotStoredError',
  'PaymentApplicationStoppingError',
  'PaymentBillAddressError',
  'PaymentShopNotReadError',
  'PaymentBrokerError',
  'PaymentHandlerError',
  'PaymentTestingError',
  'UndestroyableConnectionError',
  'NoConnectionError',
  'HandlerTransactionEndedError',
  'HandlerIdleError',
  'PaymentDatabaseError',
  'PaymentTransactionsError',
];

function anError<T extends Error>(type: abstract new (...args: never[]) => T): T {
  return Object.assign(Object.create(type.prototype as object) as T, { message: 'said', shop: 'eu', code: 'its-code' });
}

const RUN = 'npx payment-acceptance';
const LINE = 'check b-1 --shop eu -c a.cjs --env-file my.env';
const AGAIN = `${RUN} ${LINE}`;
const ON = '--config a.cjs --env-file my.env';

const TABLE: readonly [error: Error, code: string, next: string, exitCode: number, line?: string][] = [
  [new UsageError('wrong'), 'usage', `${RUN} --help`, 2],
  [new UsageError('wrong', 'do this'), 'usage', 'do this', 2],
  [new PaymentConfigurationError(['x']), 'invalid-configuration', `Correct it in a.cjs, then: ${AGAIN}`, 2],
  [
    new PaymentConfigurationError(['x']),
    'invalid-configuration',
    `Correct it in the environment or /app/.env, then: ${RUN} status`,
    2,
    'status',
  ],
  [
    new PaymentUnknownShopError('eu', [], false),
    'unknown-shop',
    `Specify another shop, or add this one in a.cjs, then: ${AGAIN}`,
    2,
  ],
  [
    new PaymentInvalidShopError('eu', ['x']),
    'invalid-shop',
    `Correct the shop's settings, then: ${RUN} doctor --shop eu ${ON}`,
    1,
  ],
  [new PaymentShopResolverError('eu', 'x'), 'shop-resolver', AGAIN, 1],
  [new storage.PaymentSchemaBehindError(1, 2), 'schema-behind', `${RUN} migrate ${ON}`, 2],
  [
    new storage.PaymentSchemaBehindError(1, 2),
    'schema-behind',
    `${RUN} migrate --data-source 'my files/it'\\''s.ts'`,
    2,
    "status -d my files/it's.ts",
  ],
  [
    new storage.PaymentUnsupportedDataSourceError('sqljs'),
    'unsupported-data-source',
    `Specify the application's PostgreSQL or MariaDB with DATABASE_URL or --data-source FILE: ${AGAIN}`,
    2,
  ],
  [
    new DatabaseUnreachableError(new Error('refused')),
    'database-unreachable',
    `Start the database, or correct DATABASE_URL in the environment or /app/.env, then: ${AGAIN}`,
    1,
  ],
  [
    new PaymentOperatorActionError('none', 'not-found'),
    'operator-action',
    `Correct the id, or specify the bill's shop: ${RUN} check b-1 --shop NAME ${ON}`,
    1,
  ],
  [
    new PaymentOperatorActionError('none', 'not-found'),
    'operator-action',
    `Start an instance that has the handler, then: ${RUN} deliver --consumer mail`,
    1,
    'deliver --consumer mail',
  ],
  [
    new PaymentOperatorActionError('none', 'not-found'),
    'operator-action',
    `Correct the name: ${RUN} retire-consumer --consumer mail`,
    1,
    'retire-consumer --consumer mail',
  ],
  [new PaymentOperatorActionError('busy', 'busy'), 'operator-action', AGAIN, 1],
  [new PaymentActionInterruptedError(500, new Error('no')), 'action-interrupted', AGAIN, 1],
  [new PaymentOperatorActionError('no'), 'operator-action', `Correct the command line: ${AGAIN}`, 1],
  [anError(PaymentJudgeError), 'its-code', `Correct the option "judge", then: ${AGAIN}`, 1],
  [
    new storage.PaymentReadOnlyDatabaseError(),
    'read-only-database',
    `Correct DATABASE_URL in the environment or /app/.env, then: ${AGAIN}`,
    1,
  ],
  [new storage.PaymentStatementTimeoutError(1), 'statement-timeout', `${RUN} status ${ON}`, 1],
  [anError(storage.PaymentPoolExhaustedError), 'its-code', `${RUN} status ${ON}`, 1],
  [anError(GroupCommitTimeoutError), 'timeout', `${RUN} status ${ON}`, 1],
  [new TimeoutError('late'), 'timeout', `${RUN} status ${ON}`, 1],
  [new QueryFailedError('SELECT 1', new Error('no')), 'database-error', AGAIN, 1],
  [
    new QueryFailedError('CREATE', Object.assign(new Error('no'), { code: '42501' })),
    'database-error',
    `Use a user with the privileges in docs/getting-started.md#privileges, or have them granted, then: ${AGAIN}`,
    1,
  ],
  [new TypeError('a fault'), 'unexpected', `${RUN} doctor ${ON}`, 1],
  ...Object.values(service)
    .filter((type) => type !== service.PaymentServiceError)
    .map((type): [Error, string, string, number] => [anError(type), 'its-code', `${RUN} doctor --shop eu ${ON}`, 1]),
];

describe('a failure of a command', () => {
  test.each(TABLE)(
    'the failure %s has the code %s and says what to do next: %s',
    (error, code, next, exitCode, line = LINE) => {
      const args = line.includes('my files') ? ['status', '-d', "my files/it's.ts"] : line.split(' ');
      const given = { ...readArguments(args)!, environmentFiles: '/app/.env' };
      const failure = failureOf(error, { args, invocation: given });
      expect(failure).toMatchObject({ code, next, exitCode });
      expect(failure.message).not.toBe('');
    },
  );

  test('the failure of a command line that cannot be read points to the help', () => {
    expect(failureOf(new UsageError('wrong'), { args: ['-x'], invocation: undefined }).next).toBe(`${RUN} --help`);
  });

  test('every error class that can end a command is in the table of failures', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /^(?!.*spec).*\.ts$/.test(file),
    );
    const text = files.map((file) => readFileSync(path.join(source, file), 'utf8')).join('\n');
    const ours = Array.from(text.matchAll(/class (\w+) extends Payment\w*Error\b/g), ([, name]) => name!);
    const known = TABLE.map(([error]) => error.constructor.name);
    expect(ours.length).toBeGreaterThan(30);
    expect(ours.filter((name) => !known.includes(name) && !OF_THE_APPLICATION.includes(name))).toEqual([]);
  });
});
