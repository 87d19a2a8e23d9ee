import { CURRENCIES } from '../model/entities.js';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
const amount = (description: string): Schema => ({ type: 'number', description, examples: [100.05] });
const loose = (types: readonly string[], description: string): Schema => ({ type: types, description });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const answer = (description: string, name: string): Schema => ({
  description,
  content: { 'application/json': { schema: ref(name) } },
});

/** The service's own objects (sections 2 and 7). Assumed parts say so. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
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
  PaymentList: {
    type: 'object',
    description: 'Section 4.2.',
    required: ['data', 'success'],
    additionalProperties: false,
    properties: { data: { type: 'array', items: ref('ServicePayment') }, success: { const: true } },
  },
  ServicePayment: {
    type: 'object',
    description: 'Section 2.3; commission and the account fields are assumed.',
    required: ['id', 'bill_id', 'status', 'amount', 'amount_received', 'from_card', 'currency_in', 'created_at'],
    additionalProperties: false,
    properties: {
      id: text('The payment.'),
      bill_id: text('Its bill.'),
      status: { enum: ['NEW', 'PROCESS', 'SUCCESS', 'FAIL'] },
      amount: amount('What the payer pays in total.'),
      amount_received: amount('What the shop receives.'),
      commission: amount('Commission.'),
      account_amount: amount('As amount_received.'),
      account_currency_code: { enum: CURRENCIES },
      from_card: text('Masked card number.', { examples: ['411111******1111'] }),
      currency_in: { enum: CURRENCIES },
      created_at: text('Y-m-d H:i:s, UTC (assumed).', { examples: ['2026-11-21 06:15:00'] }),
    },
  },
  ServiceError: {
    type: 'object',
    description: 'Section 7; the shape is assumed.',
    required: ['message', 'success'],
    additionalProperties: false,
    properties: {
      message: text('The message of section 7, or what is wrong.'),
      success: { const: false },
      errors: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
    },
  },
  Callback: {
    type: 'object',
    description: 'Sections 2.4 and 2.5, also as a form.',
    required: ['InvId', 'OutSum', 'SignatureValue'],
    properties: {
      InvId: text('The shop’s order_id.'),
      OutSum: text('The amount.', { examples: ['100.05'] }),
      TrsId: text('The bill; of a postback.'),
      Status: { enum: ['SUCCESS', 'FAIL'], description: 'Of a postback.' },
      SignatureValue: text('Section 5.6; that of a postback is assumed.'),
      custom: text('What the shop gave.'),
    },
  },
};

const REFUSED = answer(
  'Section 7: the token (401), the merchant or the bill (403), a wrong field (400, assumed), another operation (404).',
  'ServiceError',
);

/** The OpenAPI 3.1 document of the service: its two operations, and the callbacks that it sends to the shop. */
export function openApiDocument(address: string): Schema {
  const form = { schema: ref('BillRequest') };
  const callback = (summary: string, status: string): Schema => ({
    post: {
      summary,
      requestBody: { content: { 'application/json': { schema: ref('Callback') } } },
      responses: { [status]: { description: 'Taken.' } },
    },
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Payment acceptance service',
      version: '1',
      description: 'What the specification does not document is marked as assumed.',
    },
    servers: [{ url: address }],
    security: [{ apiToken: [] }],
    paths: {
      '/api/v1/bill/create': {
        post: {
          operationId: 'create',
          summary: 'Create a bill (section 4.1)',
          requestBody: {
            required: true,
            content: {
              'multipart/form-data': form,
              'application/x-www-form-urlencoded': form,
              'application/json': form,
            },
          },
          responses: { 200: answer('The bill.', 'BillCreated'), default: REFUSED },
        },
      },
      '/api/v1/bill/payments': {
        get: {
          operationId: 'payments',
          summary: 'Payments of one bill (section 4.2)',
          parameters: [
            { name: 'id', in: 'query', required: true, description: 'The bill.', schema: { type: 'string' } },
          ],
          responses: {
            200: answer('Its payments, oldest first (the order is assumed).', 'PaymentList'),
            default: REFUSED,
          },
        },
      },
    },
    webhooks: {
      redirect: callback(
        'The payer’s browser posts it to the Success URL or the Fail URL, as a form (section 4.3)',
        '303',
      ),
      postback: callback('The service posts it to the Result URL (section 4.4)', '200'),
    },
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        apiToken: { type: 'http', scheme: 'bearer', description: 'The shop’s API token (section 5).' },
      },
    },
  };
}
