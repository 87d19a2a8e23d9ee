import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { dirname, join } from 'node:path';

interface Method {
  readonly [field: string]: number;
}
// Not exported by the package, so located next to its main file.
const require = createRequire(import.meta.url);
const definitions = require(join(dirname(require.resolve('amqplib')), 'lib/defs.js')) as Method & {
  encodeMethod(id: number, channel: number, fields: object): Buffer;
};

const METHOD_FRAME = 1;
const HEADER_BYTES = 'AMQP0091'.length;

/**
 * What happens to a publisher. Under an alarm (`blocked` announces it, `silent` does not) RabbitMQ accepts connections
 * but stops reading from one that has published; `lost` ends the connection, `rejected` its channel, as for an
 * oversized message, and `rejected once` only the first.
 */
export type Trouble = 'blocked' | 'silent' | 'lost' | 'rejected' | 'rejected once';

/** A RabbitMQ in trouble. When the trouble ends, all that was sent meanwhile is confirmed. */
export async function startTroubledRabbitMq(trouble: Trouble) {
  const held = new Set<() => void>();
  const count = { connections: 0, published: 0 };
  const broker: Broker = { trouble, troubled: true, held, count };
  const server = createServer((socket) => new Connection(broker, socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `amqp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count,
    end(): void {
      broker.troubled = false;
      for (const go of held) go();
      held.clear();
    },
    close: () => new Promise<unknown>((resolve) => server.close(resolve)),
  };
}

interface Broker {
  readonly trouble: Trouble;
  troubled: boolean;
  /** What runs when the trouble ends. */
  readonly held: Set<() => void>;
  readonly count: { connections: number; published: number };
}

/** The broker's side of one connection. */
class Connection {
  private unread = Buffer.alloc(0);
  private greeted = false;
  private tag = 0;
  private blocked = false;
  private readonly answers = new Map<number, (channel: number) => void>([
    [
      definitions['ConnectionStartOk']!,
      () => this.say('ConnectionTune', 0, { channelMax: 0, frameMax: 131_072, heartbeat: 0 }),
    ],
    [definitions['ConnectionOpen']!, () => this.say('ConnectionOpenOk', 0, { knownHosts: '' })],
    [definitions['ConnectionClose']!, () => this.say('ConnectionCloseOk', 0, {})],
    [definitions['ChannelOpen']!, (channel) => this.say('ChannelOpenOk', channel, { channelId: Buffer.alloc(0) })],
    [definitions['ConfirmSelect']!, (channel) => this.say('ConfirmSelectOk', channel, {})],
    [definitions['ExchangeDeclare']!, (channel) => this.say('ExchangeDeclareOk', channel, {})],
    [definitions['BasicPublish']!, (channel) => this.published(channel)],
  ]);

  constructor(
    private readonly broker: Broker,
    private readonly socket: Socket,
  ) {
    broker.count.connections += 1;
    const read = (): void => this.read();
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      this.unread = Buffer.concat([this.unread, data]);
      if (broker.troubled && this.tag > 0 && !broker.trouble.startsWith('rejected')) broker.held.add(read);
      else read();
    });
  }

  private say(name: string, channel: number, fields: object): void {
    if (this.socket.writable) this.socket.write(definitions.encodeMethod(definitions[name]!, channel, fields));
  }

  private published(channel: number): void {
    const { trouble, troubled, held, count } = this.broker;
    count.published += 1;
    this.tag += 1;
    const deliveryTag = this.tag;
    const confirm = (): void => this.say('BasicAck', channel, { deliveryTag, multiple: false });
    if (!troubled) return confirm();
    if (trouble === 'lost') return void this.socket.destroy();
    if (trouble === 'rejected once') this.broker.troubled = false;
    if (trouble.startsWith('rejected')) {
      const cause = { replyCode: 406, replyText: 'PRECONDITION_FAILED - too large', classId: 60, methodId: 40 };
      return this.say('ChannelClose', channel, cause);
    }
    held.add(() => {
      if (this.blocked) this.say('ConnectionUnblocked', 0, {});
      this.blocked = false;
      confirm();
    });
    if (trouble === 'silent') return;
    this.say('ConnectionBlocked', 0, { reason: 'low on memory' });
    this.blocked = true;
  }

  private read(): void {
    if (!this.greeted) {
      if (this.unread.length < HEADER_BYTES) return;
      this.unread = this.unread.subarray(HEADER_BYTES);
      this.greeted = true;
      const greeting = { mechanisms: Buffer.from('PLAIN'), locales: Buffer.from('en_US') };
      this.say('ConnectionStart', 0, { versionMajor: 0, versionMinor: 9, serverProperties: {}, ...greeting });
    }
    while (this.unread.length >= 7 && this.unread.length >= this.unread.readUInt32BE(3) + 8) {
      const end = this.unread.readUInt32BE(3) + 8;
      const [type, channel, method] = [this.unread[0], this.unread.readUInt16BE(1), this.unread.readUInt32BE(7)];
      this.unread = this.unread.subarray(end);
      if (type === METHOD_FRAME) this.answers.get(method)?.(channel);
    }
  }
}
