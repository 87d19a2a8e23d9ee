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
   * Address to listen on. Default `127.0.0.1`. With `0.0.0.0` whoever reaches the port can use the API and the payer's
   * pages; the control interface and the console answer this machine alone, unless `controlHosts` says otherwise.
   */
  host?: string;
  /** What Nest logs. Default: warnings and errors. */
  logger?: LogLevel[] | false;
}

/** A sandbox that runs and listens. */
export interface RunningSandbox {
  /** Its address, without a slash at the end: the service's `{base_url}` and `{pay_url}`. */
  url: string;
  sandbox: PaymentSandbox;
  /** Stops listening and sending; what is under way is cut off. */
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

/** By what name this machine itself reaches what listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
