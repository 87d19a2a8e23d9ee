import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional, IsString, Length, Matches, MaxLength } from 'class-validator';

/** Limits for callbacks; the values we send are shorter. */
export const MAX_CUSTOM_LENGTH = 4_000;
export const MAX_CURRENCY_LENGTH = 16;

export const DECIMAL_PATTERN = /^-?\d{1,20}(\.\d{1,10})?$/;
const NOT_DECIMAL_MESSAGE = '$property must be a decimal such as 100.05';

type Reader = (value: unknown) => unknown;

/** `parseBody` wraps nested values in a function. */
function readBy(read: Reader): PropertyDecorator {
  return Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => {
    const value = obj[key];
    return read(typeof value === 'function' ? (value as () => unknown)() : value);
  });
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Stands for nested values: class-validator's messages compare a value's own `length`, which may throw. */
const NON_TEXT_VALUE = Object.freeze({});

/** All values are text (assumed). A JSON number is read as its text; `null` and empty values count as absent. */
const Text = (): PropertyDecorator =>
  readBy((value) => {
    if (isAbsent(value)) return undefined;
    if (typeof value === 'number') return String(value);
    return typeof value === 'object' ? NON_TEXT_VALUE : value;
  });

/** Like `Text`, but a value that is not text counts as absent. */
const TextOrNothing = (): PropertyDecorator =>
  readBy((value) =>
    typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : undefined,
  );

/** Like `Text`, but values of other types are read as their JSON text. */
const readAsJson: Reader = (value) => {
  if (isAbsent(value)) return undefined;
  // A host's parser may produce bigints, which JSON cannot hold.
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const TextOrJson = (): PropertyDecorator => readBy(readAsJson);

/** Far more than a callback needs, and too little to overflow the stack of recursive code. */
export const MAX_DEPTH = 32;

export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}

const readAnything: Reader = (value) => (isTooDeep(value) ? '[nested too deeply]' : readAsJson(value));

/**
 * Accepts any text, in fields that decide nothing: a genuine postback must not be rejected for their type or length.
 * Code that compares or stores them applies its own limits.
 */
const AnyText = (): PropertyDecorator => applyDecorators(readBy(readAnything), IsOptional(), IsString());

export interface CallbackType<T extends object = object> {
  new (): T;
  readonly fields: readonly string[];
  readonly acceptingAnything: readonly string[];
}

/** The payer's redirect to the Success URL or the Fail URL: section 2.4 of the specification. */
export class RedirectDto {
  /** @internal */
  static readonly fields = ['InvId', 'OutSum', 'CurrencyIn', 'custom', 'SignatureValue'];
  /** @internal */
  static readonly acceptingAnything: readonly string[] = [];

  /** The `order_id` given when the bill was created. */
  @Text()
  @IsString()
  @Length(1, 255)
  readonly InvId!: string;

  /** Payment amount, as text: the digest is computed over exactly this. */
  @Text()
  @IsString()
  @Matches(DECIMAL_PATTERN, { message: NOT_DECIMAL_MESSAGE })
  readonly OutSum!: string;

  /** Currency in which the bill was paid: `USD`, `RUB` or `EUR` (section 2.4, documented), or any that a bill may have (assumed). */
  @Text()
  @Matches(/^[A-Z]{3}$/, { message: '$property must be three capital letters' })
  readonly CurrencyIn!: string;

  /** The `custom` given when the bill was created. A sender may have parsed it, if it was JSON. */
  @TextOrJson()
  @IsOptional()
  @IsString()
  @MaxLength(MAX_CUSTOM_LENGTH)
  readonly custom?: string;

  /** Checked when present (section 5.5, documented). */
  @Text()
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  readonly SignatureValue?: string;
}

/**
 * The service's postback to the Result URL: section 2.5 of the specification, which shows no field as required. It is only a
 * hint, so any postback that names a bill is accepted (assumed): all other fields may be missing or odd, and then match
 * nothing.
 */
export class PostbackDto {
  /** @internal */
  static readonly fields = [
    'InvId',
    'OutSum',
    'Status',
    'TrsId',
    'custom',
    'Commission',
    'CurrencyIn',
    'SignatureValue',
  ];
  /** @internal */
  static readonly acceptingAnything = PostbackDto.fields;

  /** The `order_id` given when the bill was created. */
  @AnyText()
  readonly InvId?: string;

  /** Payment amount, as text. */
  @AnyText()
  readonly OutSum?: string;

  /** `SUCCESS` or `FAIL`; other values are stored and count as neither. */
  @AnyText()
  readonly Status?: string;

  /** The `custom` given when the bill was created. A sender may have parsed it, if it was JSON. */
  @AnyText()
  readonly custom?: string;

  @AnyText()
  readonly Commission?: string;

  @AnyText()
  readonly CurrencyIn?: string;

  /** The bill identifier, equal to `bill_id`. A value that is neither text nor a number names no bill. */
  @TextOrNothing()
  @IsOptional()
  readonly TrsId?: string;

  /**
   * Its formula is not documented. It is checked against that of the redirect, and the result is only recorded, unless
   * `callbacks.requirePostbackDigest` is set.
   */
  @AnyText()
  readonly SignatureValue?: string;
}
