import { SetMetadata } from '@nestjs/common';
import type { OpenApiDecorators } from '../config/hooks.js';
import { PostbackDto, REDIRECT_CURRENCIES, RedirectDto } from './callback.dto.js';

/** Decorators that describe the callback routes in the host's OpenAPI document. */
export interface CallbackDescription {
  controller(): ClassDecorator;
  redirect(to: 'success' | 'fail', parameter?: 'shop'): MethodDecorator;
  result(): MethodDecorator;
  postback(parameter?: 'shop'): MethodDecorator;
}

const nothing = () => (): void => undefined;

/** Writes the metadata of `ApiExcludeController()` itself, since a host may not have `@nestjs/swagger`. */
const EXCLUDED: CallbackDescription = {
  controller: () => SetMetadata('swagger/apiExcludeController', [true]),
  redirect: nothing,
  result: nothing,
  postback: nothing,
};

/** @param swagger the module `@nestjs/swagger`; `false` leaves the routes out of the document */
export function describeCallbacks(swagger: OpenApiDecorators | false): CallbackDescription {
  if (swagger === false) return EXCLUDED;
  describeFields(swagger, PostbackDto, { ...COMMON, ...POSTBACK });
  describeFields(swagger, RedirectDto, { ...COMMON, ...REDIRECT });
  const answers = (all: Readonly<Record<number, Answer>>): MethodDecorator[] =>
    Object.entries(all).map(([status, answer]) => swagger.ApiResponse({ status: Number(status), ...answer }));
  const ofShop = (parameter: 'shop' | undefined): MethodDecorator[] =>
    parameter ? [swagger.ApiParam({ name: parameter, description: "The shop's name.", type: String })] : [];
  return {
    controller: () => swagger.ApiTags('Payment callbacks'),
    redirect: (to, parameter) =>
      every(
        swagger.ApiOperation({
          summary: `The payer's browser comes back from ${to === 'success' ? 'a successful' : 'an unsuccessful'} payment`,
          description: 'The Success URL or Fail URL of the shop settings. It settles nothing: it asks for a check.',
        }),
        ...ofShop(parameter),
        swagger.ApiConsumes(FORM, JSON_TYPE),
        swagger.ApiBody({ type: RedirectDto }),
        ...answers({
          303: { description: 'Stored; `Location` is the result page.' },
          200: { description: 'No digest, or no such order: a page that names no result.', ...HTML },
          400: { description: 'A field is missing or malformed.', ...FIELD_ERRORS },
          403: { description: 'The digest does not match.', ...HTML },
          404: { description: 'There is no such shop.', ...HTML },
          503: { description: 'Not stored: try again.', ...HTML },
        }),
      ),
    result: () =>
      every(
        swagger.ApiOperation({ summary: "The payment's result, as it is stored, and the InvId" }),
        swagger.ApiParam({ name: 'ticket', description: 'Unguessable, and valid for a while.', type: String }),
        ...answers({
          200: { description: 'The result.', ...HTML },
          303: { description: 'The shop shows the result at `Location`.' },
          404: { description: 'The link is wrong or no longer works.', ...HTML },
          503: { description: 'Not readable now: try again.', ...HTML },
        }),
      ),
    postback: (parameter) =>
      every(
        swagger.ApiOperation({
          summary: 'The service tells of a final result',
          description: 'The Result URL of the shop settings. It settles nothing: it asks for a check.',
        }),
        ...ofShop(parameter),
        swagger.ApiConsumes(JSON_TYPE, FORM),
        swagger.ApiBody({ type: PostbackDto }),
        ...answers({
          200: { description: 'Stored.', content: { 'text/plain': { schema: { type: 'string', example: 'OK' } } } },
          400: { description: 'A field is missing or malformed.', ...FIELD_ERRORS },
          403: { description: 'The digest is required and does not match.', ...REFUSAL },
          404: { description: 'There is no such shop.', ...REFUSAL },
          503: { description: 'Not stored: send it again.', ...REFUSAL },
        }),
      ),
  };
}

interface Answer {
  readonly description: string;
  readonly content?: object;
}

/** An OpenAPI schema of a field, and whether it may be left out. */
interface Field {
  readonly description: string;
  readonly example: string;
  readonly required?: false;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
}

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const HTML = { content: { 'text/html': { schema: { type: 'string' } } } };
const REFUSED = { success: { type: 'boolean', enum: [false] }, message: { type: 'string' } };
const FLAW = {
  type: 'object',
  properties: { field: { type: 'string' }, errors: { type: 'array', items: { type: 'string' } } },
};
const REFUSAL = answerOf(REFUSED);
const FIELD_ERRORS = answerOf({ ...REFUSED, errors: { type: 'array', items: FLAW } });

const COMMON: Readonly<Record<string, Field>> = {
  InvId: { description: 'The `order_id` given when the bill was created.', example: 'A-1', maxLength: 255 },
  OutSum: { description: 'Payment amount, as text: the digest is computed over exactly this.', example: '100.05' },
  custom: { description: 'The `custom` given when the bill was created.', example: 'cart 7', required: false },
  SignatureValue: {
    description: 'Upper-case MD5 of `OutSum:InvId:token` (of a postback assumed, and recorded only).',
    example: 'F3E4A6B2C1D05948776A5B4C3D2E1F00',
    required: false,
  },
};
const REDIRECT: Readonly<Record<string, Field>> = {
  CurrencyIn: { description: 'Currency in which the bill was paid.', example: 'RUB', enum: REDIRECT_CURRENCIES },
};
const POSTBACK: Readonly<Record<string, Field>> = {
  Status: { description: '`SUCCESS` or `FAIL`; others are stored, and read as neither.', example: 'SUCCESS' },
  TrsId: { description: 'The bill identifier, equal to `bill_id`.', example: 'b-1', maxLength: 128 },
  Commission: { description: 'Commission amount.', example: '2.00', required: false },
  CurrencyIn: { description: 'Currency of the payment.', example: 'RUB', required: false },
};

function describeFields(swagger: OpenApiDecorators, dto: { prototype: object }, fields: typeof COMMON): void {
  for (const [name, field] of Object.entries(fields)) {
    swagger.ApiProperty({ type: String, ...field })(dto.prototype, name);
  }
}

function answerOf(properties: object): { content: object } {
  return { content: { [JSON_TYPE]: { schema: { type: 'object', properties } } } };
}

function every(...decorators: MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
}
