// As sentry.cjs, with the release before.
require('sentry-nestjs-9').init({ dsn: 'http://key@127.0.0.1:9/1', tracesSampleRate: 1 });
