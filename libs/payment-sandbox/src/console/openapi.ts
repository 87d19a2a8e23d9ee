import { signatureOf } from '../callbacks/messages.js';
import { CURRENCIES } from '../model/entities.js';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, keywords: Schema = {}): Schema => ({ type: 'string', description, ...keywords });
const amount = (description: string): Schema => ({ type: 'number', description, examples: [100.05] });
const object = (description: string, optional: readonly string[], properties: Schema): Schema => ({
  type: 'object',
  description,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
const answerObject = (description: string, optional: readonly string[], properties: Schema): Schema => ({
  ...object(description, optional, properties),
  additionalProperties: false,
});
const mixedType = (types: readonly string[], description: string): Schema => ({ type: types, description });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const content = (name: string, examples: Schema): Schema => ({
  schema: ref(name),
  examples: Object.fromEntries(Object.entries(examples).map(([title, value]) => [title, { value }])),
});
const answer = (description: string, name: string, examples: Schema): Schema => ({
  description,
  content: { 'application/json': content(name, examples) },
});

const BILL = {
  amount: '100.05',
  order_id: 'order-1',
  description: 'Two cups',
  type: 'normal',
  shop_id: 'demo-main',
  currency_in: 'RUB',
  custom: 'table 4',
  payer_pays_commission: 1,
  name: 'Order 1',
};
const BILL_ID = 'K4ZQ8X2M1A';
const PAYMENT = {
  id: 'P7R2W9T5',
  bill_id: BILL_ID,
  status: 'SUCCESS',
  amount: 102.05,
  amount_received: 100.05,
  commission: 2,
  account_amount: 100.05,
  account_currency_code: 'RUB',
  from_card: '411111******1111',
  currency_in: 'RUB',
  created_at: '2026-11-21 06:15:00',
};
/** The redirect, as a shop with the API token `token` receives it. */
const REDIRECT = {
  InvId: 'order-1',
  OutSum: '102.05',
  CurrencyIn: 'RUB',
  custom: 'table 4',
  SignatureValue: signatureOf('102.05', 'order-1', 'token'),
};
const POSTBACK = { Status: 'SUCCESS', Commission: '2.00', TrsId: BILL_ID, ...REDIRECT };

const ASSUMED = ['commission', 'account_amount', 'account_currency_code'];

/** Sections 2 and 7. Parts that are assumed are marked as such. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  BillRequest: {
    type: 'object',
    description:
      'Section 2.1. Which fields are required is not documented; only amount is, by assumption. Unknown fields are ignored.',
    required: ['amount'],
    properties: {
      amount: mixedType(['number', 'string'], 'At most two decimals, from 0.01 to 99999999.99 (assumed).'),
      order_id: mixedType(['string', 'number', 'null'], 'The shop’s order; comes back as InvId.'),
      description: mixedType(['string', 'null'], 'Description of the link.'),
      type: mixedType(['string', 'null'], 'Type of bill; only normal is known.'),
      shop_id: mixedType(['string', 'number', 'null'], 'The shop; must be the one the token belongs to (assumed).'),
      currency_in: { enum: [...CURRENCIES, null], description: 'Currency of the bill. Default RUB (assumed).' },
      custom: { description: 'Comes back as custom. An object is kept as JSON text (assumed).' },
      payer_pays_commission: {
        enum: [1, 0, '1', '0', true, false, 'true', 'false', '', null],
        description: 'Whether the payer bears the commission.',
      },
      name: mixedType(['string', 'null'], 'Name of the payment.'),
    },
  },
  BillCreated: answerObject('Section 2.2.', [], {
    success: {
      enum: ['true', true],
      description: 'The string "true"; the boolean true if the shop is configured that way (assumed).',
    },
    link_url: text('Payment link.', { format: 'uri' }),
    link_page_url: text('Payment page: the shop sends the payer here.', { format: 'uri' }),
    bill_id: text('The bill.'),
  }),
  PaymentList: answerObject('Section 4.2.', [], {
    data: { type: 'array', items: ref('ServicePayment') },
    success: { const: true },
  }),
  ServicePayment: answerObject('Section 2.3; commission and the account fields are assumed.', ASSUMED, {
    id: text('The payment.'),
    bill_id: text('Its bill.'),
    status: { enum: ['NEW', 'PROCESS', 'SUCCESS', 'FAIL'] },
    amount: amount('What the payer pays in total.'),
    amount_received: amount('What the shop receives.'),
    commission: amount('Commission.'),
    account_amount: amount('Same as amount_received.'),
    account_currency_code: { enum: CURRENCIES },
    from_card: text('Masked card number.', { examples: ['411111******1111'] }),
    currency_in: { enum: CURRENCIES },
    created_at: text('Y-m-d H:i:s, UTC (assumed).', { examples: ['2026-11-21 06:15:00'] }),
  }),
  ServiceError: answerObject('Section 7; the shape is assumed.', ['errors'], {
    message: text('The message of section 7, or a description of the problem.'),
    success: { const: false },
    errors: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
  }),
  Postback: object(
    'Section 2.5; which fields are required, and whether it is JSON or a form, is assumed.',
    ['custom', 'SignatureValue'],
    {
      Status: { enum: ['SUCCESS', 'FAIL'] },
      InvId: text('The shop’s order_id.'),
      Commission: text('Commission, as a decimal.'),
      CurrencyIn: { enum: CURRENCIES, description: 'Currency of the payment.' },
      OutSum: text('The amount, as a decimal.'),
      TrsId: text('The bill: its bill_id.'),
      custom: text('What the shop gave; absent if it gave nothing.'),
      SignatureValue: text(
        'By the formula of section 5.4 (assumed); absent if the shop’s setting postbackSignature says so.',
      ),
    },
  ),
  Redirect: object('Section 2.4.', ['custom'], {
    InvId: text('The shop’s order_id.'),
    OutSum: text('The amount, as a decimal.'),
    CurrencyIn: { enum: CURRENCIES, description: 'Currency in which the bill was paid.' },
    custom: text('What the shop gave; absent if it gave nothing.'),
    SignatureValue: text(
      'Section 5.4: upper-case hexadecimal MD5 of OutSum, InvId and the API token, joined by colons.',
    ),
  }),
};

const REFUSED_ANSWER = answer(
  'Section 7: the token (401), the merchant or the bill (403), a wrong field (400, assumed), another operation (404).',
  'ServiceError',
  {
    token: { message: 'Unauthenticated', success: false },
    field: {
      message: 'The amount field is required.',
      errors: { amount: ['The amount field is required.'] },
      success: false,
    },
  },
);

const created = (address: string): Schema => ({
  success: 'true',
  link_url: `${address}/link/${BILL_ID}`,
  link_page_url: `${address}/transfer/${BILL_ID}`,
  bill_id: BILL_ID,
});

/** The OpenAPI 3.1 document of the service: its two operations, and the callbacks that it sends to the shop. */
export function openApiDocument(address: string): Schema {
  const billRequest = content('BillRequest', { bill: BILL, 'as little as possible': { amount: '100.05' } });
  const callback = (operationId: string, summary: string, types: Schema, status: string): Schema => ({
    post: {
      operationId,
      summary,
      requestBody: { required: true, content: types },
      responses: { [status]: { description: 'Taken.' } },
    },
  });
  const postback = content('Postback', {
    paid: POSTBACK,
    'not paid': { ...POSTBACK, Status: 'FAIL' },
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
              'multipart/form-data': billRequest,
              'application/x-www-form-urlencoded': billRequest,
              'application/json': billRequest,
            },
          },
          responses: { 200: answer('The bill.', 'BillCreated', { bill: created(address) }), default: REFUSED_ANSWER },
        },
      },
      '/api/v1/bill/payments': {
        get: {
          operationId: 'payments',
          summary: 'Payments of one bill (section 4.2)',
          parameters: [
            {
              name: 'id',
              in: 'query',
              required: true,
              description: 'The bill.',
              schema: { type: 'string' },
              example: BILL_ID,
            },
          ],
          responses: {
            200: answer('Its payments, oldest first (the order is assumed).', 'PaymentList', {
              paid: { data: [PAYMENT], success: true },
              'not paid yet': { data: [], success: true },
            }),
            default: REFUSED_ANSWER,
          },
        },
      },
    },
    webhooks: {
      redirect: callback(
        'redirect',
        'The payer’s browser posts it to the Success URL or the Fail URL, as a form (section 4.3)',
        { 'application/x-www-form-urlencoded': content('Redirect', { paid: REDIRECT }) },
        '303',
      ),
      postback: callback(
        'postback',
        'The service posts it to the Result URL (section 4.4), as the setting postbackFormat says (assumed)',
        { 'application/json': postback, 'application/x-www-form-urlencoded': postback },
        '200',
      ),
    },
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        apiToken: { type: 'http', scheme: 'bearer', description: 'The shop’s API token (section 5).' },
      },
    },
  };
}
