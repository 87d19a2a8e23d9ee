/** Schema of our tables by default; every statement in the source names it. */
export const DEFAULT_SCHEMA = 'payment_acceptance';

/** Rule for the schema's name, or on MariaDB the tables' prefix: it is written into statements unescaped. */
export const SCHEMA_NAME_RULE =
  'must be 1 to 40 lower-case letters, digits and "_", starting with a letter, such as "payment_acceptance", and not one of the ' +
  "database's own names (pg_…, information_schema).";

export function isSchemaName(name: unknown): name is string {
  return typeof name === 'string' && /^(?!pg_|information_schema$)[a-z][a-z0-9_]{0,39}$/.test(name);
}
