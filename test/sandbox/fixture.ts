import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type RunningSandbox, startPaymentSandbox, type StartOptions } from 'nestjs-payment-sandbox';
import { LocalServer } from '../support/local-server.js';

export const TOKEN = 'token-of-main';
export const OTHER_TOKEN = 'token-of-other';

/** A request that the shop received. */
export interface ShopRequest {
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A shop's web server that records requests and answers as the test says. */
export class ShopServer extends LocalServer {
  readonly requests: ShopRequest[] = [];
  /** Statuses of the next answers; then 200. */
  statuses: number[] = [];
  body = 'OK';
  /** While set, no request is answered before it resolves. */
  gate: Promise<void> | undefined;

  protected override receive(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    this.requests.push({ url: request.url ?? '', headers: request.headers, body: body.toString('utf8') });
    this.server.emit('received');
    void (this.gate ?? Promise.resolve()).then(() => {
      response.writeHead(this.statuses.shift() ?? 200, { location: `${this.url}/elsewhere` }).end(this.body);
    });
  }

  /** Resolves when a request has arrived. */
  async received(): Promise<void> {
    if (this.requests.length === 0) await once(this.server, 'received');
  }

  get bodies(): Record<string, string>[] {
    return this.requests.map(({ body }) => JSON.parse(body) as Record<string, string>);
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const json = (isJson && text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, text, json };
}

/** A sandbox with two shops on one shop server. */
export class Fixture {
  private constructor(
    readonly shopServer: ShopServer,
    readonly running: RunningSandbox,
  ) {}

  static async open(options: StartOptions = {}): Promise<Fixture> {
    const shopServer = await new ShopServer().open();
    const shop = (apiToken: string) => ({
      apiToken,
      successUrl: `${shopServer.url}/success`,
      failUrl: `${shopServer.url}/fail`,
      resultUrl: `${shopServer.url}/result`,
    });
    const shops = { main: shop(TOKEN), other: shop(OTHER_TOKEN) };
    return new Fixture(shopServer, await startPaymentSandbox({ shops, ...options }));
  }

  get url(): string {
    return this.running.url;
  }

  get sandbox() {
    return this.running.sandbox;
  }

  async close(): Promise<void> {
    await this.running.close();
    await this.shopServer.close();
  }

  async call(path: string, init: RequestInit = {}, token = TOKEN): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) };
    return answerOf(await fetch(`${this.url}${path}`, { redirect: 'manual', ...init, headers }));
  }

  /** Creates a bill as the specification says: by a multipart form. */
  create(fields: Record<string, string> = {}, token = TOKEN): Promise<Answer> {
    const body = new FormData();
    for (const [name, value] of Object.entries({ amount: '100.05', order_id: 'order-1', ...fields })) {
      body.set(name, value);
    }
    return this.call('/api/v1/bill/create', { method: 'POST', body }, token);
  }

  async bill(fields: Record<string, string> = {}): Promise<string> {
    return (await this.create(fields)).json['bill_id'] as string;
  }

  payments(billId: string, token = TOKEN): Promise<Answer> {
    return this.call(`/api/v1/bill/payments?id=${billId}`, {}, token);
  }

  control(method: string, path: string, body?: unknown): Promise<Answer> {
    const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    return this.call(`/sandbox${path}`, { method, ...init });
  }
}

/** A clock that stands still until a test, or the sandbox's control interface, moves it. */
export class StillClock {
  constructor(public ms = Date.UTC(2026, 10, 21, 12)) {}

  now(): number {
    return this.ms;
  }
}
