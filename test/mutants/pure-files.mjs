const source = 'libs/payment-acceptance/src';

/** The code that decides without a database, a network or a clock: each file has its unit tests beside it. */
export const PURE_FILES = [
  'domain/judge',
  'domain/decide',
  'domain/decision-builder',
  'domain/schedule',
  'domain/hints',
  'domain/money',
  'domain/occasion',
  'common/redact',
  'callbacks/signature',
  'callbacks/parse-body',
  'callbacks/result-ticket',
  'client/answers',
].map((name) => `${source}/${name}.ts`);
