const src = 'libs/payment-acceptance/src';
const retention = 'test/failures/retention.spec.ts';
const inbox = `${src}/brokers/inbox/process-once.spec.ts`;

/** What is kept and removed: old records, the inbox of a consumer, tables, prepared statements. */
export const mutants = [
  {
    name: 'pending-callbacks-removed',
    breaks: 'A callback that waits for its check is kept, whatever its age.',
    file: `${src}/retention/storage/retention.store.ts`,
    find: 't.pending = FALSE AND ${HAS_NO_OPEN_REVIEW}',
    replace: '${HAS_NO_OPEN_REVIEW}',
    tests: [retention],
    pattern: 'pending callbacks stay',
  },
  {
    name: 'evidence-removed',
    breaks: 'What a person has yet to decide about keeps its evidence.',
    file: `${src}/retention/storage/retention.store.ts`,
    find: "r.intent_id = t.intent_id AND r.state = 'OPEN')",
    replace: "r.intent_id = t.intent_id AND r.state = 'ACCEPTED')",
    tests: [retention],
    pattern: 'with an open review stay',
  },
  {
    name: 'removal-by-all-at-once',
    breaks: 'One instance at a time removes old records.',
    file: `${src}/database/postgres/dialect.ts`,
    find: 'pg_try_advisory_xact_lock(7320114906)',
    replace: 'TRUE',
    tests: [retention],
    pattern: 'by one instance at a time',
  },
  {
    name: 'mark-outside-the-transaction',
    breaks: 'processOnce remembers an event in the transaction of its work.',
    file: `${src}/brokers/inbox/process-once-in-layer.ts`,
    find: "await transactions.query(tx, insertRecord(places), values, 'count');",
    replace: "await runIn(transactions, (other) => transactions.query(other, insertRecord(places), values, 'count'));",
    tests: [inbox],
    pattern: 'work that fails leaves nothing behind',
  },
  {
    name: 'work-before-the-mark',
    breaks: 'Of copies that come at the same moment one does the work.',
    file: `${src}/brokers/inbox/process-once-in-layer.ts`,
    find: "await transactions.query(tx, insertRecord(places), values, 'count');",
    replace: "await work(tx);\n      await transactions.query(tx, insertRecord(places), values, 'count');",
    tests: [inbox],
    pattern: 'concurrent copies',
  },
  {
    name: 'migrations-at-once',
    breaks: 'Instances that start together migrate in turn.',
    file: `${src}/database/postgres/migrate.ts`,
    find: 'SELECT pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)',
    replace: 'SELECT ${ADVISORY_LOCK}::bigint',
    tests: ['test/invariants/14-production.spec.ts'],
    pattern: 'never changes the schema',
  },
  {
    name: 'lost-plan-fails',
    breaks: 'A statement whose plan the connection has lost is sent again without one.',
    file: `${src}/database/postgres/prepared-statements.ts`,
    find: 'if (!LOST_STATEMENT_CODES.has(errorCode(error))) throw error;',
    replace: 'if (LOST_STATEMENT_CODES.size > 0) throw error;',
    tests: ['test/failures/prepared-statements.spec.ts'],
    pattern: 'payments go on',
  },
  {
    name: 'lost-plan-ends-a-transaction',
    breaks: 'A transaction that finds its plan lost is done again.',
    file: `${src}/database/postgres/postgres.database.ts`,
    find: 'return error instanceof PreparedStatementsUnavailableError;',
    replace: 'return false && error instanceof PreparedStatementsUnavailableError;',
    tests: ['test/failures/prepared-statements.spec.ts'],
    pattern: 'is repeated once',
  },
];
