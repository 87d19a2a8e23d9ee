import {
  type Description,
  INSTANT,
  flag,
  listOf,
  objectOf,
  oneOf,
  partOf,
  ref,
  type Schema,
  TEXTS,
  whole,
} from '../common/schema.js';
import { DURATION, OUTCOMES } from './schemas.js';

const refused = (description: string) => ({ description, schema: ref('ControlError') });
const WRONG = { 400: refused('The body is wrong.') };
const ABSENT = { 404: refused('It does not exist.') };
const shown = (description: string, schema: Schema) => ({ 200: { description, schema } });
const TIME = objectOf<{ now: string }>({ now: INSTANT });

/** What the OpenAPI document says of each route of the control interface, by method name. */
export const CONTROL = {
  requests: {
    summary: 'Requests to the API, refused ones included',
    query: { after: { description: 'Only requests after the one with this id.', schema: whole('The id.') } },
    answers: { ...shown('The last 500, oldest first.', listOf(ref('ReceivedRequest'))), ...WRONG },
  },
  shops: { summary: 'All shops', answers: shown('Their settings.', listOf(ref('Shop'))) },
  shop: { summary: 'One shop', answers: { ...shown('Its settings.', ref('Shop')), ...ABSENT } },
  putShop: {
    summary: 'Creates a shop, or changes the given settings',
    body: { schema: ref('ShopInput'), required: true },
    answers: { ...shown('Its settings.', ref('Shop')), ...WRONG },
  },
  checkShop: {
    summary: 'Tries the shop’s addresses as the service would',
    answers: { ...shown('What the service would see.', ref('ShopCheck')), ...ABSENT },
  },
  bills: { summary: 'All bills', answers: shown('Oldest first.', listOf(ref('Bill'))) },
  bill: {
    summary: 'A bill with its payments and postbacks',
    answers: { ...shown('The bill.', ref('BillView')), ...ABSENT },
  },
  pay: {
    summary: 'Pays as the payer’s page does',
    body: { schema: ref('PayInput') },
    answers: { ...shown('The payment.', ref('PayResult')), ...WRONG, ...ABSENT, 409: refused('The shop is banned.') },
  },
  forge: {
    summary: 'Sends a SUCCESS that the service never issued',
    body: { schema: partOf<{ set: object }>({ set: TEXTS }) },
    answers: { ...shown('The postback.', ref('Callback')), ...WRONG, ...ABSENT },
  },
  complete: {
    summary: 'Gives a payment its result now',
    body: {
      schema: objectOf<{ outcome: string; force?: boolean }>(
        { outcome: oneOf(OUTCOMES), force: flag('Reverts even a success.') },
        'force',
      ),
      required: true,
    },
    answers: {
      ...shown('The payment.', ref('PayResult')),
      ...WRONG,
      ...ABSENT,
      409: refused('It already has that result.'),
    },
  },
  replay: {
    summary: 'Sends a postback again, optionally changed',
    body: { schema: ref('ReplayInput') },
    answers: { ...shown('The new postback.', ref('Callback')), ...WRONG, ...ABSENT },
  },
  faults: { summary: 'The faults in force', answers: shown('The faults.', ref('Faults')) },
  putFaults: {
    summary: 'Replaces the faults in force',
    body: { schema: ref('Faults'), required: true },
    answers: { ...shown('The faults.', ref('Faults')), ...WRONG },
  },
  clearFaults: { summary: 'Switches all faults off', answers: shown('No faults.', ref('Faults')) },
  clock: { summary: 'The time by the sandbox’s clock', answers: shown('The instant.', TIME) },
  advanceClock: {
    summary: 'Moves the clock on; answers once everything that became due is done',
    body: { schema: objectOf<{ advance: string }>({ advance: DURATION }), required: true },
    answers: { ...shown('The instant.', TIME), ...WRONG },
  },
  first: {
    summary: 'Every behaviour, documented or assumed, and the test cards; the console for a browser',
    answers: shown('Unless the client asks for HTML.', ref('Behaviours')),
  },
} satisfies Record<string, Description>;
