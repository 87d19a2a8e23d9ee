/** One behaviour of the sandbox, and its basis. */
export interface Behaviour {
  does: string;
  /** `documented`: the specification says so. `assumed`: it is silent, and this is our choice. */
  basis: 'documented' | 'assumed';
  /** The section in question. */
  section: string;
}

const documented = (section: string, does: string): Behaviour => ({ does, basis: 'documented', section });
const assumed = (section: string, does: string): Behaviour => ({ does, basis: 'assumed', section });

export const BEHAVIOURS: readonly Behaviour[] = [
  documented('2.1', 'POST /api/v1/bill/create takes the nine fields as a multipart form.'),
  assumed(
    '2.1',
    'It also takes them as a form, as JSON, and in the query string. The last of several values wins, and the body beats the query.',
  ),
  assumed('2.1', 'Only amount is required. A null field counts as absent; unknown fields are ignored.'),
  assumed(
    '2.1',
    'An amount is a decimal, also in exponent notation, from 0.01 to 99999999.99 with at most two decimals.',
  ),
  assumed(
    '2.1',
    'With the shop’s setting roundAmounts, an amount with more decimals is rounded half up instead of refused.',
  ),
  assumed(
    '2.1',
    'With the shop’s setting billAddresses, a bill’s own success_url, fail_url and return_url replace the shop’s: the redirect goes there, and the payment page links to return_url. Without it they are ignored.',
  ),
  assumed('2.1', 'currency_in is RUB, USD or EUR; RUB if absent. type is kept unchanged.'),
  assumed(
    '2.1',
    'payer_pays_commission is 1, 0, true, false or empty. A custom that is a JSON object is kept as JSON text.',
  ),
  documented('2.2', 'The answer to a creation: success as the text "true", link_url, link_page_url, bill_id.'),
  assumed('2.2', 'With the shop’s setting creationSuccess, success is a boolean here too.'),
  documented(
    '2.3',
    'A payment: id, bill_id, status, amount, amount_received, from_card (six digits, six asterisks, four digits), currency_in, created_at (Y-m-d H:i:s).',
  ),
  assumed('2.3', 'Amounts are JSON numbers with two decimals. created_at is UTC. from_card is never null.'),
  assumed(
    '2.3',
    'A payment also has commission, account_amount (what the shop receives) and account_currency_code (its currency).',
  ),
  assumed(
    '2.3',
    'If the payer bears the commission, amount is the billed amount plus commission and amount_received is the billed amount. Otherwise amount is the billed amount and amount_received is that less the commission. Rounded half up.',
  ),
  assumed('2.3', 'amount_received and commission are 0.00 until the payment succeeds.'),
  documented(
    '2.4',
    'The payer is sent to the Success URL or Fail URL with InvId, OutSum, CurrencyIn, custom and SignatureValue, by a form-encoded POST.',
  ),
  assumed(
    '2.4',
    'OutSum is the payment amount with two decimals. custom is left out if the bill has none; InvId is empty if the bill has no order_id.',
  ),
  assumed('4.3', 'The redirect carries no Authorization header: a form in a browser cannot send one.'),
  documented(
    '2.5',
    'A postback: Status, InvId, Commission, CurrencyIn, OutSum, TrsId (the bill_id), custom, SignatureValue; JSON by POST to the Result URL.',
  ),
  assumed('2.5', 'All its values are strings. A shop can choose to receive it as a form.'),
  documented('3', 'Payment statuses are NEW, PROCESS, SUCCESS, FAIL; a postback says SUCCESS or FAIL.'),
  assumed('3', 'NEW → PROCESS → SUCCESS or FAIL. A FAIL may become SUCCESS late. A bill may have several payments.'),
  assumed('3', 'The payer cannot pay a bill that is paid or has a payment in progress; the control interface can.'),
  documented('4.2', 'GET /api/v1/bill/payments?id= lists the payments of a bill: data, and success as a boolean.'),
  assumed('4.2', 'The id is also read from a body of the GET. Payments come oldest first, all at once.'),
  documented('5', 'Authorization: Bearer <API_TOKEN>. An invalid token gets 401 Unauthenticated.'),
  documented('5', 'The redirect’s SignatureValue is the upper-case hexadecimal MD5 of OutSum:InvId:token.'),
  assumed('5', 'The postback’s SignatureValue has the same formula, or is left out, as the shop chooses.'),
  documented('6', 'A postback goes out when a payment has its final result.'),
  assumed(
    '6',
    'It is sent again until the answer is 200, no other status: five more tries after 10, 100, 1000, 10000 and 100000 seconds. A try times out after 10 seconds. Redirects are not followed.',
  ),
  assumed('6', 'No postback is made while the shop has no Result URL. A redelivery goes to the present address.'),
  documented(
    '7',
    '400 api:error.too_many_payments, 401 Unauthenticated, 403 api:error.merchant_not_found, 403 api:error.merchant_banned, 403 api:error.bill_not_found.',
  ),
  assumed('7', 'Errors are JSON: message, success (false), and errors for a wrong field. A wrong field gets 400.'),
  assumed(
    '7',
    'merchant_not_found: shop_id is not the shop of the token. merchant_banned and merchant_not_found come from both operations. bill_not_found: also for a bill of another shop.',
  ),
  assumed(
    '7',
    'An address outside the interface, or a wrong method, gets a 404 of the same shape. Double slashes count as one, and a trailing slash is ignored.',
  ),
  documented('8', 'Amounts are decimal(10,2). A list of too many payments is refused.'),
  assumed(
    '8',
    'Too many means more than the shop’s maxPayments, 100. A request body has at most 1 MiB. There is no rate limit.',
  ),
];
