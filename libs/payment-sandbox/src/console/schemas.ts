import type { CheckedAddress, ShopCheck } from '../callbacks/shop-check.service.js';
import type { Redirect } from '../callbacks/redirect.js';
import {
  AMOUNT,
  flag,
  INSTANT,
  listOf,
  objectOf,
  oneOf,
  partOf,
  ref,
  type Schema,
  text,
  textOrNull,
  TEXTS,
  whole,
  wholeOrNull,
} from '../common/schema.js';
import {
  type Bill,
  type BillAddresses,
  type Callback,
  type CallbackTry,
  CURRENCIES,
  type Payment,
  type PlannedStatus,
  type Shop,
  type ShopSettings,
} from '../model/entities.js';
import {
  type FaultDocument,
  POSTBACK_FAULTS,
  type PostbackFaultSettings,
  REQUEST_FAULTS,
  type RequestFaultSettings,
} from '../model/fault-document.js';
import type { TestCard } from '../payments/test-cards.js';
import type { ReceivedRequest } from '../storage/received-requests.js';
import type { Behaviour } from './behaviours.js';
import type { BillView, PayInput, PayResult, ReplayInput } from './pay-input.js';

const FORMATS = ['json', 'form'];
const STATUSES = ['NEW', 'PROCESS', 'SUCCESS', 'FAIL'];
export const OUTCOMES = ['success', 'fail'];
export const DURATION = text('A whole number with ms, s, m, h or d', { pattern: '^[0-9]{1,12}(ms|s|m|h|d)$' });
const PROBABILITY: Schema = { type: 'number', minimum: 0, maximum: 1, description: 'Default 1.' };
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
const eachOf = (names: readonly string[], settings: string): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(names.map((name) => [name, { anyOf: [PROBABILITY, ref(settings)] }])),
});

const SETTINGS: { [K in keyof ShopSettings]: Schema } = {
  apiToken: text('Bearer token of the API and key of the signature.'),
  successUrl: textOrNull('Where the payer is sent after a successful payment.'),
  failUrl: textOrNull('Where the payer is sent after an unsuccessful one.'),
  resultUrl: textOrNull('Where postbacks go.'),
  postbackFormat: oneOf(FORMATS),
  postbackSignature: oneOf(['redirect-formula', 'none']),
  commissionPercent: { type: ['number', 'string'], description: 'Percent of the amount, with at most four decimals.' },
  banned: flag('Gets api:error.merchant_banned.'),
  maxPayments: whole('Longer lists are refused.'),
  name: textOrNull('What payers read.'),
  billAddresses: flag('A bill’s own success_url, fail_url and return_url are used.'),
  roundAmounts: flag('An amount with more than two decimals is rounded.'),
  creationSuccess: oneOf(['text', 'boolean']),
};
const BILL: { [K in keyof Required<Bill>]: Schema } = {
  id: text(),
  shopId: text(),
  orderId: text('Comes back as InvId; empty if none was given.'),
  amount: AMOUNT,
  currency: oneOf(CURRENCIES),
  description: text(),
  name: text(),
  type: text(),
  custom: textOrNull('Comes back as custom.'),
  payerPaysCommission: flag('The payer bears the commission.'),
  createdAt: INSTANT,
  addresses: objectOf<BillAddresses>({
    successUrl: textOrNull('Instead of the shop’s.'),
    failUrl: textOrNull('Instead of the shop’s.'),
    returnUrl: textOrNull('Where the payment page leads a payer who does not pay.'),
  }),
};
const PAID = { paid: flag('Whether a payment succeeded.') };

/** The control interface's objects, by their names in the OpenAPI document. */
export const CONTROL_SCHEMAS: Readonly<Record<string, Schema>> = {
  Shop: objectOf<Shop>({ id: text(), ...SETTINGS }),
  ShopInput: partOf<Shop>({ id: text('As in the address.'), ...SETTINGS }),
  Bill: objectOf<Bill & typeof PAID>({ ...BILL, ...PAID }, 'addresses'),
  BillView: objectOf<BillView>(
    { ...BILL, ...PAID, payments: listOf(ref('Payment')), callbacks: listOf(ref('Callback')) },
    'addresses',
  ),
  StatusChange: objectOf<PlannedStatus>({ status: oneOf(STATUSES), at: INSTANT }),
  Payment: objectOf<Payment>({
    id: text(),
    billId: text(),
    status: oneOf(STATUSES),
    amount: AMOUNT,
    amountReceived: AMOUNT,
    commission: AMOUNT,
    currency: oneOf(CURRENCIES),
    fromCard: text('Masked.'),
    createdAt: INSTANT,
    history: listOf(ref('StatusChange')),
    plan: listOf(ref('StatusChange')),
  }),
  Callback: objectOf<Callback>(
    {
      id: text(),
      billId: text(),
      paymentId: textOrNull('The payment it reports.'),
      kind: oneOf(['postback', 'duplicate', 'replay', 'forged']),
      fields: TEXTS,
      state: oneOf(['pending', 'delivered', 'givenUp', 'dropped']),
      createdAt: INSTANT,
      nextTryAt: textOrNull('When the next try is due.'),
      format: oneOf(FORMATS),
      held: flag('Held back by the fault reorder.'),
      tries: listOf(ref('CallbackTry')),
    },
    'format',
  ),
  CallbackTry: objectOf<CallbackTry>(
    {
      at: INSTANT,
      url: text(),
      format: oneOf(FORMATS),
      status: wholeOrNull('HTTP status of the answer.'),
      body: text('The first bytes of the answer.'),
      error: textOrNull('Why there is no answer.'),
      durationMs: whole('Of the try.'),
      advice: text('What the answer means, and what to do.'),
      remedy: oneOf(FORMATS, 'The format to try instead.'),
    },
    'advice',
    'remedy',
  ),
  PayInput: partOf<PayInput>({
    card: text('Default 4111 1111 1111 1111.'),
    outcome: oneOf(OUTCOMES, 'Whatever the card would do.'),
    amount: { type: ['string', 'number'], description: 'Default: what is due.' },
    currency: oneOf(CURRENCIES),
  }),
  PayResult: objectOf<PayResult>({
    payment: ref('Payment'),
    redirect: orNull(objectOf<Redirect>({ url: text(), fields: TEXTS })),
  }),
  ReplayInput: partOf<ReplayInput>({
    set: TEXTS,
    resign: flag('Sign the fields again. Default false.'),
    format: oneOf(FORMATS),
  }),
  Faults: partOf<FaultDocument>({
    seed: whole('Of the dice.'),
    requests: eachOf(REQUEST_FAULTS, 'RequestFault'),
    postbacks: eachOf(POSTBACK_FAULTS, 'PostbackFault'),
  }),
  RequestFault: partOf<RequestFaultSettings>({
    p: PROBABILITY,
    times: whole('At most so often.'),
    operation: oneOf(['create', 'payments']),
    ms: whole('slow: milliseconds.'),
    done: flag('Whether the request is served before its answer is corrupted.'),
  }),
  PostbackFault: partOf<PostbackFaultSettings>({
    p: PROBABILITY,
    times: whole('At most so often.'),
    status: oneOf(['SUCCESS', 'FAIL']),
    by: DURATION,
    within: DURATION,
    copies: whole('duplicate: how many copies.'),
    set: TEXTS,
    resign: flag('change: sign again.'),
  }),
  ReceivedRequest: objectOf<ReceivedRequest>({
    id: whole('Counts up from 1.'),
    at: INSTANT,
    method: text(),
    address: text('Path and query string as sent.'),
    operation: orNull(oneOf(['create', 'payments'])),
    headers: listOf(objectOf<ReceivedRequest['headers'][number]>({ name: text(), value: text() })),
    body: text('The first 8 KiB.'),
    bodyBytes: whole('Size of the whole body.'),
    shopId: textOrNull('The shop of the bearer token.'),
    orderId: textOrNull('Of a creation.'),
    billId: textOrNull('The bill.'),
    faults: listOf(text()),
    problem: textOrNull('What was wrong.'),
    status: wholeOrNull('HTTP status of the answer.'),
    answer: textOrNull('The first 8 KiB of the answer.'),
    durationMs: wholeOrNull('Until the answer.'),
  }),
  ShopCheck: objectOf<ShopCheck>({
    shopId: text(),
    at: INSTANT,
    addresses: listOf(
      objectOf<CheckedAddress>({
        setting: oneOf(['resultUrl', 'successUrl', 'failUrl']),
        url: textOrNull('Null if none is set.'),
        status: wholeOrNull('HTTP status of the answer.'),
        body: text('The first bytes of the answer.'),
        verdict: oneOf(['good', 'warn', 'bad']),
        says: text('What that means, and what to do.'),
      }),
    ),
  }),
  Behaviours: objectOf<{ behaviours: Behaviour[]; testCards: TestCard[] }>({
    behaviours: listOf(objectOf<Behaviour>({ does: text(), basis: oneOf(['documented', 'assumed']), section: text() })),
    testCards: listOf({ type: 'object' }),
  }),
  ControlError: objectOf<{ message: string; success: boolean }>({ message: text(), success: { const: false } }),
};
