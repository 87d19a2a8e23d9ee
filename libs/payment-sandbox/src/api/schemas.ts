import { type Description, flag, listOf, oneOf, ref, type Schema, text } from '../common/schema.js';
import { CURRENCIES } from '../model/entities.js';

const amount = (description: string): Schema => ({ type: 'number', description, examples: [100.05] });
const loose = (types: readonly string[], description: string): Schema => ({ type: types, description });

/** The service's own objects (sections 2 and 7), by their names in the OpenAPI document. Assumed parts say so. */
export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  BillRequest: {
    type: 'object',
    description:
      'Section 2.1. Which fields are required is not documented; only amount is, by assumption. Unknown fields are ignored.',
    required: ['amount'],
    properties: {
      amount: loose(['number', 'string'], 'At most two decimals, from 0.01 to 99999999.99 (assumed).'),
      order_id: loose(['string', 'number', 'null'], 'The shop’s order; comes back as InvId.'),
      description: loose(['string', 'null'], 'Description of the link.'),
      type: loose(['string', 'null'], 'Kind of bill; only normal is known.'),
      shop_id: loose(['string', 'number', 'null'], 'The shop; it must be that of the token (assumed).'),
      currency_in: { enum: [...CURRENCIES, null], description: 'Currency of the bill. Default RUB (assumed).' },
      custom: { description: 'Comes back as custom. An object is kept as JSON text (assumed).' },
      payer_pays_commission: {
        enum: [1, 0, '1', '0', true, false, 'true', 'false', '', null],
        description: 'Whether the payer bears the commission.',
      },
      name: loose(['string', 'null'], 'Name of the payment.'),
    },
  },
  BillCreated: {
    type: 'object',
    description: 'Section 2.2.',
    required: ['success', 'link_url', 'link_page_url', 'bill_id'],
    additionalProperties: false,
    properties: {
      success: { enum: ['true', true], description: 'The text true; a boolean if the shop is set so (assumed).' },
      link_url: text('Payment link.', { format: 'uri' }),
      link_page_url: text('Payment page: the shop sends the payer here.', { format: 'uri' }),
      bill_id: text('The bill.'),
    },
  },
  ServicePayment: {
    type: 'object',
    description: 'Section 2.3; commission and the account fields are assumed.',
    required: ['id', 'bill_id', 'status', 'amount', 'amount_received', 'from_card', 'currency_in', 'created_at'],
    additionalProperties: false,
    properties: {
      id: text('The payment.'),
      bill_id: text('Its bill.'),
      status: oneOf(['NEW', 'PROCESS', 'SUCCESS', 'FAIL']),
      amount: amount('What the payer pays in total.'),
      amount_received: amount('What the shop receives.'),
      commission: amount('Commission.'),
      account_amount: amount('As amount_received.'),
      account_currency_code: oneOf(CURRENCIES),
      from_card: text('Masked card number.', { examples: ['411111******1111'] }),
      currency_in: oneOf(CURRENCIES),
      created_at: text('Y-m-d H:i:s, UTC (assumed).', { examples: ['2026-11-21 06:15:00'] }),
    },
  },
  PaymentList: {
    type: 'object',
    description: 'Section 4.2.',
    required: ['data', 'success'],
    additionalProperties: false,
    properties: { data: listOf(ref('ServicePayment')), success: flag('Always true.') },
  },
  ServiceError: {
    type: 'object',
    description: 'Section 7; the shape is assumed.',
    required: ['message', 'success'],
    additionalProperties: false,
    properties: {
      message: text('The message of section 7, or what is wrong.'),
      success: { const: false },
      errors: { type: 'object', description: 'By field.', additionalProperties: listOf(text()) },
    },
  },
};

const error = (description: string) => ({ description, schema: ref('ServiceError') });
const REFUSALS = {
  401: error('Unauthenticated: the API token is invalid.'),
  404: error('Not part of the interface (assumed).'),
};

export const CREATE: Description = {
  summary: 'Create a bill',
  section: '4.1',
  body: {
    schema: ref('BillRequest'),
    types: ['multipart/form-data', 'application/x-www-form-urlencoded', 'application/json'],
    required: true,
  },
  answers: {
    200: { description: 'The bill.', schema: ref('BillCreated') },
    400: error('A field is wrong (assumed).'),
    403: error('api:error.merchant_not_found, api:error.merchant_banned (here assumed).'),
    ...REFUSALS,
  },
};

export const PAYMENTS: Description = {
  summary: 'Payments of one bill',
  section: '4.2',
  query: { id: { required: true, description: 'The bill.' } },
  answers: {
    200: { description: 'Its payments, oldest first (the order is assumed).', schema: ref('PaymentList') },
    400: error('api:error.too_many_payments; no id (assumed).'),
    403: error('api:error.merchant_not_found, api:error.merchant_banned, api:error.bill_not_found.'),
    ...REFUSALS,
  },
};
