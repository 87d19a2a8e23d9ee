import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { SandboxError } from '../common/errors.js';
import type { SandboxRequest } from '../common/http.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const READING = ['GET', 'HEAD'];

/**
 * Keeps other machines and other sites out of the control interface and the console: whoever gets in can do anything.
 * A site that a developer happens to visit may let the browser post here (it says so in `Sec-Fetch-Site` or `Origin`),
 * or give its own name this machine's address (then `Host` is that name). A program sends none of these but `Host`.
 */
@Injectable()
export class LocalOnlyGuard implements CanActivate {
  constructor(@Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions) {}

  canActivate(context: ExecutionContext): true {
    const request = context.switchToHttp().getRequest<SandboxRequest>();
    const { controlHosts = [] } = this.options;
    if (controlHosts.length === 0 && !LOOPBACK.test(request.socket.remoteAddress ?? '')) {
      throw new SandboxError(
        403,
        'The control interface can be reached from this machine only: see controlHosts (--control-hosts)',
      );
    }
    const address = `http://${request.headers.host ?? ''}`;
    const name = URL.canParse(address) ? new URL(address).hostname : '';
    if (![...LOOPBACK_NAMES, ...controlHosts].includes(name)) {
      throw new SandboxError(
        403,
        `The control interface does not go by the name ${JSON.stringify(name)}: see controlHosts (--control-hosts)`,
      );
    }
    if (!READING.includes(request.method ?? '') && isCrossSite(request)) {
      throw new SandboxError(403, 'A page of another site may change nothing here');
    }
    return true;
  }
}

function isCrossSite({ headers }: SandboxRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin, host } = headers;
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
}
