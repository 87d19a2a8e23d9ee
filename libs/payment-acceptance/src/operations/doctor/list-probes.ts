import { parseAnswer } from '../../client/answers.js';
import { cleanLine } from '../../common/text.js';
import type { Shop } from '../../config/resolved-options.js';
import { instantOfWall } from '../../config/time-zone.js';
import { parseAmount } from '../../domain/money.js';
import type { SampleBill } from '../storage/evidence.store.js';
import type { ApiProbes } from './api-probes.js';
import { judge, type Expectation, type Finding } from './findings.js';

type Fields = Readonly<Record<string, unknown>>;

/** A listed payment, with the bill that was queried. */
interface Listed {
  readonly bill: SampleBill;
  readonly payment: Fields;
}

const expect = (name: string, section: string, basis: Expectation['basis'], expectation: string): Expectation => ({
  name,
  section,
  basis,
  expectation,
});

const SUCCESS = expect('list-success', '2.2', 'documented', '`success` of a list of payments is the boolean true.');
const TIME_ZONE = expect(
  'time-zone',
  '2.3',
  'assumed',
  "created_at is on the wall clock of the shop's option timeZone: no payment is older than its bill, none is from the future.",
);

/** What is expected of each field of a payment. */
const FIELDS: readonly [Expectation, field: string, fits: (value: unknown, bill: SampleBill) => boolean][] = [
  [
    expect('payment-id', '2.3', 'documented', 'Each payment has an id.'),
    'id',
    (id) => isText(id, /^[\x21-\x7e]{1,128}$/),
  ],
  [
    expect('payment-bill', '2.3', 'documented', 'Each payment has the bill_id that was asked for.'),
    'bill_id',
    (id, { billId }) => id === billId,
  ],
  [
    expect('payment-status', '2.3', 'documented', 'The status is NEW, PROCESS, SUCCESS or FAIL.'),
    'status',
    (status) => isText(status, /^(NEW|PROCESS|SUCCESS|FAIL)$/),
  ],
  [
    expect('payment-amount', '8.1', 'documented', 'The amount is a decimal(10,2) above 0.'),
    'amount',
    (amount) => isAmount(amount, /^(?!-|0\.00$)/),
  ],
  [
    expect('payment-received', '8.1', 'documented', 'The received amount is a decimal(10,2).'),
    'amount_received',
    (amount) => isAmount(amount, /^(?!-)/),
  ],
  [
    expect('payment-currency', '2.3', 'assumed', 'The currency is that of the bill.'),
    'currency_in',
    (currency, bill) => currency === bill.currency,
  ],
  [
    expect('payment-card', '2.3', 'documented', 'The card is masked: first 6 digits, six asterisks, last 4.'),
    'from_card',
    (card) => card === null || isText(card, /^\d{6}\*{6}\d{4}$/),
  ],
  [
    expect('payment-created', '2.3', 'documented', 'created_at is written as `Y-m-d H:i:s`.'),
    'created_at',
    (at) => isText(at, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/),
  ],
];

const SKEW_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;

/** Queries bills that are known to have payments at the service. */
export async function listProbes(
  probes: ApiProbes,
  shop: Shop,
  bills: readonly SampleBill[],
  now: Date,
): Promise<Finding[]> {
  const lists: Fields[] = [];
  const listed: Listed[] = [];
  const failures: string[] = [];
  for (const bill of bills) {
    const asked = await probes.ask(bill.billId, shop.token.reveal());
    const body = asked.answer?.status === 200 ? parseAnswer(asked.answer.text) : undefined;
    if (!body) failures.push(probes.shown(asked));
    else lists.push(body);
    for (const payment of Array.isArray(body?.data) ? (body.data as unknown[]) : []) {
      if (typeof payment === 'object' && payment !== null) listed.push({ bill, payment: payment as Fields });
    }
  }
  const nothing = failures[0] ?? 'the ledger has no payment yet to ask about';
  const looked = `looked at ${listed.length} payments of ${lists.length} bills`;
  const successes = lists.map(({ success }) => success);
  return [
    judge(
      SUCCESS,
      lists.length === 0 ? undefined : successes.every((success) => success === true),
      lists.length === 0 ? nothing : kindsOf(successes),
    ),
    ...FIELDS.map(([expected, field, fits]) => {
      const odd = listed.filter(({ bill, payment }) => !fits(payment[field], bill));
      const detail =
        odd.length === 0
          ? looked
          : `${odd.length} of ${listed.length} differ: ${kindsOf(odd.map(({ payment }) => payment[field]))}`;
      return judge(
        expected,
        listed.length === 0 ? undefined : odd.length === 0,
        listed.length === 0 ? nothing : detail,
      );
    }),
    timeZoneOf(shop, listed, now, nothing),
  ];
}

/** A payment is created after its bill and before now: a wall clock read in the wrong zone breaks this sooner or later. */
function timeZoneOf(shop: Shop, listed: readonly Listed[], now: Date, nothing: string): Finding {
  const spans = listed.flatMap(({ bill, payment }) => {
    const text = payment.created_at;
    const wall = typeof text === 'string' ? Date.parse(`${text.replace(' ', 'T')}Z`) : NaN;
    if (Number.isNaN(wall)) return [];
    const at = instantOfWall(shop.timeZone, wall).getTime();
    return [{ early: bill.openedAt.getTime() - at, late: at - now.getTime() }];
  });
  if (spans.length === 0) return judge(TIME_ZONE, undefined, nothing);
  const early = Math.max(...spans.map((span) => span.early));
  const late = Math.max(...spans.map((span) => span.late));
  if (early <= SKEW_MS && late <= SKEW_MS) {
    return judge(TIME_ZONE, true, `${spans.length} payments fit timeZone "${shop.timeZone}"`);
  }
  const [hours, side] = early > SKEW_MS ? [early / HOUR_MS, 'before its bill'] : [late / HOUR_MS, 'in the future'];
  return judge(TIME_ZONE, false, `with timeZone "${shop.timeZone}" a payment is ${hours.toFixed(1)} h ${side}`);
}

function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function isAmount(value: unknown, pattern: RegExp): boolean {
  const amount = typeof value === 'string' ? parseAmount(value) : null;
  return amount !== null && pattern.test(amount);
}

/** Replaces digits by 9 and letters by x: shows the unexpected format, but no values, above all no card numbers. */
function kindsOf(values: readonly unknown[]): string {
  const shapes = values.map((value) =>
    typeof value === 'string'
      ? `"${cleanLine(value).slice(0, 40).replace(/\d/g, '9').replace(/\p{L}/gu, 'x')}"`
      : typeof value,
  );
  return [...new Set(shapes)].slice(0, 5).join(', ');
}
