import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Fixture } from './fixture.js';

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  pattern?: string;
}

interface OpenApiDocument {
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content: { 'application/json': { schema: Schema } } }> }>
  >;
  readonly webhooks: object;
  readonly components: { readonly schemas: Record<string, Schema> };
}

let fixture: Fixture;
let document: OpenApiDocument;

describe('the OpenAPI document of the sandbox', () => {
  beforeAll(async () => {
    fixture = await Fixture.open();
    document = (await fixture.control('GET', '/openapi.json')).json as unknown as OpenApiDocument;
  });
  afterAll(() => fixture.close());

  test('the OpenAPI document is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...document })).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test('the OpenAPI document defines exactly the schemas that it references', () => {
    const names = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
    const { schemas } = document.components;
    expect(new Set(names)).toEqual(new Set(Object.keys(schemas)));
  });

  test('the OpenAPI document describes what the sandbox answers and sends', async () => {
    const call = async (path: string, method: 'get' | 'post', body?: object, query = '') => {
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const { status, text } = await fixture.call(`${path}${query}`, { method: method.toUpperCase(), ...init });
      const responses = document.paths[path]![method]!.responses;
      const { content } = responses[status === 200 ? '200' : 'default']!;
      const answer = JSON.parse(text) as Record<string, unknown>;
      expect(mismatches(answer, content['application/json'].schema, `${method} ${path}`)).toEqual([]);
      return answer;
    };
    await call('/api/v1/bill/create', 'post', { amount: 'x' });
    const { bill_id: id } = await call('/api/v1/bill/create', 'post', { amount: 5, order_id: 'o-1', custom: 'x' });
    const { redirect } = await fixture.sandbox.pay(id as string);
    await fixture.sandbox.settled();
    await call('/api/v1/bill/payments', 'get', undefined, `?id=${id as string}`);
    await call('/api/v1/bill/payments', 'get', undefined, '?id=none');
    const { body } = fixture.shopServer.requests.at(-1)!;
    const { Redirect, Postback } = document.components.schemas;
    for (const [sent, described] of [
      [redirect!.fields, Redirect!],
      [JSON.parse(body) as object, Postback!],
    ] as const) {
      expect(mismatches(sent, described, 'sent')).toEqual([]);
      expect(Object.keys(described.properties!).sort()).toEqual(Object.keys(sent).sort());
    }
    expect(Object.keys(document.paths)).toEqual(['/api/v1/bill/create', '/api/v1/bill/payments']);
    expect(Object.keys(document.webhooks)).toEqual(['redirect', 'postback']);
  });

  test('the OpenAPI document has valid examples of everything sent and answered', () => {
    const described = [document.paths, document.webhooks].flatMap((part) => contentsOf(part));
    expect(described).toHaveLength(10);
    for (const { schema, examples } of described) {
      expect(Object.keys(examples)).not.toEqual([]);
      for (const [title, { value }] of Object.entries(examples)) expect(mismatches(value, schema, title)).toEqual([]);
    }
  });
});

interface Content {
  schema: Schema;
  examples: Record<string, { value: unknown }>;
}

/** What the document says of bodies, wherever it does. */
function contentsOf(part: unknown): Content[] {
  if (typeof part !== 'object' || part === null) return [];
  return 'schema' in part && 'examples' in part ? [part as Content] : Object.values(part).flatMap(contentsOf);
}

/** Where a value violates its schema. Covers the part of JSON Schema that the document uses. */
function mismatches(value: unknown, schema: Schema, where: string): string[] {
  if (schema.$ref !== undefined) {
    const { schemas } = document.components;
    return mismatches(value, schemas[schema.$ref.split('/').at(-1)!]!, where);
  }
  if (schema.anyOf) {
    return schema.anyOf.some((each) => mismatches(value, each, where).length === 0) ? [] : [`${where}: fits none`];
  }
  if ('const' in schema && schema.const !== value) return [`${where}: ${JSON.stringify(value)}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${where}: ${JSON.stringify(value)}`];
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? type].flat().map((each) => (each === 'integer' ? 'number' : each));
  if (!types.includes(type)) return [`${where}: ${type}, not ${types.join()}`];
  if (Array.isArray(value))
    return value.flatMap((each, index) => mismatches(each, schema.items ?? {}, `${where}[${index}]`));
  if (type !== 'object') return [];
  const fields = value as Record<string, unknown>;
  const missing = (schema.required ?? []).filter((name) => !(name in fields)).map((name) => `${where}: no ${name}`);
  const wrong = Object.entries(fields).flatMap(([name, each]) => {
    const more = schema.additionalProperties;
    const of = schema.properties?.[name] ?? (typeof more === 'object' ? more : undefined);
    if (of) return mismatches(each, of, `${where}.${name}`);
    return more === false ? [`${where}: ${name} is not in the document`] : [];
  });
  return [...missing, ...wrong];
}
