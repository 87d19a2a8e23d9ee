import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { postedPaths, CALLBACK_ROUTES, type CallbackRoutes } from '../callbacks/routes.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';

/** The parts of Express and Fastify applications that are used here. */
interface HttpApplication {
  readonly router?: { readonly stack: readonly { readonly route?: ExpressRoute }[] };
  use?(handler: (request: Requested, response: unknown, next: () => void) => void): void;
  hasRoute?(route: { method: string; url: string }): boolean;
  addHook?(
    name: 'onResponse',
    hook: (request: Requested, reply: { statusCode: number }, done: () => void) => void,
  ): void;
}
interface ExpressRoute {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean | undefined>>;
}
interface Requested {
  readonly method?: string;
  readonly originalUrl?: string;
  readonly url?: string;
}

const PAUSE_MS = 3_600_000;

/**
 * Where the service reaches the callbacks. A global prefix moves them, and the host itself answers 404 to a postback that is
 * sent to the address without the prefix, before any of our code runs. Such misses are logged.
 */
@Injectable()
export class CallbackAddresses implements OnModuleInit {
  private readonly misses: RateLimitedLog;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly modules: ModulesContainer,
    clock: PaymentClock,
    @Inject(CALLBACK_ROUTES) private readonly routes: CallbackRoutes,
    @Inject(PAYMENT_ROLE) private readonly role: NonNullable<PaymentAcceptanceExtras['role']>,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.misses = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), clock, PAUSE_MS);
  }

  /** The host has registered its routes by now but not its 404 handler, so on Express only unmatched requests get here. */
  onModuleInit(): void {
    const moved = new Map([...this.served()].filter(([own, path]) => path !== `/${own}`));
    if (moved.size === 0) return;
    const inspect = ({ method, originalUrl, url }: Requested): void => {
      if (method === 'POST') this.logMiss(moved, (originalUrl ?? url ?? '').split('?', 1)[0] ?? '');
    };
    const { application, kind } = this;
    if (kind === 'express') {
      application?.use?.((request, _response, next) => {
        inspect(request);
        next();
      });
    } else {
      application?.addHook?.('onResponse', (request, reply, done) => {
        if (reply.statusCode === 404) inspect(request);
        done();
      });
    }
  }

  /** The routes as the host serves them, once it has registered them; full URLs with the option `publicUrl`. */
  addresses(): string[] {
    const { publicUrl = '' } = this.options;
    return [...this.served().values()].map((path) => `POST ${publicUrl}${path}[/SHOP]`);
  }

  private logMiss(moved: ReadonlyMap<string, string>, path: string): void {
    for (const [own, served] of moved) {
      if (path !== `/${own}` && !(path.startsWith(`/${own}/`) && /^[^/]+\/?$/.test(path.slice(own.length + 2))))
        continue;
      const line = (): string =>
        `A callback came to /${own} and was answered 404: the application serves callbacks at ${served}. Enter ` +
        `${this.options.publicUrl ?? ''}${served} at the service.`;
      this.misses.write('callback-misaddressed', own, line, {});
    }
  }

  /** Maps the path of each callback to the path at which the host serves it; omits those that are not found. */
  private served(): Map<string, string> {
    const served = new Map<string, string>();
    if (this.role === 'workers') return served;
    const prefix = this.globalPrefix();
    for (const path of postedPaths(this.routes)) {
      const places = [...(prefix ? [`/${prefix}/${path}`] : []), `/${path}`];
      const place = places.find((url) => this.isServed(url));
      if (place !== undefined) served.set(path, place);
    }
    return served;
  }

  private isServed(url: string): boolean {
    if (this.kind === 'fastify') return this.application?.hasRoute?.({ method: 'POST', url }) ?? false;
    const layers = this.application?.router?.stack ?? [];
    return layers.some(({ route }) => route?.path === url && route.methods['post'] === true);
  }

  /** Nest has no public API for it. Should this internal move, only the paths without a prefix are searched. */
  private globalPrefix(): string {
    const [module] = this.modules.values();
    const { container } = (module ?? {}) as { container?: { applicationConfig?: { getGlobalPrefix?(): string } } };
    return container?.applicationConfig?.getGlobalPrefix?.().replace(/^\/+|\/+$/g, '') ?? '';
  }

  private get kind(): string | undefined {
    const { httpAdapter } = this.http as { httpAdapter?: { getType?(): string } };
    return httpAdapter?.getType?.();
  }

  private get application(): HttpApplication | undefined {
    if (this.kind !== 'express' && this.kind !== 'fastify') return undefined;
    return this.http.httpAdapter.getInstance<HttpApplication>();
  }
}
