import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenApiDocument } from '../../libs/payment-sandbox/src/openapi/document.js';
import { ApiController } from '../../libs/payment-sandbox/src/api/api.controller.js';
import { ConsoleController } from '../../libs/payment-sandbox/src/console/console.controller.js';
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

let fixture: Fixture;
let document: OpenApiDocument;

describe('the OpenAPI document of the sandbox', () => {
  beforeAll(async () => {
    fixture = await Fixture.open();
    document = (await fixture.control('GET', '/openapi.json')).json as unknown as OpenApiDocument;
  });
  afterAll(() => fixture.close());

  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...document })).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test('has every route of the API and of the control interface', () => {
    const described = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId as string),
    );
    const routes = [ApiController, ConsoleController].flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor' && name !== 'unknown'),
    );
    expect(described.sort()).toEqual([...routes, 'first'].sort());
  });

  test('has no name that leads nowhere', () => {
    const names = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
    const { schemas } = document['components'] as { schemas: Record<string, Schema> };
    expect(new Set(names)).toEqual(new Set(Object.keys(schemas)));
  });

  test('says what the sandbox answers', async () => {
    const url = (path: string, values: Record<string, string>) =>
      path.replace(/\{(\w+)\}/g, (_all, name: string) => values[name]!);
    const seen = new Set<string>();
    async function call(method: string, path: string, values: Record<string, string> = {}, body?: unknown, query = '') {
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const { status, text } = await fixture.call(`${url(path, values)}${query}`, { method, ...init });
      const responses = document.paths[path]![method.toLowerCase()]!['responses'] as Record<
        string,
        { content: { 'application/json': { schema: Schema } } }
      >;
      expect(Object.keys(responses)).toContain(String(status));
      const problems = mismatches(
        JSON.parse(text),
        responses[status]!.content['application/json'].schema,
        `${method} ${path}`,
      );
      expect(problems).toEqual([]);
      seen.add(`${method} ${path}`);
      return JSON.parse(text) as Record<string, unknown>;
    }

    await call('PUT', '/sandbox/shops/{id}', { id: 'main' }, { billAddresses: true });
    const bill = await call('POST', '/api/v1/bill/create', {}, { amount: 5, return_url: 'https://shop.test/' });
    const id = bill['bill_id'] as string;
    await call('POST', '/api/v1/bill/create', {}, { amount: 'x' });
    const { payment } = await call('POST', '/sandbox/bills/{id}/pay', { id }, { card: '4000 0000 0000 0002' });
    await fixture.sandbox.settled();
    await call(
      'POST',
      '/sandbox/payments/{id}/complete',
      { id: (payment as { id: string }).id },
      { outcome: 'success' },
    );
    await call(
      'POST',
      '/sandbox/payments/{id}/complete',
      { id: (payment as { id: string }).id },
      { outcome: 'success' },
    );
    await call('GET', '/api/v1/bill/payments', {}, undefined, `?id=${id}`);
    await call('GET', '/api/v1/bill/payments', {}, undefined, '?id=none');
    const forged = await call('POST', '/sandbox/bills/{id}/forge', { id });
    fixture.shopServer.statuses = [404];
    await call('POST', '/sandbox/callbacks/{id}/replay', { id: forged['id'] as string }, { format: 'form' });
    await fixture.sandbox.settled();
    await call('PUT', '/sandbox/faults', {}, { seed: 7, requests: { slow: { ms: 1 } }, postbacks: { drop: 0.5 } });
    await call('GET', '/sandbox/faults');
    await call('DELETE', '/sandbox/faults');
    await call('POST', '/sandbox/clock', {}, { advance: '1s' });
    await call('POST', '/sandbox/clock', {}, { advance: 'soon' });
    await call('POST', '/sandbox/shops/{id}/check', { id: 'main' });
    for (const path of ['shops', 'bills', 'requests', 'clock']) await call('GET', `/sandbox/${path}`);
    await call('GET', '/sandbox');
    await call('GET', '/sandbox/shops/{id}', { id: 'main' });
    await call('GET', '/sandbox/shops/{id}', { id: 'none' });
    await call('GET', '/sandbox/bills/{id}', { id });
    const all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect([...seen].sort()).toEqual(all.sort());
  });
});

/** Where a value violates its schema. Covers the part of JSON Schema that the document uses. */
function mismatches(value: unknown, schema: Schema, where: string): string[] {
  if (schema.$ref !== undefined) {
    const { schemas } = document['components'] as { schemas: Record<string, Schema> };
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
