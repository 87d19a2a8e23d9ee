import { Logger } from '@nestjs/common';
import { PaymentServiceError, PaymentShopError, PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import {
  describePaymentError,
  PaymentActionInterruptedError,
  PaymentOperatorActionError,
} from 'nestjs-payment-acceptance/operations';
import { cleanLine } from '../common/text.js';
import { filterOf } from '../common/filter.js';
import { confirmPage, type Refused } from './confirm.page.js';
import { ConsoleRefusal, notFoundRefusal, type Page, type Redirect, type PageContext } from '../common/page-context.js';
import { InputError, type Input, type OperatorAction } from './operator-action.js';
import { dismissLostBill, takeInBill } from './lost-bill.actions.js';
import { replay } from './replay.actions.js';
import { acceptReview, dismissReview } from './review.actions.js';
import { attachBill, voidBill } from './unknown-outcome.actions.js';

const MAX_TEXT_LENGTH = 8_192;

export interface ActionAddress {
  readonly action: string;
  readonly target: string;
}

const logger = new Logger('PaymentConsole');

const ACTIONS = new Map<string, (context: PageContext, target: string) => Promise<OperatorAction>>([
  ['accept-review', acceptReview],
  ['dismiss-review', dismissReview],
  ['attach-bill', attachBill],
  ['void-bill', voidBill],
  ['take-in-bill', takeInBill],
  ['dismiss-lost-bill', dismissLostBill],
  ['replay', replay],
]);

/** Asks for confirmation. Changes nothing. */
export async function askForAction(context: PageContext, address: ActionAddress): Promise<Page> {
  return page(context, address, await find(context, address));
}

/** Performs the action, if this console issued the form. */
export async function performAction(
  context: PageContext,
  address: ActionAddress,
  form: { body: unknown } | undefined,
): Promise<Page | Redirect> {
  if (context.foreign) {
    throw new ConsoleRefusal(403, 'Action refused', 'The request came from another site. Nothing was changed.');
  }
  if (!form) {
    throw new ConsoleRefusal(415, 'Action refused', 'Send the request as a form (application/x-www-form-urlencoded).');
  }
  const { body } = form;
  if (body === undefined) throw new ConsoleRefusal(503, 'Action refused', UNPARSED_FORM_MESSAGE);
  const input: Input = (field) => fieldOf(body, field);
  const action = await find(context, address);
  const refuse = (status: number, text: string): Page => page(context, address, action, { status, text, input });
  const purpose = purposeOf(context, address, action);
  if (!context.csrf.isValid(input('csrf'), purpose)) return refuse(403, INVALID_CSRF_TOKEN_MESSAGE);
  try {
    const query = await action.perform({ operator: purpose[0], note: input('note') }, input);
    return { to: action.place, query };
  } catch (error) {
    if (error instanceof PaymentActionInterruptedError) return refuse(503, error.message);
    if (SELF_EXPLANATORY_ERRORS.some((kind) => error instanceof kind)) {
      // If somebody else was faster, this says who.
      await find(context, address);
      return refuse(error instanceof InputError ? 400 : 409, `Nothing was changed. ${(error as Error).message}`);
    }
    const { action: name, target } = address;
    logger.error(`It is not known whether "${name}" on ${target} was done. ${describePaymentError(error)}`);
    throw new ConsoleRefusal(503, 'Outcome unknown', UNKNOWN_OUTCOME_MESSAGE);
  }
}

async function find(context: PageContext, { action, target }: ActionAddress): Promise<OperatorAction> {
  const make = ACTIONS.get(action);
  if (!make) throw notFoundRefusal('action');
  return make(context, target);
}

function page(context: PageContext, address: ActionAddress, action: OperatorAction, refused?: Refused): Page {
  const csrfToken = context.csrf.issue(purposeOf(context, address, action));
  return confirmPage(context, action, { action: `actions/${address.action}/${address.target}`, csrfToken }, refused);
}

/** Errors whose message says what to do. */
const SELF_EXPLANATORY_ERRORS = [
  InputError,
  PaymentOperatorActionError,
  PaymentServiceError,
  // Thrown for a bill whose shop is no longer in the options, or cannot be looked up.
  PaymentShopError,
  PaymentUnknownShopError,
];

const UNPARSED_FORM_MESSAGE =
  'The application did not parse the form. Keep the body parser on: NestFactory.create(AppModule) without { bodyParser: false }, ' +
  'or register a form parser.';

const INVALID_CSRF_TOKEN_MESSAGE =
  'Nothing was changed: this form was issued to someone else, for another action, before the order changed, or before ' +
  'the console was opened anew. Review it and confirm again.';

/** The database may have committed although its answer was lost. */
const UNKNOWN_OUTCOME_MESSAGE =
  'It is not known whether this was done: the database did not answer. Look at the record itself, or at the log page, before you ' +
  'repeat it.';

const UNKNOWN_OPERATOR_REFUSAL = new ConsoleRefusal(
  403,
  'Unknown operator',
  'The console does not know your name, but records one with every action. Set the option "operator", or have your ' +
    'guard set request.user.',
);

/**
 * What a form is for: the operator, the action and its target. Includes the filter of the target `all`, so that a form
 * issued for some dead letters cannot replay others.
 * @throws ConsoleRefusal if the operator has no name
 */
function purposeOf(
  { operator, query }: PageContext,
  { action, target }: ActionAddress,
  { basis = '' }: OperatorAction,
): [string, string, string, string] {
  if (operator === undefined) throw UNKNOWN_OPERATOR_REFUSAL;
  return [operator, action, target === 'all' ? `all ${JSON.stringify(filterOf(query))}` : target, basis];
}

function fieldOf(body: unknown, name: string): string {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return '';
  const value = (body as Readonly<Record<string, unknown>>)[name];
  if (typeof value !== 'string') return '';
  const text = value.slice(0, MAX_TEXT_LENGTH);
  // Order ids are compared character by character: a different number of spaces is a different order.
  return name === 'orderId' ? text : cleanLine(text);
}
