import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { dirname, join } from 'node:path';

interface Method {
  readonly [field: string]: number;
}
// Not among the exports of the package: found beside its main file.
const require = createRequire(import.meta.url);
const definitions = require(join(dirname(require.resolve('amqplib')), 'lib/defs.js')) as Method & {
  encodeMethod(id: number, channel: number, fields: object): Buffer;
};

const METHOD_FRAME = 1;
const HEADER_BYTES = 'AMQP0091'.length;

/**
 * What a publisher meets. Under an alarm (`blocked` tells of it, `silent` does not) RabbitMQ lets everyone in, and reads
 * nothing more of a connection that has published; `lost` ends the connection, `rejected` its channel, as for a message
 * that is too large.
 */
export type Trouble = 'blocked' | 'silent' | 'lost' | 'rejected';

/** As RabbitMQ is in trouble; when it ends, all that was sent meanwhile is confirmed. */
export async function startTroubledRabbitMq(trouble: Trouble) {
  const held = new Set<() => void>();
  const count = { connections: 0, published: 0 };
  let troubled = true;

  const serve = (socket: Socket): void => {
    count.connections += 1;
    let unread = Buffer.alloc(0);
    let greeted = false;
    let tag = 0;
    let blocked = false;
    const say = (name: string, channel: number, fields: object): void => {
      if (socket.writable) socket.write(definitions.encodeMethod(definitions[name]!, channel, fields));
    };
    const answers = new Map<number, (channel: number) => void>([
      [
        definitions['ConnectionStartOk']!,
        () => say('ConnectionTune', 0, { channelMax: 0, frameMax: 131_072, heartbeat: 0 }),
      ],
      [definitions['ConnectionOpen']!, () => say('ConnectionOpenOk', 0, { knownHosts: '' })],
      [definitions['ConnectionClose']!, () => say('ConnectionCloseOk', 0, {})],
      [definitions['ChannelOpen']!, (channel) => say('ChannelOpenOk', channel, { channelId: Buffer.alloc(0) })],
      [definitions['ConfirmSelect']!, (channel) => say('ConfirmSelectOk', channel, {})],
      [definitions['ExchangeDeclare']!, (channel) => say('ExchangeDeclareOk', channel, {})],
      [definitions['BasicPublish']!, (channel) => published(channel)],
    ]);
    const published = (channel: number): void => {
      count.published += 1;
      tag += 1;
      const deliveryTag = tag;
      const confirm = (): void => say('BasicAck', channel, { deliveryTag, multiple: false });
      if (!troubled) return confirm();
      if (trouble === 'lost') return void socket.destroy();
      if (trouble === 'rejected') {
        const cause = { replyCode: 406, replyText: 'PRECONDITION_FAILED - too large', classId: 60, methodId: 40 };
        return say('ChannelClose', channel, cause);
      }
      held.add(() => {
        if (blocked) say('ConnectionUnblocked', 0, {});
        blocked = false;
        confirm();
      });
      if (trouble === 'silent') return;
      say('ConnectionBlocked', 0, { reason: 'low on memory' });
      blocked = true;
    };
    const read = (): void => {
      if (!greeted) {
        if (unread.length < HEADER_BYTES) return;
        unread = unread.subarray(HEADER_BYTES);
        greeted = true;
        const who = { mechanisms: Buffer.from('PLAIN'), locales: Buffer.from('en_US') };
        say('ConnectionStart', 0, { versionMajor: 0, versionMinor: 9, serverProperties: {}, ...who });
      }
      while (unread.length >= 7 && unread.length >= unread.readUInt32BE(3) + 8) {
        const [type, channel, end] = [unread[0], unread.readUInt16BE(1), unread.readUInt32BE(3) + 8];
        const method = unread.readUInt32BE(7);
        unread = unread.subarray(end);
        if (type === METHOD_FRAME) answers.get(method)?.(channel);
      }
    };
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      unread = Buffer.concat([unread, data]);
      if (troubled && tag > 0 && trouble !== 'rejected') held.add(read);
      else read();
    });
  };

  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `amqp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count,
    end(): void {
      troubled = false;
      for (const go of held) go();
      held.clear();
    },
    close: () => new Promise<unknown>((resolve) => server.close(resolve)),
  };
}
