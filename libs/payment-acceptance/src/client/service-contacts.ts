export interface ServiceContact {
  /** Host name of the service, with its port unless it is the default. */
  readonly host: string;
  /** Time of the last understood answer other than 5xx, 408, 425 and 429; `null` before the first. */
  readonly lastAnswerAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** How many requests have ended without such an answer since the last one that got it. */
  readonly failuresInARow: number;
}

/** Beyond this number, the host that was contacted longest ago is forgotten. */
const MAX_HOSTS = 100;

/** Remembers the outcomes of requests, so that the health check needs no request of its own. */
export class ServiceContacts {
  private readonly byHost = new Map<string, ServiceContact>();

  note(apiBaseUrl: string, answered: boolean, now: Date): void {
    const { host } = new URL(apiBaseUrl);
    const before = this.byHost.get(host) ?? { host, lastAnswerAt: null, lastFailureAt: null, failuresInARow: 0 };
    this.byHost.delete(host);
    this.byHost.set(
      host,
      answered
        ? { ...before, lastAnswerAt: now, failuresInARow: 0 }
        : { ...before, lastFailureAt: now, failuresInARow: before.failuresInARow + 1 },
    );
    const [oldest] = this.byHost.keys();
    if (this.byHost.size > MAX_HOSTS && oldest !== undefined) this.byHost.delete(oldest);
  }

  all(): readonly ServiceContact[] {
    return [...this.byHost.values()];
  }
}
