import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Callback,
  type LogLine,
  type RunningSandbox,
  startPaymentSandbox,
  type StartOptions,
} from 'nestjs-payment-sandbox';
import { LocalServer } from '../support/local-server.js';

export const TOKEN = '72|token-of-the-shop';

/** What a shop does with a request. */
export type Shop = (request: IncomingMessage, body: string, response: ServerResponse) => unknown;

export const answer =
  (status: number, body = '', headers: Record<string, string> = {}): Shop =>
  (_request, _body, response) =>
    response.writeHead(status, headers).end(body);

export const behindPrefix =
  (prefix: string): Shop =>
  ({ url }, _body, response) =>
    response.writeHead(url === `${prefix}/postback` ? 200 : 404).end();

class ToldServer extends LocalServer {
  constructor(
    private readonly shop: Shop,
    private readonly bodies: string[],
  ) {
    super();
  }

  protected override receive(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    this.bodies.push(body.toString());
    this.shop(request, body.toString(), response);
  }
}

/** A shop with scripted answers, which can also be down, and a sandbox that sends it postbacks. */
export class Trial {
  private constructor(
    private readonly server: ToldServer | undefined,
    readonly running: RunningSandbox,
    /** What the sandbox logged since the bill was made. */
    readonly lines: LogLine[],
    /** What the shop received. */
    readonly bodies: string[],
  ) {}

  static async open(shop: Shop | 'down', path = '/postback', options: StartOptions = {}): Promise<Trial> {
    const bodies: string[] = [];
    const lines: LogLine[] = [];
    const server = shop === 'down' ? undefined : await new ToldServer(shop, bodies).open();
    const resultUrl = `${server?.url ?? 'http://127.0.0.1:9'}${path}`;
    const log = (line: LogLine): number => lines.push(line);
    const shops = { main: { apiToken: TOKEN, resultUrl, successUrl: resultUrl } };
    const running = await startPaymentSandbox({ shops, log, diagnose: true, logger: false, ...options });
    return new Trial(server, running, lines, bodies);
  }

  /** Pays a bill and returns its postback. */
  async pay(): Promise<Callback> {
    const { url, sandbox } = this.running;
    const response = await fetch(`${url}/api/v1/bill/create?amount=100.05&order_id=o-1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { bill_id } = (await response.json()) as { bill_id: string };
    this.lines.length = 0;
    await sandbox.pay(bill_id);
    await sandbox.settled();
    return sandbox.bill(bill_id).callbacks[0]!;
  }

  async close(): Promise<void> {
    await this.running.close();
    await this.server?.close();
  }
}
