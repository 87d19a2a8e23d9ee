/** A message of a client to its database. */
export interface Message {
  readonly bytes: Buffer;
  /** The statement that is sent for execution with it. */
  readonly statement?: string;
}

/** The traffic of one connection, split into messages. */
export interface Wire {
  /** The client's messages in these bytes, including one that began earlier. */
  asked(bytes: Buffer): Message[];
  /** Whether the answer to a statement has ended with these bytes of the server. */
  answered(bytes: Buffer): boolean;
}

/** Collects bytes until messages are whole. */
class Whole {
  private rest = Buffer.alloc(0);

  /** @param lengthOf the whole length of the message that these bytes begin with; `undefined` for too few to tell */
  *take(bytes: Buffer, lengthOf: (rest: Buffer) => number | undefined): Generator<Buffer> {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (;;) {
      const length = lengthOf(this.rest);
      if (length === undefined || this.rest.length < length) return;
      const message = this.rest.subarray(0, length);
      this.rest = this.rest.subarray(length);
      yield message;
    }
  }
}

/** PostgreSQL's protocol, version 3. */
export class PostgresWire implements Wire {
  private readonly client = new Whole();
  private readonly server = new Whole();
  private readonly prepared = new Map<string, string>();
  /** The first message of a client has no type. */
  private begun = false;

  asked(bytes: Buffer): Message[] {
    const messages: Message[] = [];
    const lengthOf = (rest: Buffer) =>
      this.begun ? typedLength(rest) : rest.length < 4 ? undefined : rest.readInt32BE();
    for (const message of this.client.take(bytes, lengthOf)) {
      const statement = this.begun ? this.statementOf(message) : undefined;
      this.begun = true;
      messages.push({ bytes: message, ...(statement !== undefined && { statement }) });
    }
    return messages;
  }

  answered(bytes: Buffer): boolean {
    let ready = false;
    for (const message of this.server.take(bytes, typedLength)) ready ||= type(message) === 'Z';
    return ready;
  }

  private statementOf(message: Buffer): string | undefined {
    const [first = '', second = ''] = message.toString('utf8', 5).split('\0', 2);
    if (type(message) === 'Q') return first;
    if (type(message) === 'P') this.prepared.set(first, second);
    // The name of the portal comes first.
    return type(message) === 'B' ? (this.prepared.get(second) ?? '') : undefined;
  }
}

const type = (message: Buffer): string => String.fromCharCode(message[0]!);
const typedLength = (rest: Buffer): number | undefined => (rest.length < 5 ? undefined : 1 + rest.readInt32BE(1));

const COMMAND = { query: 0x03, prepare: 0x16, execute: 0x17 };

/** The protocol of MySQL and MariaDB, as far as `mysql2` speaks it here: statements as text, one answer at a time. */
export class MysqlWire implements Wire {
  private readonly client = new Whole();
  private readonly server = new Whole();
  /** Packets of the present answer that end a part of it: the columns, then the rows. */
  private ends = 0;
  private first = true;

  asked(bytes: Buffer): Message[] {
    return Array.from(this.client.take(bytes, packetLength), (packet) => {
      // Others belong to signing in.
      const command = packet[3] === 0 ? packet[4] : undefined;
      if (command !== undefined) [this.first, this.ends] = [true, 0];
      if (command === COMMAND.prepare || command === COMMAND.execute) {
        throw new Error('A prepared statement, which this proxy cannot read.');
      }
      return { bytes: packet, ...(command === COMMAND.query && { statement: packet.toString('utf8', 5) }) };
    });
  }

  answered(bytes: Buffer): boolean {
    let ended = false;
    for (const packet of this.server.take(bytes, packetLength)) ended ||= this.endsAnswer(packet);
    return ended;
  }

  private endsAnswer(packet: Buffer): boolean {
    const { first } = this;
    this.first = false;
    const kind = packet[4];
    if (kind === 0xff || (first && kind === 0x00)) return true;
    if (kind === 0xfe && packet.length < 13) this.ends += 1;
    return this.ends === 2;
  }
}

const packetLength = (rest: Buffer): number | undefined => (rest.length < 4 ? undefined : 4 + rest.readUIntLE(0, 3));
