import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between an application and a broker, which it can make disappear. */
export interface Proxy {
  readonly port: number;
  /**
   * From now on nothing that the broker says gets through: it takes messages, and its acknowledgements are lost. Resolves
   * when the first one was.
   */
  mute(): Promise<void>;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Lets connections through again, on the same port. */
  restore(): Promise<void>;
  /** Connections through it now. */
  open(): number;
}

export async function startProxy(target: { host: string; port: number }): Promise<Proxy & { close(): Promise<void> }> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let muted = false;
  let kept = (): void => undefined;
  const server = createServer((client) => {
    const broker = connect(target);
    const pair = [client, broker] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    client.pipe(broker);
    broker.on('data', (data) => {
      if (muted) kept();
      else client.write(data);
    });
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    await closed;
  };
  return {
    port,
    mute: () =>
      new Promise((resolve) => {
        kept = resolve;
        muted = true;
      }),
    cut,
    async restore() {
      muted = false;
      await listen(server, port);
    },
    open: () => pairs.size,
    close: cut,
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
