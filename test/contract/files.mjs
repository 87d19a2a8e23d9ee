import { asyncApi } from './asyncapi.mjs';
import { eventSchemas } from './event-schemas.mjs';

/** Where the contract of the events is kept and published from. */
export const SCHEMAS = 'libs/payment-acceptance/schemas';

/**
 * The contract of the events: the files of {@link SCHEMAS}, by name.
 * @returns {Record<string, object>}
 */
export function contractFiles() {
  const schemas = eventSchemas();
  const files = { ...schemas, asyncapi: asyncApi(schemas) };
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${name}.json`, content]));
}
