import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface GivenAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A proxy between one instance and the service. Requests pass through at once; while the gate is shut, answers wait. A test
 * can also have it answer with old lists, or with answers of its own.
 */
export class Gate {
  private readonly server: Server;
  private readonly lists = new Map<string, string>();
  private readonly given = new Map<string, GivenAnswer>();
  private isLagging = false;
  private waiting: Promise<void> | undefined;
  private release = (): void => undefined;
  private arrived = (): void => undefined;
  private arrival = new Promise<void>((resolve) => (this.arrived = resolve));

  constructor(private readonly target: string) {
    this.server = createServer((request, response) => {
      // Whoever asks learns that the service is gone, as without a proxy: it may close while a request is under way.
      this.pass(request, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  shut(): void {
    this.arrival = new Promise<void>((resolve) => (this.arrived = resolve));
    this.waiting = new Promise<void>((resolve) => (this.release = resolve));
  }

  /** Resolves when an answer is waiting. */
  reached(): Promise<void> {
    return this.arrival;
  }

  /** Releases the waiting answers. */
  open(): void {
    this.waiting = undefined;
    this.release();
  }

  /** From now on, repeats the last list of each bill, or an empty one: like a replica that lags behind the postbacks. */
  lag(): void {
    this.isLagging = true;
  }

  catchUp(): void {
    this.isLagging = false;
  }

  /** From now on, answers requests about this bill with `answer`; `undefined` restores the service's own answers. */
  answer(billId: string, answer: GivenAnswer | undefined): void {
    if (answer) this.given.set(billId, answer);
    else this.given.delete(billId);
  }

  close(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = request.url ?? '';
    if (this.isLagging) {
      response.end(this.lists.get(asked) ?? '{"data":[],"success":true}');
      return;
    }
    const scripted = this.given.get(new URL(asked, this.target).searchParams.get('id') ?? '');
    if (scripted) {
      const { status, headers, body } = scripted;
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
      return;
    }
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const { method } = request;
    const sent = method === 'POST' ? await text(request) : undefined;
    const answer = await fetch(this.target + asked, {
      method,
      headers: { authorization, 'content-type': type },
      body: sent,
    });
    const body = await answer.text();
    this.lists.set(asked, body);
    if (this.waiting) this.arrived();
    await this.waiting;
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  }
}

export async function startGate(target: string): Promise<Gate> {
  const gate = new Gate(target);
  await gate.listen();
  return gate;
}
