import { Inject, Injectable } from '@nestjs/common';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { TLSSocket } from 'node:tls';
import { isSuccess, nextPage, parseAnswer, readMessage, readPaymentList } from '../client/answers.js';
import { isUnavailable, withoutTokens } from '../client/service-answer.js';
import { errorType } from '../common/errors.js';
import { PaymentRandom } from '../common/random.js';
import { maskCards } from '../common/redact.js';
import { cleanLine } from '../common/text.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { DoctorStore } from './storage/doctor.store.js';

/** `confirmed`: behaves as expected. `different`: behaves differently. `not-probeable`: nothing shows it yet. */
export type DoctorVerdict = 'confirmed' | 'different' | 'not-probeable';

/** One behaviour that the module relies on, and what was observed. */
export interface DoctorFinding {
  readonly shop: string;
  /** Stable name, such as `unknown-bill`. */
  readonly name: string;
  /** Section of the specification; `-` for the database. */
  readonly section: string;
  /** Whether the specification documents it, or we assume it. */
  readonly basis: 'documented' | 'assumed';
  readonly expectation: string;
  readonly verdict: DoctorVerdict;
  /** What was observed, or why nothing could be. Contains no token and no personal data. */
  readonly detail: string;
}

/** The examination of one shop. */
export interface ShopDoctor {
  /** As {@link PaymentDoctor.examine}, for that shop. */
  examine(): Promise<DoctorFinding[]>;
}

const EXPECTATIONS = {
  reachable: ['4.2', 'documented', 'GET {base_url}/api/v1/bill/payments is answered.'],
  tls: ['4.2', 'assumed', 'This machine trusts the certificate, which stays valid for at least 14 days.'],
  clock: ['2.3', 'assumed', "The service's clock and this machine's agree within a minute."],
  token: ['5.2', 'documented', "The service accepts the shop's token."],
  'wrong-token': ['5.2', 'documented', 'A request with an invalid token gets 401.'],
  'unknown-bill': ['7', 'documented', 'An unknown bill gets 403 api:error.bill_not_found.'],
  list: [
    '2.3',
    'documented',
    'The payments of a bill can be read: id, bill_id, status, amount and currency_in of each.',
  ],
  limits: ['8.2', 'assumed', 'A list takes at most half of http.maxAnswerBytes and of http.totalTimeoutMs.'],
  'postback-digest': [
    '5.6',
    'assumed',
    "A postback's SignatureValue follows the redirect's formula, as requirePostbackDigest needs.",
  ],
  postbacks: ['4.4', 'assumed', 'Payments come with postbacks, which reach the application and are accepted.'],
  'database-rights': ['-', 'assumed', "The data source's user may change and delete rows of the module's tables."],
} as const;

type Name = keyof typeof EXPECTATIONS;

/** @param seen whether the expectation held; `undefined` if nothing could be observed */
type FindingMaker = (name: Name, seen: boolean | undefined, detail: string) => DoctorFinding;

const DAY_MS = 24 * 3_600_000;
const MIN_VALIDITY_MS = 14 * DAY_MS;
const MAX_SKEW_MS = 60_000;
const TOO_LARGE = 'TOO_LARGE';
const TOO_LATE = 'TIMEOUT';

/**
 * Checks whether the service behaves as the module expects. It sends up to three `GET bill/payments` for each shop, one of
 * them with a token that no shop has, and reads the module's tables. It creates nothing at the service and changes nothing
 * here.
 */
@Injectable()
export class PaymentDoctor {
  /** @internal */
  constructor(
    @Inject(DoctorStore) private readonly store: DoctorStore | null,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopDoctor {
    const shop = this.shops.requireName(name);
    return { examine: () => this.examine(shop) };
  }

  /**
   * Every expectation with what was observed, shop by shop.
   * @param shop name of the only shop to examine; all shops if omitted
   * @throws PaymentUnknownShopError
   */
  async examine(shop?: string): Promise<DoctorFinding[]> {
    const names = shop === undefined ? await this.shops.list() : [shop];
    const findings: DoctorFinding[] = [];
    for (const name of names) findings.push(...(await this.examineShop(await this.shops.get(name))));
    return findings;
  }

  private async examineShop(shop: Shop): Promise<DoctorFinding[]> {
    const find: FindingMaker = (name, seen, detail) => {
      const [section, basis, expectation] = EXPECTATIONS[name];
      const verdict = seen === undefined ? 'not-probeable' : seen ? 'confirmed' : 'different';
      return { shop: shop.name, name, section, basis, expectation, verdict, detail: withoutTokens(shop, detail) };
    };
    const randomId = this.random.uuid();
    const unknown = await this.ask(shop, randomId, shop.token.reveal());
    const service =
      'failure' in unknown
        ? unreachableFindings(unknown.failure, find)
        : [
            find('reachable', true, describeAnswer(unknown)),
            tls(unknown, find),
            clock(unknown, find),
            find('token', isAccepted(unknown), describeAnswer(unknown)),
            await this.checkWrongToken(shop, randomId, find),
            find(
              'unknown-bill',
              unlessUnavailable(unknown, unknown.status === 403 && unknown.text.includes('bill_not_found')),
              describeAnswer(unknown),
            ),
            ...(await this.checkList(shop, find)),
          ];
    return [...service, ...(await this.checkEvidence(shop, find))];
  }

  private async checkWrongToken(shop: Shop, randomId: string, find: FindingMaker): Promise<DoctorFinding> {
    const answer = await this.ask(shop, randomId, randomId);
    return 'failure' in answer
      ? find('wrong-token', undefined, answer.failure)
      : find('wrong-token', unlessUnavailable(answer, answer.status === 401), describeAnswer(answer));
  }

  private async checkList(shop: Shop, find: FindingMaker): Promise<DoctorFinding[]> {
    const lookUp = await this.read(async (store) => ({ billId: await store.billWithPayments(shop.name) }));
    const billId = 'failure' in lookUp ? undefined : lookUp.billId;
    if (billId === undefined) {
      const why = 'failure' in lookUp ? lookUp.failure : 'no bill with a payment is known yet';
      return [find('list', undefined, why), find('limits', undefined, why)];
    }
    const began = performance.now();
    const answer = await this.ask(shop, billId, shop.token.reveal());
    const tookMs = Math.round(performance.now() - began);
    if ('failure' in answer) {
      const isOverLimit = answer.failure === TOO_LARGE || answer.failure === TOO_LATE;
      const [list, limits] = isOverLimit ? [undefined, false] : [false, undefined];
      return [find('list', list, answer.failure), find('limits', limits, answer.failure)];
    }
    const { maxAnswerBytes, totalTimeoutMs } = this.options.http;
    const bytes = Buffer.byteLength(answer.text);
    const isSmall = bytes <= maxAnswerBytes / 2 && tookMs <= totalTimeoutMs / 2;
    return [
      find('list', unlessUnavailable(answer, isUnderstood(answer, shop, billId)), redactAnswer(answer)),
      find('limits', isSmall, `${bytes} bytes in ${tookMs} ms`),
    ];
  }

  private async checkEvidence(shop: Shop, find: FindingMaker): Promise<DoctorFinding[]> {
    const evidence = await this.read(async (store) => ({
      ...(await store.digests(shop.name)),
      ...(await store.postbacks(shop.name)),
      refused: await store.missingPrivilege(),
    }));
    if ('failure' in evidence) {
      const names = ['postback-digest', 'postbacks', 'database-rights'] as const;
      return names.map((name) => find(name, undefined, evidence.failure));
    }
    const { confirmed, matching, absent, paid, announced, refused } = evidence;
    return [
      find(
        'postback-digest',
        confirmed === 0 ? undefined : matching === confirmed,
        `of ${confirmed} confirmed postbacks, ${matching} have a matching digest and ${absent} have no digest`,
      ),
      find(
        'postbacks',
        paid === 0 ? undefined : announced > 0,
        announced > 0 || paid === 0
          ? `latest payments within a day: ${paid}; with a postback: ${announced}`
          : `latest payments within a day: ${paid}; none came with a postback: check the Result URL set at the service, and look for ` +
              'callback-refused, callback-misaddressed and callback-not-stored in the log',
      ),
      find('database-rights', refused === undefined, refused ?? 'the database user has all the rights that it needs'),
    ];
  }

  /** If the tables cannot be read, the findings about the service are kept. */
  private async read<T extends object>(read: (store: DoctorStore) => Promise<T>): Promise<T | RequestFailure> {
    if (!this.store) return { failure: 'no database is configured' };
    try {
      return await read(this.store);
    } catch (error) {
      return { failure: `the tables cannot be read (${errorType(error)})` };
    }
  }

  private async ask(shop: Shop, id: string, token: string): Promise<RawAnswer | RequestFailure> {
    const { totalTimeoutMs, maxAnswerBytes } = this.options.http;
    const limit = AbortSignal.timeout(totalTimeoutMs);
    try {
      return await rawGet(paymentsUrl(shop.apiBaseUrl, id), token, limit, maxAnswerBytes);
    } catch (error) {
      return { failure: limit.aborted ? TOO_LATE : errorType(error) };
    }
  }
}

function paymentsUrl(apiBaseUrl: string, billId: string): string {
  return `${apiBaseUrl}/api/v1/bill/payments?id=${encodeURIComponent(billId)}`;
}

function unreachableFindings(failure: string, find: FindingMaker): DoctorFinding[] {
  const isTlsFailure = /CERT|SELF_SIGNED|UNABLE_TO|TLS|SSL|EPROTO/.test(failure);
  const unprobed = ['clock', 'token', 'wrong-token', 'unknown-bill', 'list', 'limits'] as const;
  return [
    find('reachable', false, `no answer (${failure})`),
    find('tls', isTlsFailure ? false : undefined, failure),
    ...unprobed.map((name) => find(name, undefined, 'the service is not reachable')),
  ];
}

function tls({ certificate }: RawAnswer, find: FindingMaker): DoctorFinding {
  if (!certificate) return find('tls', undefined, 'apiBaseUrl is an http address');
  const leftMs = certificate.validTo.getTime() - Date.now();
  const detail = `${certificate.protocol ?? 'TLS'}, valid for ${Math.floor(leftMs / DAY_MS)} days`;
  return find('tls', leftMs >= MIN_VALIDITY_MS, detail);
}

function clock({ aheadMs }: RawAnswer, find: FindingMaker): DoctorFinding {
  if (Number.isNaN(aheadMs)) return find('clock', undefined, 'the answer has no Date header');
  const seconds = Math.round(aheadMs / 1_000);
  const detail = `the service is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}`;
  return find('clock', Math.abs(aheadMs) <= MAX_SKEW_MS, detail);
}

/** Whether the service itself has accepted the token; `undefined` if the answer may be a gateway's. */
function isAccepted({ status, text }: RawAnswer): boolean | undefined {
  if (status === 401) return false;
  return ((status === 200 || status === 403) && /"success"|api:error\./.test(text)) || undefined;
}

/** An answer that the service cannot serve the request now shows nothing about the expectation. */
function unlessUnavailable({ status }: RawAnswer, seen: boolean): boolean | undefined {
  return isUnavailable(status) ? undefined : seen;
}

function describeAnswer({ status, text }: RawAnswer): string {
  return `${status} ${readMessage(text) ?? 'without a message'}`;
}

function isUnderstood({ status, text }: RawAnswer, { timeZone, apiBaseUrl }: Shop, billId: string): boolean {
  const fields = status === 200 ? parseAnswer(text) : undefined;
  if (!fields || !isSuccess(fields) || !Array.isArray(fields.data)) return false;
  if (nextPage(fields, new URL(paymentsUrl(apiBaseUrl, billId))) === null) return false;
  const { payments, problems } = readPaymentList(fields, timeZone);
  return (
    problems.length === 0 &&
    payments.every(
      (payment) =>
        payment.billId === billId &&
        payment.status !== 'UNKNOWN' &&
        payment.amount !== null &&
        payment.currency !== null,
    )
  );
}

/** Fields of the specification whose values reveal nothing about the payer. */
const HARMLESS_FIELDS = ['success', 'bill_id', 'status', 'amount', 'amount_received', 'currency_in', 'created_at'];

/** Keeps only the shape of texts in other fields: 9 for a digit, x for a letter. */
function redactAnswer({ text }: RawAnswer): string {
  const shape = (value: string): string => value.replace(/\d/g, '9').replace(/\p{L}/gu, 'x');
  const fields = parseAnswer(text);
  const redactedJson = JSON.stringify(fields, (name, value: unknown) =>
    typeof value === 'string' && !HARMLESS_FIELDS.includes(name) ? shape(value) : value,
  );
  return cleanLine(maskCards(fields ? redactedJson : shape(text.slice(0, 200)))).slice(0, 2_000);
}

interface RequestFailure {
  readonly failure: string;
}

interface RawAnswer {
  readonly status: number;
  readonly text: string;
  /** How far its `Date` was ahead of our clock on arrival; `NaN` without a `Date`. */
  readonly aheadMs: number;
  /** `undefined` over http. */
  readonly certificate: { readonly protocol: string | null; readonly validTo: Date } | undefined;
}

/** Uses a new connection and no proxy, follows no redirects, and limits time and size. */
function rawGet(url: string, token: string, signal: AbortSignal, maxBytes: number): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${token}` };
    const { get } = url.startsWith('https:') ? https : http;
    get(url, { agent: false, headers, signal }, (answer) => {
      readAnswer(answer, maxBytes).then(resolve, reject);
    }).on('error', reject);
  });
}

async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<RawAnswer> {
  const { socket, headers, statusCode: status = 0 } = answer;
  const certificate =
    socket instanceof TLSSocket
      ? { protocol: socket.getProtocol(), validTo: new Date(socket.getPeerCertificate().valid_to) }
      : undefined;
  const aheadMs = Date.parse(headers.date ?? '') - Date.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw Object.assign(new Error('The answer is too large.'), { code: TOO_LARGE });
    chunks.push(chunk);
  }
  return { status, text: Buffer.concat(chunks).toString('utf8'), aheadMs, certificate };
}
