import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A proxy between an application and a broker that can simulate outages. */
export interface Proxy {
  readonly port: number;
  /**
   * From now on drops everything that the broker sends: it receives messages, but its acknowledgements are lost. Resolves
   * when the first one has been dropped.
   */
  mute(): Promise<void>;
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again, on the same port. */
  restore(): Promise<void>;
  /** Number of open connections. */
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
