/** How the service has answered this process of late. */
export interface ServiceContact {
  /** Host name of the service, with its port where it is not the usual one. */
  readonly host: string;
  /** When it last gave an answer that was understood, and is not 5xx, 408, 425 or 429; `null` before the first. */
  readonly lastAnswerAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** Requests without such an answer since the last one that had it. */
  readonly failuresInARow: number;
}

/** Whatever addresses the shops have, no more hosts than this are remembered: the latest ones. */
const MAX_HOSTS = 100;

/** Remembers the outcome of every request, so that health costs no request of its own. */
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
