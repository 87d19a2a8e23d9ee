const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { NestInstrumentation } = require('@opentelemetry/instrumentation-nestjs-core');
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
const { NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');

new NodeTracerProvider().register();
registerInstrumentations({ instrumentations: [new NestInstrumentation(), new PgInstrumentation()] });
