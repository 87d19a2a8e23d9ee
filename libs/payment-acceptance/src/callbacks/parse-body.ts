import { isObject, isRecord } from '../common/objects.js';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { UnreadableBody } from './read-body.js';
import { isTooDeep, MAX_DEPTH, type CallbackType } from './callback.dto.js';

/** One unusable field of a callback, as the 400 answer names it. */
export interface FieldError {
  readonly field: string;
  readonly errors: readonly string[];
}

export type ParseResult<T> = { readonly value: T } | { readonly errors: readonly FieldError[] };

/** More bytes than a genuine callback has: its longest field is a percent-encoded `custom` of 4,000 characters. */
const MAX_BYTES = 32_768;

/** These replace nested values of a large body: the first in fields that accept anything, the second elsewhere. */
const UNREAD_VALUE = Object.freeze({});
const TOO_DEEP_VALUE = Array.from({ length: MAX_DEPTH + 1 }).reduce(
  (inner: unknown): unknown => Object.freeze([inner]),
  1,
);

/**
 * Returns all fields of a small body, but of a large one only the DTO's, without nested values: listing an object's
 * members takes longer the more there are.
 */
export function readableFields({ fields, acceptingAnything }: CallbackType, body: unknown, bytes = 0): unknown {
  if (bytes <= MAX_BYTES || !isRecord(body) || body instanceof UnreadableBody) return body;
  const entries = fields.map((field) => [field, ownValueOf(body, field)] as const);
  const present = entries.filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    present.map(([field, value]) => [
      field,
      isObject(value) ? (acceptingAnything.includes(field) ? UNREAD_VALUE : TOO_DEEP_VALUE) : value,
    ]),
  );
}

/**
 * Parses a callback with its DTO, the only definition of what is valid. Not a pipe, because a host's global pipe would
 * refuse the unknown fields that genuine callbacks carry. Only the DTO's own fields are read, so `__proto__` and the
 * like have no effect. Nested values are wrapped in a function: otherwise class-transformer would descend into them and
 * call a member that a sender named `constructor`.
 */
export function parseBody<T extends object>(type: CallbackType<T>, body: unknown): ParseResult<T> {
  if (body instanceof UnreadableBody) return { errors: [{ field: 'body', errors: [`body ${body.problem}`] }] };
  if (!isRecord(body)) return { errors: [{ field: 'body', errors: ['must be a form or a JSON object'] }] };
  const fields = Object.fromEntries(type.fields.map((field) => [field, ownValueOf(body, field)]));
  const deep = Object.keys(fields).filter(
    (field) => isTooDeep(fields[field]) && !type.acceptingAnything.includes(field),
  );
  if (deep.length > 0) return { errors: deep.map((field) => ({ field, errors: [`${field} is nested too deeply`] })) };
  const wrappedEntries = Object.entries(fields).map(
    ([field, item]) => [field, isObject(item) ? () => item : item] as const,
  );
  const value = plainToInstance(type, Object.fromEntries(wrappedEntries));
  const problems = validateSync(value);
  if (problems.length === 0) return { value };
  return {
    errors: problems.map(({ property, constraints }) => ({
      field: property,
      errors: Object.values(constraints ?? {}),
    })),
  };
}

function ownValueOf(body: object, field: string): unknown {
  return Object.getOwnPropertyDescriptor(body, field)?.value;
}
