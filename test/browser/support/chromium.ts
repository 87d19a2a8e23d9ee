import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** `CHROMIUM_PATH`, or where Debian puts it. */
export const CHROMIUM_PATH = process.env['CHROMIUM_PATH'] || '/usr/bin/chromium';

export function launch(): Promise<Browser> {
  // Its own sandbox does not work for root, nor in most containers; the pages are ours.
  return chromium.launch({ executablePath: CHROMIUM_PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A payer's or developer's browser, and all errors in it. */
export class Visitor {
  /** Console errors, failed requests, violations of the content security policy. */
  readonly problems: string[] = [];
  /** Error statuses that the test provokes: they count as no problem. */
  expected: number[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ ...DESKTOP, ...options });
    context.setDefaultTimeout(20_000);
    const visitor = new Visitor(context, await context.newPage());
    await visitor.watch();
    return visitor;
  }

  newTab(): Promise<Page> {
    return this.context.newPage();
  }

  private async watch(): Promise<void> {
    const { context, problems } = this;
    context.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      // The browser also logs every error status in its console.
      if (this.expected.some((status) => message.text().includes(`status of ${status}`))) return;
      problems.push(`console: ${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => problems.push(`script: ${error.error().message}`));
    context.on('requestfailed', (request) => {
      // Leaving a page cancels its pending requests.
      const reason = request.failure()?.errorText;
      if (reason !== 'net::ERR_ABORTED') problems.push(`failed: ${request.url()} ${reason ?? ''}`);
    });
    context.on('response', (response) => {
      if (response.status() < 400 || this.expected.includes(response.status())) return;
      problems.push(`status ${response.status()}: ${response.url()}`);
    });
    await context.addInitScript(
      `addEventListener('securitypolicyviolation', (event) =>
        console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`,
    );
  }
}

export const DESKTOP = { viewport: { width: 1280, height: 800 } };
export const PHONE = { viewport: { width: 360, height: 740 } };
