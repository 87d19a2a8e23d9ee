import { Injectable, Logger } from '@nestjs/common';
import { PaymentServiceError, PaymentShopError, PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import {
  describePaymentError,
  PaymentActionInterruptedError,
  PaymentOperatorActionError,
} from 'nestjs-payment-acceptance/operations';
import { cleanLine } from '../common/text.js';
import { filterOf } from '../common/filter.js';
import { html } from '../common/html.js';
import { confirmPage } from './confirm.page.js';
import {
  ConsoleRefusal,
  requireFound,
  notFoundRefusal,
  type Message,
  type Page,
  type Redirect,
  type PageContext,
} from '../common/page-context.js';
import { InputError, type ImpossibleAction, type Input, type OperatorAction } from './operator-action.js';
import { dismissLostBill, takeInBill } from './lost-bill.actions.js';
import { replayFilter, replayOne } from './replay.actions.js';
import { acceptReview, dismissReview } from './review.actions.js';
import { attachBill, voidBill } from './unknown-outcome.actions.js';

const MAX_TEXT_LENGTH = 1_000;

export interface ActionAddress {
  readonly action: string;
  readonly target: string;
}

/**
 * Asks for confirmation, then performs the action. A GET changes nothing, nor does a form that this console did not
 * issue.
 */
@Injectable()
export class OperatorActions {
  private readonly logger = new Logger('PaymentConsole');

  async ask(context: PageContext, address: ActionAddress): Promise<Page> {
    return this.page(context, address, await this.find(context, address));
  }

  async act(
    context: PageContext,
    address: ActionAddress,
    form: { body: unknown } | undefined,
  ): Promise<Page | Redirect> {
    const { action: name, target } = address;
    if (context.foreign) {
      throw new ConsoleRefusal(403, 'Action refused', 'The request came from another site. Nothing was changed.');
    }
    if (!form)
      throw new ConsoleRefusal(
        415,
        'Action refused',
        'Send the request as a form (application/x-www-form-urlencoded).',
      );
    const { body } = form;
    if (body === undefined) throw new ConsoleRefusal(503, 'Action refused', UNPARSED_FORM_MESSAGE);
    const input: Input = (field) => fieldOf(body, field);
    const action = await this.find(context, address);
    if ('impossible' in action) return this.page(context, address, action);
    const { operator, csrf } = context;
    if (operator === undefined) throw UNKNOWN_OPERATOR_REFUSAL;
    if (!csrf.isValid(input('csrf'), operator, name, csrfTarget(context, target))) {
      return this.page(context, address, action, {
        status: 403,
        message: { tone: 'bad', text: INVALID_CSRF_TOKEN_MESSAGE },
        input,
      });
    }
    try {
      return await action.perform(operator, input);
    } catch (error) {
      if (error instanceof PaymentActionInterruptedError) {
        return this.page(context, address, action, {
          status: 503,
          message: { tone: 'bad', text: error.message },
          input,
        });
      }
      const status = error instanceof InputError ? 400 : 409;
      if (!SELF_EXPLANATORY_ERRORS.some((kind) => error instanceof kind)) {
        this.logger.error(`It is not known whether "${name}" on ${target} was done. ${describePaymentError(error)}`);
        throw new ConsoleRefusal(503, 'Outcome unknown', UNKNOWN_OUTCOME_MESSAGE);
      }
      const message: Message = { tone: 'bad', text: `Nothing was changed. ${(error as Error).message}` };
      return this.page(context, address, action, { status, message, input });
    }
  }

  private page(
    context: PageContext,
    { action: name, target }: ActionAddress,
    action: OperatorAction | ImpossibleAction,
    before: { status?: number; message?: Message; input?: Input } = {},
  ): Page {
    if ('impossible' in action) {
      const content = html`<p class="card">${action.impossible}</p>`;
      return { status: 409, title: 'Nothing to do', place: action.place, content };
    }
    const { operator, csrf } = context;
    if (operator === undefined) throw UNKNOWN_OPERATOR_REFUSAL;
    const csrfToken = csrf.issue(operator, name, csrfTarget(context, target));
    return confirmPage(context, { ...before, action, csrfToken, formAction: `actions/${name}/${target}` });
  }

  private async find(
    context: PageContext,
    { action: name, target }: ActionAddress,
  ): Promise<OperatorAction | ImpossibleAction> {
    switch (name) {
      case 'accept-review':
        return acceptReview(context, requireFound(await context.records.review(target), 'review'));
      case 'dismiss-review':
        return dismissReview(context, requireFound(await context.records.review(target), 'review'));
      case 'attach-bill':
        return attachBill(context, requireFound(await context.records.bill(target), 'bill'));
      case 'void-bill':
        return voidBill(context, requireFound(await context.records.bill(target), 'bill'));
      case 'take-in-bill':
        return takeInBill(context, requireFound(await context.records.lostBill(target), 'lost bill'));
      case 'dismiss-lost-bill':
        return dismissLostBill(context, requireFound(await context.records.lostBill(target), 'lost bill'));
      case 'replay':
        return target === 'all' ? this.replayAll(context) : this.replay(context, target);
      default:
        throw notFoundRefusal('action');
    }
  }

  private async replay(context: PageContext, deliveryId: string) {
    if (!UUID_PATTERN.test(deliveryId)) throw notFoundRefusal('dead letter');
    const [letter] = await context.operations.deadLetters({ deliveryId }, 1);
    return replayOne(context, letter);
  }

  private async replayAll(context: PageContext) {
    const filter = filterOf(context.query);
    const [dead, replayable] = await Promise.all([
      context.records.countDeadLetters(filter),
      context.operations.countReplayable(filter),
    ]);
    return replayFilter(context, filter, dead, Math.max(0, replayable - dead));
  }
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

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const UNPARSED_FORM_MESSAGE =
  'The application did not parse the form. Keep the body parser on: NestFactory.create(AppModule) without { bodyParser: false }, ' +
  'or register a form parser.';

const INVALID_CSRF_TOKEN_MESSAGE =
  'Nothing was changed: this form was issued to someone else, for another action, or before the browser was closed. ' +
  'Review it and confirm again.';

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

/** Includes the filter of the target `all`, so that a form issued for some dead letters cannot replay others. */
function csrfTarget({ query }: PageContext, target: string): string {
  return target === 'all' ? `all ${JSON.stringify(filterOf(query))}` : target;
}

function fieldOf(body: unknown, name: string): string {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return '';
  const value = (body as Readonly<Record<string, unknown>>)[name];
  if (typeof value !== 'string') return '';
  const text = value.slice(0, MAX_TEXT_LENGTH);
  // Order ids are compared character by character: a different number of spaces is a different order.
  return name === 'orderId' ? text : cleanLine(text);
}
