import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { MysqlWire, PostgresWire, type Wire } from './wire.js';

/**
 * What becomes of a statement. Cut: the connection ends before the server has it, or when the server has done it and
 * before its answer is through. Swallowed: the request, or the answer, is lost, and the connection stays open and silent.
 */
export const FAULTS = ['cut before', 'cut after', 'swallow request', 'swallow answer'] as const;
export type Fault = (typeof FAULTS)[number];

/** `write` is one inside a transaction, `lone write` one that commits by itself. */
export const KINDS = ['commit', 'lone write', 'write', 'other'] as const;
export type Kind = (typeof KINDS)[number];

export interface Statement {
  readonly kind: Kind;
  /** What it writes; of a COMMIT, what its transaction has written. */
  readonly writes: readonly string[];
  readonly text: string;
}

/** A proxy between one instance and the database that loses messages on demand. */
export class DatabaseProxy {
  /** Of the database, by way of this proxy. */
  url = '';
  /** Called for each statement before it is forwarded. */
  onStatement: (statement: Statement) => void = () => undefined;
  /** How many statements it has lost. */
  struck = 0;
  private armed: { readonly fits: (statement: Statement) => boolean; readonly fault: Fault } | undefined;
  private onSilence = (): void => undefined;
  private readonly lines = new Set<Line>();
  private readonly server: Server;

  private constructor(private readonly target: URL) {
    this.server = createServer((client) => {
      const line = new Line(client, this.target, (statement) => this.fate(statement));
      this.lines.add(line);
      line.onEnd = () => this.lines.delete(line);
      line.onSilence = () => this.onSilence();
    });
  }

  static async open(databaseUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(databaseUrl));
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(proxy.server.address() as AddressInfo).port}`;
    proxy.url = url.href;
    return proxy;
  }

  /** Does this to the next statement that fits, and to no other. */
  arm(fault: Fault, fits: (statement: Statement) => boolean): void {
    this.armed = { fits, fault };
  }

  disarm(): void {
    this.armed = undefined;
  }

  /** Resolves when a connection falls silent. */
  silence(): Promise<void> {
    return new Promise((resolve) => (this.onSilence = resolve));
  }

  /** Ends the connections that are silent, as TCP does in the end. */
  release(): void {
    for (const line of this.lines) if (line.silent) line.end();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const line of this.lines) line.end();
    await closed;
  }

  private fate(statement: Statement): Fault | undefined {
    this.onStatement(statement);
    if (!this.armed?.fits(statement)) return undefined;
    const { fault } = this.armed;
    this.armed = undefined;
    this.struck += 1;
    return fault;
  }
}

/** One connection. */
class Line {
  silent = false;
  onEnd = (): void => undefined;
  onSilence = (): void => undefined;
  private readonly server: Socket;
  private readonly wire: Wire;
  private readonly told = new Transactions();
  private fault: Fault | undefined;

  constructor(
    private readonly client: Socket,
    target: URL,
    private readonly fate: (statement: Statement) => Fault | undefined,
  ) {
    const isMysql = target.protocol !== 'postgres:' && target.protocol !== 'postgresql:';
    this.wire = isMysql ? new MysqlWire() : new PostgresWire();
    this.server = connect(Number(target.port || (isMysql ? 3306 : 5432)), target.hostname);
    for (const socket of [this.client, this.server]) {
      socket.setNoDelay();
      socket.on('error', () => undefined);
      // What a silent connection loses is also the word that its other side has ended.
      socket.on('close', () => this.silent || this.end());
    }
    this.client.on('data', (bytes: Buffer) => this.ask(bytes));
    this.server.on('data', (bytes: Buffer) => this.answer(bytes));
  }

  end(): void {
    this.client.destroy();
    this.server.destroy();
    this.onEnd();
  }

  private ask(bytes: Buffer): void {
    for (const message of this.wire.asked(bytes)) {
      if (message.statement !== undefined && !this.fault) this.meet(message.statement);
      if (this.fault === 'cut before') return this.end();
      if (this.fault !== 'swallow request') this.server.write(message.bytes);
    }
  }

  private meet(text: string): void {
    this.fault = this.fate(this.told.read(text));
    if (!this.fault?.startsWith('swallow')) return;
    this.silent = true;
    this.onSilence();
  }

  private answer(bytes: Buffer): void {
    const ended = this.wire.answered(bytes);
    if (!this.fault) this.client.write(bytes);
    else if (this.fault === 'cut after' && ended) this.end();
  }
}

/** Where the statements of a connection stand: inside a transaction, or alone. */
class Transactions {
  private within: string[] | undefined;

  read(text: string): Statement {
    const writes = Array.from(text.matchAll(WRITE), ([, verb, table]) => `${verb!} ${table!}`);
    if (/^(COMMIT|ROLLBACK)\b/.test(text)) {
      const written = this.within ?? [];
      this.within = undefined;
      return { kind: text.startsWith('COMMIT') && written.length > 0 ? 'commit' : 'other', writes: written, text };
    }
    if (/^(START TRANSACTION|BEGIN)\b/.test(text)) this.within = [];
    this.within?.push(...writes);
    return { kind: writes.length === 0 ? 'other' : this.within ? 'write' : 'lone write', writes, text };
  }
}

// Not the lock of FOR UPDATE, nor what an INSERT does instead.
const WRITE =
  /(?<!\b(?:FOR|DO|KEY) )\b(INSERT|UPDATE|DELETE)\s+(?:INTO\s+|FROM\s+)?["`]?(?:payment_acceptance[._])?["`]?(\w+)["`]?(?=[\s(])/g;
