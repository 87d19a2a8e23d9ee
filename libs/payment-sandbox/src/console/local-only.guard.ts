import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { SandboxError } from '../common/errors.js';
import type { SandboxRequest } from '../common/http.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const LOOPBACK_PATTERN = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Keeps other machines and other sites out of the control interface and the console, which allow everything. A site
 * that a developer visits may make the browser send requests (`Sec-Fetch-Site` or `Origin` shows it), or point its own
 * name to this machine (`Host` shows it). A program sends only `Host`.
 */
@Injectable()
export class LocalOnlyGuard implements CanActivate {
  constructor(@Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions) {}

  canActivate(context: ExecutionContext): true {
    const refusal = this.reasonToRefuse(context.switchToHttp().getRequest<SandboxRequest>());
    if (refusal !== undefined) throw new SandboxError(403, refusal);
    return true;
  }

  private reasonToRefuse(request: SandboxRequest): string | undefined {
    const controlHosts = (this.options.controlHosts ?? []).map(nameOf).filter(Boolean);
    if (controlHosts.length === 0 && !LOOPBACK_PATTERN.test(request.socket.remoteAddress ?? '')) {
      return 'The control interface accepts requests only from this machine: to allow others, set controlHosts (--control-hosts)';
    }
    const name = nameOf(request.headers.host ?? '');
    if (![...LOOPBACK_NAMES, ...controlHosts].includes(name)) {
      return `The control interface does not accept the host name ${JSON.stringify(name)}: to allow it, add it to controlHosts (--control-hosts)`;
    }
    // A link on another site may lead here. Requests of that site's scripts are refused even if the host allows CORS.
    const isLink = ['GET', 'HEAD'].includes(request.method ?? '') && request.headers['sec-fetch-mode'] === 'navigate';
    if (isLink || !isCrossSite(request)) return undefined;
    return 'Cross-site request refused: use the sandbox’s own pages, or a client that is not a web page';
  }
}

/** In lower case, without a port; empty if there is none. */
function nameOf(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

function isCrossSite({ headers }: SandboxRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin, host } = headers;
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
}
