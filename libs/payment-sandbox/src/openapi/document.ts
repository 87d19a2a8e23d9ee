import { RequestMethod, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { SERVICE_SCHEMAS } from '../api/schemas.js';
import { type Description, DESCRIPTION, type Schema, text } from '../common/schema.js';
import { CONTROL_SCHEMAS } from '../console/schemas.js';

/** A route with its description. */
export interface Operation extends Description {
  id: string;
  method: string;
  /** With OpenAPI's path parameters: `/sandbox/shops/{id}`. */
  path: string;
  /** Whether it belongs to the service rather than the control interface. */
  isService: boolean;
}

export interface OpenApiDocument {
  openapi: string;
  paths: Record<string, Record<string, Schema>>;
  [part: string]: unknown;
}

const reflector = new Reflector();

/** The described routes of the controllers, in their order. */
export function operationsOf(controllers: readonly Type[]): Operation[] {
  return controllers.flatMap((controller) => {
    const base = reflector.get<string>('path', controller);
    const members = Object.values(Object.getOwnPropertyDescriptors(controller.prototype)) as PropertyDescriptor[];
    return members.flatMap(({ value }): Operation[] => {
      const handler = value as (() => unknown) & { name: string };
      const description = typeof handler === 'function' && reflector.get<Description | undefined>(DESCRIPTION, handler);
      if (!description) return [];
      const path = `/${[base, reflector.get<string>('path', handler)].join('/')}`
        .replace(/\/+/g, '/')
        .replace(/\/$/, '');
      const method = RequestMethod[reflector.get<RequestMethod>('method', handler)].toLowerCase();
      return [
        {
          ...description,
          id: handler.name,
          method,
          path: path.replace(/:(\w+)/g, '{$1}'),
          isService: description.section !== undefined,
        },
      ];
    });
  });
}

/** The OpenAPI 3.1 document of the service's interface and the control interface. `address`: of the sandbox. */
export function openApiDocument(operations: readonly Operation[], address: string): OpenApiDocument {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Payment acceptance service: sandbox',
      version: '1',
      description:
        'The interface of the service (tag "service"; what the specification does not document is marked as assumed), and the control interface of this sandbox (tag "control").',
    },
    servers: [{ url: address }],
    tags: [
      { name: 'service', description: 'The service’s own interface.' },
      { name: 'control', description: 'The control interface of the sandbox; not part of the service.' },
    ],
    paths,
    components: {
      schemas: { ...SERVICE_SCHEMAS, ...CONTROL_SCHEMAS },
      securitySchemes: {
        apiToken: { type: 'http', scheme: 'bearer', description: 'The shop’s API token (section 5).' },
      },
    },
  };
}

function operationObject({ id, path, summary, section, query = {}, body, answers, isService }: Operation): Schema {
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text() })),
    ...Object.entries(query).map(([name, { description, required = false, schema = text() }]) => ({
      name,
      in: 'query',
      required,
      description,
      schema,
    })),
  ];
  const content = ({ schema, types = ['application/json'] }: { schema: Schema; types?: readonly string[] }) =>
    Object.fromEntries(types.map((type) => [type, { schema }]));
  return {
    operationId: id,
    tags: [isService ? 'service' : 'control'],
    summary: section === undefined ? summary : `${summary} (section ${section})`,
    ...(isService && { security: [{ apiToken: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: body.required ?? false, content: content(body) } }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, { description, schema }]) => [
        status,
        { description, content: content({ schema }) },
      ]),
    ),
  };
}
