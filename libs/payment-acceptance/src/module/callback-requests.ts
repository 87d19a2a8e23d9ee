import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, Server, ServerResponse, OutgoingHttpHeaders } from 'node:http';
import { CallbackBodies, type ReceivedRequest } from '../callbacks/callback-bodies.js';
import { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import { CALLBACK_ROUTES, postedPaths, type CallbackRoutes } from '../callbacks/routes.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { isObject } from '../common/objects.js';

interface ExpressApplication {
  readonly router?: { readonly stack: { readonly route?: ExpressRoute }[] };
  use(handler: (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void): void;
}
interface ExpressRoute {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean | undefined>>;
}

interface FastifyApplication {
  readonly server: Server;
  addHook(name: 'onRoute', hook: (route: { method: string | string[]; url: string }) => void): void;
  addHook(name: 'onRequest', hook: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void): void;
  addHook(name: 'preParsing', hook: (request: FastifyRequest) => Promise<void>): void;
}
interface FastifyRequest extends ReceivedRequest {
  readonly raw: IncomingMessage;
}
interface FastifyReply {
  readonly raw: ServerResponse;
}

interface CallbackEndpoint {
  /** Its path in the options of the module. */
  readonly ownPath: string;
  /** Its path in the application, which a prefix may have moved. */
  readonly served: string;
  readonly method: 'POST' | 'GET';
  /** Also matches the path of one shop below it. */
  readonly paths: RegExp;
}

const MISS_LOG_INTERVAL_MS = 3_600_000;

/**
 * Sees each request to a callback route before the application's parsers, guards and rate limits, which are made for
 * its own clients. Reads the body the same way on Express and Fastify, and logs requests that the application answers
 * in our place.
 */
@Injectable()
export class CallbackRequests {
  private readonly missLog: RateLimitedLog;
  /** Fastify's routes, as method and path. */
  private readonly registered = new Set<string>();
  private places: readonly CallbackEndpoint[] = [];

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly bodies: CallbackBodies,
    private readonly dropped: DroppedCallbacks,
    clock: PaymentClock,
    @Inject(CALLBACK_ROUTES) private readonly routes: CallbackRoutes,
    @Inject(PAYMENT_ROLE) role: NonNullable<PaymentAcceptanceExtras['role']>,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.missLog = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), clock, MISS_LOG_INTERVAL_MS);
    if (role === 'workers') return;
    if (http.httpAdapter as unknown) this.install();
    // @nestjs/testing sets the adapter later. The oldest versions of Nest 11 do not announce it: tests with them
    // receive what the parsers have read.
    else (http as Partial<HttpAdapterHost>).init$?.subscribe(() => this.install());
  }

  /** Finds the routes once the host has registered them. Returns full URLs with `publicUrl`, otherwise paths. */
  locate(): string[] {
    this.places = this.servedPlaces();
    const posted = this.places.filter(({ method }) => method === 'POST');
    return posted.map(({ served }) => `POST ${this.options.publicUrl ?? ''}${served}[/SHOP]`);
  }

  /** Must run before the application registers its parsers, which it does when it is initialised. */
  private install(): void {
    if (this.kind === 'express') {
      const application = this.http.httpAdapter.getInstance<ExpressApplication>();
      application.use((request, response, next) => {
        this.hideOrigin(request);
        this.watch(request, response);
        this.read(request, request).then(() => next(), next);
      });
      // Moved in front of the parsers and sessions of an application that the host has created itself.
      const ownLayer = application.router?.stack.pop();
      if (ownLayer) application.router?.stack.unshift(ownLayer);
    }
    if (this.kind === 'fastify') {
      const application = this.http.httpAdapter.getInstance<FastifyApplication>();
      // A listener, because Nest's own CORS hook runs before any hook added here. It is not added to the second server
      // that Fastify opens for `localhost`.
      application.server.prependListener('request', (request) => this.hideOrigin(request));
      application.addHook('onRoute', ({ method, url }) => {
        for (const each of [method].flat()) this.registered.add(`${each} ${url}`);
      });
      application.addHook('onRequest', (request, reply, done) => {
        this.watch(request.raw, reply.raw);
        done();
      });
      application.addHook('preParsing', (request) => this.read(request, request.raw));
    }
  }

  private async read(request: ReceivedRequest, raw: IncomingMessage): Promise<void> {
    if (this.placeOf(raw)?.method === 'POST') await this.bodies.read(request, raw);
  }

  /**
   * A browser names the service's page in the Origin header, and an allow-list of the application's own sites would
   * refuse the request.
   */
  private hideOrigin(raw: IncomingMessage): void {
    if (raw.headers.origin !== undefined && raw.method === 'POST' && this.placeOf(raw)) delete raw.headers.origin;
  }

  private watch(raw: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(raw);
    const place = this.placeOf(raw);
    if (place) keepCookies(raw, response);
    if (raw.method !== 'POST') return;
    response.once('finish', () => {
      const { statusCode: status } = response;
      if (this.bodies.wasTaken(raw)) return;
      // Fastify treats an address with a trailing slash, or in another case, as a different one.
      const isOther = place && (path.endsWith('/') || !new RegExp(place.paths.source).test(path));
      if (status === 404 && (!place || isOther)) this.logMiss(path, place);
      // The router itself refuses an address that it cannot decode.
      else if (place && isDecodable(path)) this.dropped.noteAnsweredByApplication(place.ownPath, status);
    });
  }

  private logMiss(path: string, place: CallbackEndpoint | undefined): void {
    const missedEndpoint =
      place ?? this.places.find(({ ownPath, method }) => method === 'POST' && pathsOf(`/${ownPath}`).test(path));
    if (!missedEndpoint) return;
    const variant = path.endsWith('/') ? 'an address with a trailing slash' : 'an address in another case';
    const to = place ? variant : `/${missedEndpoint.ownPath}`;
    const line = (): string =>
      `A callback to ${to} got 404: the application serves callbacks at ${missedEndpoint.served}. Enter ` +
      `${this.options.publicUrl ?? ''}${missedEndpoint.served} at the service.`;
    this.missLog.write('callback-misaddressed', missedEndpoint.ownPath, line, {});
  }

  private placeOf(raw: IncomingMessage): CallbackEndpoint | undefined {
    const path = pathOf(raw);
    const method = raw.method === 'HEAD' ? 'GET' : raw.method;
    return this.places.find((place) => place.method === method && place.paths.test(path));
  }

  private servedPlaces(): CallbackEndpoint[] {
    const routes = this.kind === 'express' ? this.expressRoutes() : this.registered;
    const findPlaces = (method: CallbackEndpoint['method'], ownPath: string, parameter: string): CallbackEndpoint[] =>
      [...routes].flatMap((route) => {
        const served = route.slice(method.length + 1, -parameter.length);
        const isOurs =
          route === `${method} ${served}${parameter}` && (served === `/${ownPath}` || served.endsWith(`/${ownPath}`));
        return isOurs ? [{ ownPath, served, method, paths: pathsOf(served) }] : [];
      });
    const result = this.routes.redirect ? findPlaces('GET', this.routes.redirect.result, '/:ticket') : [];
    return [...postedPaths(this.routes).flatMap((ownPath) => findPlaces('POST', ownPath, '/:shop')), ...result];
  }

  private expressRoutes(): ReadonlySet<string> {
    const { router } = this.http.httpAdapter.getInstance<ExpressApplication>();
    const routes = router?.stack.flatMap(({ route }) =>
      route ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${String(route.path)}`) : [],
    );
    return new Set(routes);
  }

  private get kind(): string | undefined {
    const { httpAdapter } = this.http as { httpAdapter?: { getType?(): string } };
    return httpAdapter?.getType?.();
  }
}

function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

/** Also matches the path of one shop below the route. A prefix may have parameters; Express ignores case. */
function pathsOf(route: string): RegExp {
  const segments = route
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${segments.join('/')}(?:/[^/]*)?/?$`, 'i');
}

const NAME = 'set-cookie';

/**
 * Lets an answer set only cookies that the request has brought. A browser sends none with a form that the service's
 * page posts to us (SameSite), so the application would begin a new session, whose cookie would log the payer out.
 */
function keepCookies({ headers: { cookie = '' } }: IncomingMessage, response: ServerResponse): void {
  const requestCookieNames = new Set(cookie.split(';').map(nameOf));
  const pickKnown = (cookies: unknown): string[] =>
    [cookies].flat().filter((each): each is string => typeof each === 'string' && requestCookieNames.has(nameOf(each)));
  const writeHead = response.writeHead.bind(response) as (status: number, ...args: unknown[]) => ServerResponse;
  // This wraps `writeHead` first, so it runs after wrappers that add cookies at the last moment.
  response.writeHead = (status: number, ...args: unknown[]) => {
    const set = pickKnown(response.getHeader(NAME));
    if (set.length > 0) response.setHeader(NAME, set);
    else response.removeHeader(NAME);
    return writeHead(
      status,
      ...args.map((each) =>
        isObject(each) && !Array.isArray(each) ? withCookies(each as OutgoingHttpHeaders, pickKnown) : each,
      ),
    );
  };
}

function withCookies(headers: OutgoingHttpHeaders, pickKnown: (cookies: unknown) => string[]): OutgoingHttpHeaders {
  const entries = Object.entries(headers).map(([name, value]) =>
    name.toLowerCase() === NAME ? ([name, pickKnown(value)] as const) : ([name, value] as const),
  );
  return Object.fromEntries(entries.filter(([, value]) => !(Array.isArray(value) && value.length === 0)));
}

function nameOf(cookie: string): string {
  return (cookie.split('=', 1)[0] ?? '').trim();
}
