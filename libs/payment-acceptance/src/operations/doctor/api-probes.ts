import { isSuccess, parseAnswer, readMessage } from '../../client/answers.js';
import { errorType } from '../../common/errors.js';
import { cleanLine } from '../../common/text.js';
import type { Shop } from '../../config/resolved-options.js';
import { judge, type Expectation, type Finding } from './findings.js';
import { rawGet, type RawAnswer } from './raw-request.js';

/** Result of a probe: the answer, or why there is none. */
export interface Asked {
  readonly answer?: RawAnswer;
  readonly failure?: string;
}

const DAY_MS = 24 * 3_600_000;
const MIN_VALIDITY_MS = 14 * DAY_MS;
const MAX_SKEW_MS = 60_000;

const REACHABLE: Expectation = {
  name: 'reachable',
  section: '4.2',
  basis: 'documented',
  expectation: 'GET {base_url}/api/v1/bill/payments is answered.',
};
const TLS: Expectation = {
  name: 'tls',
  section: '4.2',
  basis: 'assumed',
  expectation: 'The certificate is trusted by this machine and stays valid for 14 days or more.',
};
const CLOCK: Expectation = {
  name: 'clock',
  section: '2.3',
  basis: 'assumed',
  expectation: "The service's clock and this machine's agree within a minute.",
};
const NO_TOKEN: Expectation = {
  name: 'no-token',
  section: '5.2',
  basis: 'assumed',
  expectation: 'A request without a token is answered 401 Unauthenticated.',
};
const WRONG_TOKEN: Expectation = {
  name: 'wrong-token',
  section: '5.2',
  basis: 'documented',
  expectation: 'A request with an invalid token is answered 401 Unauthenticated.',
};
const UNKNOWN_BILL: Expectation = {
  name: 'unknown-bill',
  section: '7',
  basis: 'documented',
  expectation: "With the shop's token, an unknown bill is answered 403 api:error.bill_not_found.",
};
const NO_ID: Expectation = {
  name: 'no-id',
  section: '4.2',
  basis: 'assumed',
  expectation: 'Without an id the answer is a 4xx other than 401.',
};
const ERROR_SHAPE: Expectation = {
  name: 'error-shape',
  section: '7',
  basis: 'assumed',
  expectation: 'Errors are JSON objects with a message, and success is false where it is there.',
};
const CONTENT_TYPE: Expectation = {
  name: 'content-type',
  section: '4.2',
  basis: 'assumed',
  expectation: 'Every answer is application/json.',
};

/** Sends requests that can find nothing: they name a bill that does not exist, or none. */
export class ApiProbes {
  constructor(
    private readonly shop: Shop,
    private readonly timeoutMs: number,
  ) {}

  async ask(id: string | undefined, token: string | undefined): Promise<Asked> {
    const query = id === undefined ? '' : `?id=${encodeURIComponent(id)}`;
    try {
      return { answer: await rawGet(`${this.shop.apiBaseUrl}/api/v1/bill/payments${query}`, token, this.timeoutMs) };
    } catch (error) {
      return { failure: errorType(error) };
    }
  }

  /** @param nobody an id that no bill has; it also serves as a token that no shop has */
  async run(nobody: string): Promise<Finding[]> {
    const unknown = await this.ask(nobody, this.shop.token.reveal());
    if (!unknown.answer) return this.unreachable(unknown.failure ?? 'no answer');
    const [none, wrong, idless] = [
      await this.ask(nobody, undefined),
      await this.ask(nobody, nobody),
      await this.ask(undefined, this.shop.token.reveal()),
    ];
    const all = [unknown, none, wrong, idless].flatMap(({ answer }) => answer ?? []);
    return [
      judge(REACHABLE, true, this.shown(unknown)),
      tlsOf(unknown.answer),
      clockOf(unknown.answer),
      this.answered(NO_TOKEN, none, ({ status, text }) => status === 401 && saysUnauthenticated(text)),
      this.answered(WRONG_TOKEN, wrong, ({ status, text }) => status === 401 && saysUnauthenticated(text)),
      this.answered(UNKNOWN_BILL, unknown, ({ status, text }) => status === 403 && text.includes('bill_not_found')),
      this.answered(NO_ID, idless, ({ status }) => status >= 400 && status < 500 && status !== 401),
      this.errorShape(all),
      judge(
        CONTENT_TYPE,
        all.every(isJson),
        [...new Set(all.map(({ contentType }) => typeOf(contentType)))].join(', '),
      ),
    ];
  }

  /** The answer's status and message, without any token of the shop. */
  shown({ answer, failure }: Asked): string {
    if (!answer) return `no answer (${failure ?? ''})`;
    const message = readMessage(answer.text, (line) => this.withoutTokens(line));
    return `${answer.status} ${message ?? 'without a message'}`;
  }

  private answered(expected: Expectation, asked: Asked, fits: (answer: RawAnswer) => boolean): Finding {
    return judge(expected, asked.answer && fits(asked.answer), this.shown(asked));
  }

  private errorShape(answers: readonly RawAnswer[]): Finding {
    const errors = answers.filter(({ status }) => status >= 400);
    const bodies = errors.map(({ text }) => parseAnswer(text));
    const fit = bodies.every((body) => body && typeof body.message === 'string' && !isSuccess(body));
    const names = [...new Set(bodies.flatMap((body) => (body ? Object.keys(body).slice(0, 8) : ['(no JSON object)'])))];
    const detail = this.withoutTokens(cleanLine(names.join(', ')).slice(0, 200));
    return judge(ERROR_SHAPE, errors.length === 0 ? undefined : fit, detail || 'no error was answered');
  }

  private unreachable(failure: string): Finding[] {
    const rest = [CLOCK, NO_TOKEN, WRONG_TOKEN, UNKNOWN_BILL, NO_ID, ERROR_SHAPE, CONTENT_TYPE];
    const distrusted = /CERT|SELF_SIGNED|UNABLE_TO|TLS|SSL|EPROTO/.test(failure);
    return [
      judge(REACHABLE, false, `no answer (${failure})`),
      judge(TLS, distrusted ? false : undefined, failure),
      ...rest.map((expected) => judge(expected, undefined, 'the service is not reachable')),
    ];
  }

  private withoutTokens(text: string): string {
    const { token, previousTokens } = this.shop;
    return [token, ...previousTokens].reduce((line, each) => line.replaceAll(each.reveal(), '[secret]'), text);
  }
}

function tlsOf({ tls }: RawAnswer): Finding {
  if (!tls) return judge(TLS, undefined, 'apiBaseUrl is an http address');
  const leftMs = tls.validTo.getTime() - Date.now();
  return judge(
    TLS,
    leftMs >= MIN_VALIDITY_MS,
    `${tls.protocol ?? 'TLS'}, valid for ${Math.floor(leftMs / DAY_MS)} days`,
  );
}

function clockOf({ clockAheadMs }: RawAnswer): Finding {
  if (clockAheadMs === undefined) return judge(CLOCK, undefined, 'the answer has no Date');
  const seconds = Math.round(clockAheadMs / 1_000);
  return judge(
    CLOCK,
    Math.abs(clockAheadMs) <= MAX_SKEW_MS,
    `the service is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}`,
  );
}

function saysUnauthenticated(text: string): boolean {
  return /^unauthenticated\.?$/i.test(readMessage(text) ?? '');
}

function isJson({ contentType }: RawAnswer): boolean {
  return typeOf(contentType) === 'application/json';
}

function typeOf(contentType: string | undefined): string {
  return cleanLine(contentType?.split(';')[0] ?? 'none')
    .slice(0, 60)
    .toLowerCase();
}
