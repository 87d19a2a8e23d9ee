import { Inject, Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../common/errors.js';
import { type Body, ownAddress, type SandboxRequest } from '../common/http.js';
import { FaultDice } from '../faults/fault-dice.js';
import type { RequestFault, RequestFaultSettings } from '../model/fault-document.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { type ApiOperation, type ApiRequest, type ReceivedRequest, RequestLog } from '../storage/request-log.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { type ApiAnswer, ApiRefusal, createdAnswer, DOCUMENTED_ERROR_NAMES, paymentsAnswer } from './answers.js';
import { BillsService } from './bills.service.js';
import { refusalOfAddress } from './neighbours.js';
import { type Parameters, readParameters } from './parameters.js';
import { Reception } from './reception.js';
import { remarkOn } from './remarks.js';

const ANSWER_FAULTS: [RequestFault, (answer: ApiAnswer | undefined) => ApiAnswer][] = [
  ['status500', () => ({ status: 500, body: '{"message":"Server Error","success":false}' })],
  ['html', () => ({ status: 502, body: '<html><body><h1>502 Bad Gateway</h1></body></html>', type: 'text/html' })],
  ['malformed', (answer) => ({ status: answer?.status ?? 200, body: answer?.body.slice(0, -9) ?? '{"success":' })],
  ['empty', (answer) => ({ status: answer?.status ?? 200, body: '' })],
];
const DONE_BY_DEFAULT: ReadonlySet<RequestFault> = new Set(['malformed', 'empty']);

interface Call {
  request: SandboxRequest;
  faults: Map<RequestFault, RequestFaultSettings>;
  /** The record that tests read. */
  entry: ApiRequest;
  /** The record that the console shows. */
  received: ReceivedRequest;
  shopId: string | null;
  /** Why the request was refused; null if it was not. */
  why: string | null;
  /** What was odd about the request; null if nothing was. */
  remark: string | null;
}

/**
 * Processes an API request in this order: logs it, applies the faults that come before the operation, carries out the
 * operation, makes it durable, waits for holds, applies the fault that loses the answer, and answers.
 */
@Injectable()
export class ApiGateway {
  constructor(
    private readonly bills: BillsService,
    private readonly dice: FaultDice,
    private readonly log: RequestLog,
    private readonly reception: Reception,
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    @Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions,
  ) {}

  async serve(operation: ApiOperation, request: SandboxRequest, response: ServerResponse): Promise<void> {
    const call: Call = {
      request,
      entry: this.log.add(operation, this.clock.instant()),
      received: this.reception.begin(request, operation),
      faults: this.dice.forRequest(operation),
      shopId: null,
      why: null,
      remark: null,
    };
    call.entry.faults = [...call.faults.keys()];
    let answer: ApiAnswer | null = null;
    try {
      answer = await this.process(call);
      if (answer) await this.log.passHolds(operation);
      if (call.faults.has('loseAnswer')) answer = null;
    } catch (error) {
      call.why = 'the sandbox itself failed: see its log';
      throw error;
    } finally {
      call.entry.status = answer?.status ?? null;
      const { shopId, remark, entry } = call;
      const { orderId, billId, faults } = entry;
      this.reception.end(call.received, problemOf(call), answer, { shopId, orderId, billId, faults, remark });
    }
    if (answer) send(response, answer);
    else request.socket.resetAndDestroy(); // as a crashed server or a broken network does
  }

  async refuse(request: SandboxRequest, response: ServerResponse): Promise<void> {
    const received = this.reception.begin(request, null);
    const [path = ''] = (request.originalUrl ?? request.url ?? '').split('?');
    const { answer, why } = refusalOfAddress(received.method, path);
    // The body is read only to record it: the address is wrong even if the body does not arrive.
    await this.reception.body(received, request).catch(() => undefined);
    this.reception.end(received, why, answer);
    send(response, answer);
  }

  /** Records that a client began a TLS connection on the plain HTTP port. */
  refuseTls(): void {
    const problem = 'TLS on a port that speaks plain HTTP: the base address in the client must start with http://';
    this.reception.end(this.reception.beginUnread('TLS', 'ClientHello'), problem, null);
  }

  /** Records a request whose address has bytes that Node.js rejects, and returns the answer. */
  refuseRawAddress(method: string): ApiAnswer {
    const { answer } = new ApiRefusal(400, 'The address has characters that are not percent-encoded.');
    const problem = 'the address has characters that are not percent-encoded: send é as %C3%A9 in a query';
    this.reception.end(this.reception.beginUnread(method, '(unreadable address)'), problem, answer);
    return answer;
  }

  /** Returns null if a fault resets the connection before anything is done. */
  private async process(call: Call): Promise<ApiAnswer | null> {
    const { request, received, entry, faults } = call;
    try {
      const parameters = await this.parametersOf(request, await this.reception.body(received, request));
      if (entry.operation === 'payments') entry.billId = parameters.get('id') ?? null;
      else entry.orderId = parameters.get('order_id') ?? null;
      if (faults.has('resetBefore')) return null;
      const slow = faults.get('slow');
      if (slow) await sleep(slow.ms ?? 2_000, undefined, { ref: false });
      const answer = this.answer(call, parameters);
      await this.store.durable();
      return answer;
    } catch (error) {
      return refusalAnswer(call, error);
    }
  }

  /** Reports a wrong token before any problem with the body. */
  private async parametersOf(request: SandboxRequest, body: Body): Promise<Parameters> {
    try {
      return await readParameters(request, body);
    } catch (error) {
      this.bills.authenticate(request.headers.authorization, new Map());
      throw error;
    }
  }

  private answer(call: Call, parameters: Parameters): ApiAnswer {
    const { faults } = call;
    const refusal = DOCUMENTED_ERROR_NAMES.find((error) => faults.has(error));
    if (refusal) return ApiRefusal.documented(refusal).answer;
    const activeFault = ANSWER_FAULTS.find(([fault]) => faults.has(fault));
    if (!activeFault) return this.operate(call, parameters);
    const [fault, distort] = activeFault;
    const done = faults.get(fault)?.done ?? DONE_BY_DEFAULT.has(fault);
    return distort(done ? this.operate(call, parameters) : undefined);
  }

  private operate(call: Call, parameters: Parameters): ApiAnswer {
    try {
      const { operation } = call.entry;
      const shop = this.bills.authenticate(call.request.headers.authorization, parameters);
      call.shopId = shop.id;
      call.remark = remarkOn(operation, call.received, parameters, shop);
      if (operation === 'payments') return paymentsAnswer(this.bills.payments(shop, parameters));
      const bill = this.bills.create(shop, parameters);
      call.entry.billId = bill.id;
      return createdAnswer(bill, shop, this.options.payUrl?.replace(/\/+$/, '') ?? ownAddress(call.request));
    } catch (error) {
      return refusalAnswer(call, error);
    }
  }
}

function refusalAnswer(call: Call, error: unknown): ApiAnswer {
  const refusal = error instanceof SandboxError ? new ApiRefusal(error.status, error.message) : error;
  if (!(refusal instanceof ApiRefusal)) throw error;
  call.why = refusal.why;
  return refusal.answer;
}

function problemOf({ entry, why }: Call): string | null {
  const { faults } = entry;
  const met = faults.length > 0 && `caused by the fault${faults.length > 1 ? 's' : ''} ${faults.join(', ')}`;
  return [met, why].filter(Boolean).join('; ') || null;
}

function send(response: ServerResponse, answer: ApiAnswer): void {
  response.writeHead(answer.status, {
    'content-type': answer.type ?? 'application/json',
    'cache-control': 'no-store',
  });
  response.end(answer.body);
}
