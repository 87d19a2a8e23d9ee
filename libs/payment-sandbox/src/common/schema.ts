import { SetMetadata } from '@nestjs/common';

/** A JSON schema (2020-12), as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

type OptionalKeys<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T] & string;

/** Every field of the type and no other: the compiler reports any difference. */
export function objectOf<T>(properties: { [K in keyof Required<T>]: Schema }, ...optional: OptionalKeys<T>[]): Schema {
  const required = Object.keys(properties).filter((name) => !(optional as string[]).includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The same with every field optional. */
export function partOf<T>(properties: { [K in keyof Required<T>]: Schema }): Schema {
  return { type: 'object', properties, additionalProperties: false };
}

export const text = (description?: string, more: Schema = {}): Schema => ({
  type: 'string',
  ...(description !== undefined && { description }),
  ...more,
});
export const textOrNull = (description: string): Schema => ({ type: ['string', 'null'], description });
export const flag = (description: string): Schema => ({ type: 'boolean', description });
export const whole = (description: string): Schema => ({ type: 'integer', description });
export const wholeOrNull = (description: string): Schema => ({ type: ['integer', 'null'], description });
export const oneOf = (values: readonly string[], description?: string): Schema => text(description, { enum: values });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
/** Fields of a callback: any names, string values. */
export const TEXTS: Schema = { type: 'object', additionalProperties: { type: 'string' } };
/** An exact decimal as text: `100.05`. */
export const AMOUNT = text('An exact decimal', { examples: ['100.05'] });
export const INSTANT = text('By the clock of the sandbox', { format: 'date-time' });

/** A reference to a named schema of the document. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** What the OpenAPI document says of an operation; its path and method come from the route. */
export interface Description {
  summary: string;
  /** Section of the specification; absent for the control interface, which is not part of it. */
  section?: string;
  /** By name. */
  query?: Readonly<Record<string, { required?: boolean; description: string; schema?: Schema }>>;
  /** `types`: media types. Default JSON. */
  body?: { schema: Schema; types?: readonly string[]; required?: boolean };
  /** By status. */
  answers: Readonly<Record<number, { description: string; schema: Schema }>>;
}

export const DESCRIPTION = Symbol('payment-sandbox/description');

/** Puts a route into the OpenAPI document. */
export const Described = (description: Description): MethodDecorator => SetMetadata(DESCRIPTION, description);
