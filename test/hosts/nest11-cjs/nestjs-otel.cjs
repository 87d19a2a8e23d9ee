require('./opentelemetry.cjs');
globalThis.spanDecorator = require('nestjs-otel').Span();
