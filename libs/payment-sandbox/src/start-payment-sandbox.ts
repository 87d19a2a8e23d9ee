import type { LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiGateway } from './api/api-gateway.js';
import { frontDoor } from './api/front-door.js';
import { PaymentSandbox } from './console/payment-sandbox.js';
import type { PaymentSandboxOptions } from './model/options.js';
import { PaymentSandboxModule } from './payment-sandbox.module.js';

export interface StartOptions extends PaymentSandboxOptions {
  /** Port to listen on. Default 0: any free one. */
  port?: number;
  /**
   * Address to listen on. Default `127.0.0.1`. With `0.0.0.0`, anyone who reaches the port can use the API and the
   * payer's pages; the control interface and the console still answer this machine only, unless `controlHosts` says
   * otherwise.
   */
  host?: string;
  /** Nest's log levels. Default: warnings and errors. */
  logger?: LogLevel[] | false;
}

/** A running sandbox. */
export interface RunningSandbox {
  /** Its address, without a trailing slash: the service's `{base_url}` and `{pay_url}`. */
  url: string;
  sandbox: PaymentSandbox;
  /** Stops listening and sending, and aborts what is in flight. */
  close: () => Promise<void>;
}

/**
 * Starts a sandbox within this process, by default in memory and on a free port of 127.0.0.1: for tests.
 *
 * @example
 * const { url, sandbox, close } = await startPaymentSandbox({ shops: { main: { apiToken: 'token', resultUrl } } });
 */
export async function startPaymentSandbox(options: StartOptions = {}): Promise<RunningSandbox> {
  const { port = 0, host = '127.0.0.1', logger = ['warn', 'error', 'fatal'], ...settings } = options;
  const nestOptions = { bodyParser: false, forceCloseConnections: true, abortOnError: false, logger };
  const app = await NestFactory.create(PaymentSandboxModule.forRoot(settings), nestOptions);
  try {
    app.use(frontDoor(app.get(ApiGateway)));
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = (app.getHttpServer() as Server).address() as AddressInfo;
  return {
    url: `http://${reachable(host)}:${address.port}`,
    sandbox: app.get(PaymentSandbox),
    close: () => app.close(),
  };
}

/** The name by which this machine reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
