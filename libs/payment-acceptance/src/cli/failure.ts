import { lacksPrivilege } from '../database/query-errors.js';
import { QueryFailedError } from '../database/query-failed.error.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { describeError, PaymentAcceptanceError } from '../common/errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { TimeoutError } from '../common/timeout.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from '../config/shop.errors.js';
import { PaymentActionInterruptedError, PaymentOperatorActionError } from '../operations/operator.errors.js';
import { PaymentJudgeError } from '../settlement/judge.error.js';
import {
  PaymentPoolExhaustedError,
  PaymentReadOnlyDatabaseError,
  PaymentSchemaBehindError,
  PaymentStatementTimeoutError,
  PaymentUnsupportedDataSourceError,
} from '../database/database.errors.js';
import { UsageError } from './arguments.js';
import type { CommandLine } from './environment-file.js';

/** How a command failed, as text and `--json` both report it. */
export interface Failure {
  /** Stable name: the code of the module's error, else `database-error`, `timeout` or `unexpected`. */
  readonly code: string;
  readonly message: string;
  /** The command to run next, and what to do before it, if anything. One line. */
  readonly next: string;
  /** 2 if the command line or the configuration is wrong, otherwise 1. */
  readonly exitCode: 1 | 2;
}

const PROGRAM = 'npx payment-acceptance';

export interface Situation {
  readonly args: readonly string[];
  /** `undefined` if the command line is wrong. */
  readonly invocation: CommandLine | undefined;
}

/** There is no server, or the server refuses. */
export class DatabaseUnreachableError extends PaymentAcceptanceError {
  readonly code = 'database-unreachable';

  constructor(reason: unknown) {
    super(`The database cannot be reached: ${describeError(reason)}`);
  }
}

export function failureOf(error: unknown, situation: Situation): Failure {
  const step = NEXT_STEPS.find(({ type }) => error instanceof type);
  return {
    code: error instanceof PaymentAcceptanceError ? error.code : (step?.code ?? 'unexpected'),
    message: error instanceof PaymentAcceptanceError ? error.message : describeError(error),
    next: step ? step.next(error, situation) : command('doctor', situation),
    exitCode: USAGE_ERRORS.some((type) => error instanceof type) ? 2 : 1,
  };
}

type ErrorType<E = unknown> = abstract new (...args: never[]) => E;

const USAGE_ERRORS: readonly ErrorType[] = [
  UsageError,
  PaymentConfigurationError,
  PaymentUnknownShopError,
  PaymentSchemaBehindError,
  PaymentUnsupportedDataSourceError,
];

interface NextStep {
  readonly type: ErrorType;
  readonly next: (error: unknown, situation: Situation) => string;
  readonly code?: string;
}

function step<E>(type: ErrorType<E>, next: (error: E, situation: Situation) => string, code?: string): NextStep {
  return { type, next: next as NextStep['next'], ...(code !== undefined && { code }) };
}

/** The first step that fits the error applies. */
const NEXT_STEPS: readonly NextStep[] = [
  step(UsageError, ({ next }) => next ?? `${PROGRAM} --help`),
  step(
    PaymentConfigurationError,
    (_error, situation) => `Correct it in ${sourceOf(situation)}, then: ${repeatedCommand(situation)}`,
  ),
  step(
    PaymentUnknownShopError,
    (_error, situation) =>
      `Specify another shop, or add this one in ${sourceOf(situation)}, then: ${repeatedCommand(situation)}`,
  ),
  step(
    PaymentInvalidShopError,
    ({ shop }, situation) => `Correct the shop's settings, then: ${command('doctor', situation, ['--shop', shop])}`,
  ),
  step(PaymentShopResolverError, (_error, situation) => repeatedCommand(situation)),
  step(PaymentSchemaBehindError, (_error, situation) => command('migrate', situation)),
  step(
    PaymentUnsupportedDataSourceError,
    (_error, situation) =>
      `Specify the application's PostgreSQL or MariaDB with DATABASE_URL or --data-source FILE: ${repeatedCommand(situation)}`,
  ),
  step(
    DatabaseUnreachableError,
    (_error, situation) =>
      `Start the database, or correct ${addressOf(situation)}, then: ${repeatedCommand(situation)}`,
  ),
  step(PaymentOperatorActionError, nextOfAction),
  step(PaymentActionInterruptedError, (_error, situation) => repeatedCommand(situation)),
  step(PaymentServiceError, (_error, situation) => command('doctor', situation, shopOf(situation))),
  step(PaymentJudgeError, (_error, situation) => `Correct the option "judge", then: ${repeatedCommand(situation)}`),
  step(
    PaymentReadOnlyDatabaseError,
    (_error, situation) => `Correct ${addressOf(situation)}, then: ${repeatedCommand(situation)}`,
  ),
  step(PaymentStatementTimeoutError, (_error, situation) => command('status', situation)),
  step(PaymentPoolExhaustedError, (_error, situation) => command('status', situation)),
  step(GroupCommitTimeoutError, (_error, situation) => command('status', situation), 'timeout'),
  step(TimeoutError, (_error, situation) => command('status', situation), 'timeout'),
  step(
    QueryFailedError,
    (error, situation) =>
      lacksPrivilege(error)
        ? `Use a user with the privileges in docs/getting-started.md#privileges, or have them granted, then: ${repeatedCommand(situation)}`
        : repeatedCommand(situation),
    'database-error',
  ),
];

function nextOfAction({ reason }: PaymentOperatorActionError, situation: Situation): string {
  if (reason === 'busy') return repeatedCommand(situation);
  if (reason === 'refused') return `Correct the command line: ${repeatedCommand(situation)}`;
  if (situation.invocation?.command === 'deliver')
    return `Start an instance that has the handler, then: ${repeatedCommand(situation)}`;
  if (situation.invocation?.command === 'retire-consumer' || situation.invocation?.command === 'forget-shop')
    return `Correct the name: ${repeatedCommand(situation)}`;
  const nextCommand = command(situation.invocation?.command ?? 'check', situation, [
    situation.invocation?.operand || 'BILL',
    '--shop',
    'NAME',
  ]);
  return `Correct the id, or specify the bill's shop: ${nextCommand}`;
}

function sourceOf({ invocation }: Situation): string {
  return invocation?.values.config ?? `the environment or ${invocation?.environmentFiles ?? '.env'}`;
}

function addressOf({ invocation }: Situation): string {
  return (
    invocation?.values['data-source'] ?? `DATABASE_URL in the environment or ${invocation?.environmentFiles ?? '.env'}`
  );
}

function shopOf({ invocation }: Situation): string[] {
  return invocation?.values.shop === undefined ? [] : ['--shop', invocation.values.shop];
}

function repeatedCommand({ args }: Situation): string {
  return [PROGRAM, ...args.map(shellQuote)].join(' ');
}

/** Uses the same data source and configuration. */
function command(name: string, { invocation }: Situation, extraArgs: readonly string[] = []): string {
  const values: Partial<CommandLine['values']> = invocation?.values ?? {};
  const files = [
    ...[values['data-source'] ?? []].flat().flatMap((file) => ['--data-source', file]),
    ...[values.config ?? []].flat().flatMap((file) => ['--config', file]),
    ...(values['env-file'] ?? []).flatMap((file) => ['--env-file', file]),
  ];
  return [PROGRAM, name, ...extraArgs, ...files]
    .map((word, index) => (index === 0 ? word : shellQuote(word)))
    .join(' ');
}

function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
