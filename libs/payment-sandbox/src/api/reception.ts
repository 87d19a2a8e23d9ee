import { Inject, Injectable } from '@nestjs/common';
import { type Body, readBody, type SandboxRequest } from '../common/http.js';
import { jsonText } from '../common/json-text.js';
import { oneLine, type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { type ApiOperation, type ReceivedRequest, RequestLog } from '../storage/request-log.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import type { ApiAnswer } from './answers.js';
import { UNSET_TOKEN_PATTERN } from './reasons.js';
import { headerWithoutSecrets, withoutSecrets } from './secrets.js';

const MAX_KEPT_BYTES = 8 * 1024;

@Injectable()
export class Reception {
  private readonly begun = new WeakMap<ReceivedRequest, { at: number; tokens: string[] }>();

  constructor(
    private readonly log: RequestLog,
    private readonly clock: SandboxClock,
    @Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions,
  ) {}

  begin(request: SandboxRequest, operation: ApiOperation | null): ReceivedRequest {
    const tokens = tokensOf(request);
    const received = this.log.receive({
      at: this.clock.instant(),
      method: request.method ?? '',
      address: withoutSecrets(request.originalUrl ?? request.url ?? '', tokens),
      operation,
      headers: headersOf(request, tokens),
    });
    this.begun.set(received, { at: performance.now(), tokens });
    return received;
  }

  /** Records a request that Node.js could not read. */
  beginUnread(method: string, address: string): ReceivedRequest {
    const at = this.clock.instant();
    return this.log.receive({ at, method, address, operation: null, headers: [] });
  }

  /** Records the first bytes of the body. */
  async body(received: ReceivedRequest, request: SandboxRequest): Promise<Body> {
    const body = await readBody(request);
    const bytes = 'bytes' in body ? body.bytes : Buffer.from(jsonText(body.parsed));
    received.bodyBytes = bytes.length;
    received.body = withoutSecrets(firstOf(bytes), tokensOf(request));
    return body;
  }

  /**
   * @param answer null if there was none, because the connection was reset or was not HTTP
   * @param known what the request was about, as far as it got
   */
  end(
    received: ReceivedRequest,
    problem: string | null,
    answer: ApiAnswer | null,
    known: Partial<Pick<ReceivedRequest, 'shopId' | 'orderId' | 'billId' | 'faults' | 'remark'>> = {},
  ): void {
    const { at, tokens } = this.begun.get(received) ?? { at: performance.now(), tokens: [] };
    const hidden = (text: string | null = null): string | null => text && withoutSecrets(text, tokens);
    Object.assign(received, known, {
      orderId: hidden(known.orderId),
      billId: hidden(known.billId),
      problem: hidden(problem),
      remark: hidden(known.remark),
      status: answer?.status ?? null,
      answer: answer && firstOf(Buffer.from(answer.body)),
      durationMs: Math.round(performance.now() - at),
    });
    this.options.log?.({ at: received.at, text: lineOf(received), problem: received.problem !== null });
  }
}

/** Makes the line for the log, such as `POST bill/create demo-main order-1: 200`. */
function lineOf(received: ReceivedRequest): string {
  const { method, address, operation, shopId, orderId, billId, status, problem } = received;
  const what = operation === null ? address.slice(0, 200) : `bill/${operation}`;
  const subject = [method, what, shopId, operation === 'payments' ? billId : orderId].filter(Boolean).join(' ');
  return oneLine(`${subject}: ${status ?? 'no answer'}${problem === null ? '' : `, ${problem}`}`);
}

function headersOf({ rawHeaders }: SandboxRequest, tokens: readonly string[]): ReceivedRequest['headers'] {
  const headers: { name: string; value: string }[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    headers.push({ name, value: headerWithoutSecrets(name, value, tokens) });
  }
  return headers;
}

/** Returns the token of the Authorization header, which must be hidden wherever else the request repeats it. */
function tokensOf({ headers }: SandboxRequest): string[] {
  const token = /(\S+) *$/.exec(headers.authorization ?? '')?.[1];
  return token === undefined || UNSET_TOKEN_PATTERN.test(token) ? [] : [token];
}

/** A copy, so that the rest of the bytes can be garbage-collected. */
function firstOf(bytes: Buffer): string {
  return bytes.subarray(0, MAX_KEPT_BYTES).toString('utf8');
}
