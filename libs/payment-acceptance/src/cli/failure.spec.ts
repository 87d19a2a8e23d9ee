import { describe, expect, test } from '@jest/globals';
import { QueryFailedError } from '../database/query-failed.error.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { TimeoutError } from '../common/timeout.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentInvalidShopError } from '../config/shop.errors.js';
import { PaymentOperatorActionError } from '../operations/operator.errors.js';
import { PaymentSchemaBehindError, PaymentUnsupportedDataSourceError } from '../database/database.errors.js';
import { UsageError } from './arguments.js';
import { DatabaseUnreachableError, failureOf } from './failure.js';

const groupTimeout = Object.create(GroupCommitTimeoutError.prototype) as GroupCommitTimeoutError;

const TABLE: readonly [code: string, exitCode: number, error: Error][] = [
  ['usage', 2, new UsageError('wrong')],
  ['invalid-configuration', 2, new PaymentConfigurationError(['x'])],
  ['unknown-shop', 2, new PaymentUnknownShopError('eu', [], false)],
  ['schema-behind', 2, new PaymentSchemaBehindError(1, 2)],
  ['unsupported-data-source', 2, new PaymentUnsupportedDataSourceError('sqljs')],
  ['invalid-shop', 1, new PaymentInvalidShopError('eu', ['x'])],
  ['database-unreachable', 1, new DatabaseUnreachableError(new Error('refused'))],
  ['operator-action', 1, new PaymentOperatorActionError('none', 'not-found')],
  ['timeout', 1, groupTimeout],
  ['timeout', 1, new TimeoutError('late')],
  ['database-error', 1, new QueryFailedError('SELECT 1', new Error('no'))],
  ['unexpected', 1, new TypeError('a fault')],
];

describe('a failure of a command', () => {
  test.each(TABLE)('has the code %s and the exit code %i: %s', (code, exitCode, error) => {
    const failure = failureOf(error);
    expect(failure).toMatchObject({ code, exitCode });
    expect(failure.message).not.toBe('');
  });
});
