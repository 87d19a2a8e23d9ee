import { Inject, Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../common/errors.js';
import { ownAddress, type SandboxRequest } from '../common/http.js';
import { FaultDice } from '../faults/fault-dice.js';
import type { RequestFault, RequestFaultSettings } from '../model/fault-document.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { type ApiAnswer, ApiRefusal, createdAnswer, paymentsAnswer } from './answers.js';
import { BillsService } from './bills.service.js';
import { type Parameters, readParameters } from './parameters.js';
import { type ApiOperation, type ApiRequest, RequestLog } from '../storage/request-log.js';

type Faults = Map<RequestFault, RequestFaultSettings>;

const REFUSALS: [RequestFault, () => ApiRefusal][] = [
  ['unauthenticated', ApiRefusal.unauthenticated],
  ['merchantNotFound', ApiRefusal.merchantNotFound],
  ['merchantBanned', ApiRefusal.merchantBanned],
  ['billNotFound', ApiRefusal.billNotFound],
  ['tooManyPayments', ApiRefusal.tooManyPayments],
];

const SPOILT: [RequestFault, (answer: ApiAnswer | undefined) => ApiAnswer][] = [
  ['status500', () => ({ status: 500, body: '{"message":"Server Error","success":false}' })],
  ['html', () => ({ status: 502, body: '<html><body><h1>502 Bad Gateway</h1></body></html>', type: 'text/html' })],
  ['malformed', (answer) => ({ status: answer?.status ?? 200, body: answer?.body.slice(0, -9) ?? '{"success":' })],
  ['empty', (answer) => ({ status: answer?.status ?? 200, body: '' })],
];
const DONE_BY_DEFAULT: ReadonlySet<RequestFault> = new Set(['malformed', 'empty']);

/** The life of an API request: log, faults before, operation, durability, holds, faults after, answer. */
@Injectable()
export class ApiGateway {
  constructor(
    private readonly bills: BillsService,
    private readonly dice: FaultDice,
    private readonly log: RequestLog,
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    @Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions,
  ) {}

  async serve(operation: ApiOperation, request: SandboxRequest, response: ServerResponse): Promise<void> {
    const entry = this.log.add(operation, this.clock.instant());
    const faults = this.dice.forRequest(operation);
    entry.faults = [...faults.keys()];
    let answer: ApiAnswer;
    try {
      const parameters = await readParameters(request);
      note(entry, parameters);
      if (faults.has('resetBefore')) return reset(request.socket);
      const slow = faults.get('slow');
      if (slow) await sleep(slow.ms ?? 2_000, undefined, { ref: false });
      answer = this.answer(entry, request, parameters, faults);
      await this.store.durable();
    } catch (error) {
      answer = refusalOf(error).answer;
    }
    await this.log.passHolds(operation);
    if (faults.has('loseAnswer')) return reset(request.socket);
    entry.status = answer.status;
    response.statusCode = answer.status;
    response.setHeader('content-type', answer.type ?? 'application/json');
    response.setHeader('cache-control', 'no-store');
    response.end(answer.body);
  }

  private answer(entry: ApiRequest, request: SandboxRequest, parameters: Parameters, faults: Faults): ApiAnswer {
    const [refused] = REFUSALS.filter(([fault]) => faults.has(fault));
    if (refused) return refused[1]().answer;
    const [spoilt] = SPOILT.filter(([fault]) => faults.has(fault));
    if (!spoilt) return this.operate(entry, request, parameters);
    const [fault, spoil] = spoilt;
    const done = faults.get(fault)?.done ?? DONE_BY_DEFAULT.has(fault);
    return spoil(done ? this.operate(entry, request, parameters) : undefined);
  }

  private operate(entry: ApiRequest, request: SandboxRequest, parameters: Parameters): ApiAnswer {
    try {
      return this.serveAuthenticated(entry, request, parameters);
    } catch (error) {
      return refusalOf(error).answer;
    }
  }

  private serveAuthenticated(entry: ApiRequest, request: SandboxRequest, parameters: Parameters): ApiAnswer {
    const shop = this.bills.authenticate(request.headers.authorization);
    if (entry.operation === 'payments') return paymentsAnswer(this.bills.payments(shop, parameters));
    const bill = this.bills.create(shop, parameters);
    entry.billId = bill.id;
    return createdAnswer(bill, this.options.payUrl?.replace(/\/+$/, '') ?? ownAddress(request));
  }
}

function note(entry: ApiRequest, parameters: Parameters): void {
  if (entry.operation === 'payments') entry.billId = parameters.get('id') ?? null;
  else entry.orderId = parameters.get('order_id') ?? null;
}

function refusalOf(error: unknown): ApiRefusal {
  if (error instanceof ApiRefusal) return error;
  if (error instanceof SandboxError) return ApiRefusal.other(error.status, error.message);
  throw error;
}

/** Ends the connection as a crashed server or a broken network does. */
function reset(socket: Socket): void {
  socket.resetAndDestroy();
}
