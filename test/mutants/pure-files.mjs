const source = 'libs/payment-acceptance/src';

/** The code that decides without a database, a network or a clock: each file has its unit tests beside it. */
export const PURE_FILES = [
  'settlement/judge',
  'settlement/decide',
  'settlement/facts',
  'settlement/schedule',
  'settlement/hints',
  'common/money',
  'common/redact',
  'callbacks/signature',
  'callbacks/parse-body',
  'callbacks/result-ticket',
  'client/answers',
].map((name) => `${source}/${name}.ts`);
