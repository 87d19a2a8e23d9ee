import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {Record<string, string>} Attributes of a tag, by their names in small letters */
/** @typedef {{ action: string; fields: Attributes[] }} Form */

/**
 * As much of a browser as a payer needs: opens pages, follows redirects and refreshes, fills in and submits forms.
 * It keeps no cookies and runs no scripts.
 */
export class Browser {
  /** The page that is shown. */
  page = { url: '', status: 0, html: '' };

  /**
   * @param {string} url
   * @returns {Promise<void>}
   */
  open(url) {
    return this.#load(url, { method: 'GET' });
  }

  get heading() {
    const [, heading] = /<h1[^>]*>([\s\S]*?)<\/h1>/i.exec(this.page.html) ?? [];
    return decode((heading ?? '(no heading)').replace(/<[^>]*>/g, '')).trim();
  }

  /**
   * The page's forms.
   * @returns {Form[]}
   */
  get forms() {
    return [...this.page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, tag = '', content = '']) => ({
      action: new URL(attributes(tag).action ?? '', this.page.url).href,
      fields: [...content.matchAll(/<input\b([^>]*)>/gi)].map(([, field = '']) => attributes(field)),
    }));
  }

  /**
   * Posts a form, with `values` by field name over those that the page gave.
   * @param {Form} form
   * @param {Record<string, string>} [values]
   */
  submit({ action, fields }, values = {}) {
    const body = new URLSearchParams();
    for (const { name, value } of fields) if (name) body.append(name, value ?? '');
    for (const [name, value] of Object.entries(values)) body.set(name, value);
    return this.#load(action, { method: 'POST', body, headers: { origin: new URL(this.page.url).origin } });
  }

  /** Where the page says that it goes on by itself, waits and goes there. Tells whether it did. */
  async refresh() {
    const tag = /<meta\b[^>]*http-equiv="?refresh"?[^>]*>/i.exec(this.page.html)?.[0];
    const [, seconds, target] = /^([\d.]+)\s*;\s*url=(.*)$/i.exec((tag && attributes(tag).content) ?? '') ?? [];
    if (target === undefined) return false;
    await sleep(Number(seconds) * 1000);
    await this.open(new URL(target, this.page.url).href);
    return true;
  }

  /**
   * @param {string} url
   * @param {{ method: string; body?: URLSearchParams; headers?: Record<string, string> }} request
   */
  async #load(url, { headers, ...request }) {
    const response = await fetch(url, {
      ...request,
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
      headers: { accept: 'text/html', ...headers },
    });
    const html = await response.text();
    this.page = { url, status: response.status, html };
    const location = response.headers.get('location');
    // After a 303 a browser gets; 301 and 302 it treats alike after a POST.
    if ([301, 302, 303].includes(response.status) && location) await this.open(new URL(location, url).href);
  }
}

/**
 * @param {string} tag
 * @returns {Attributes}
 */
function attributes(tag) {
  const found = [...tag.matchAll(/([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g)];
  return Object.fromEntries(
    found.map(([, name = '', ...values]) => [name.toLowerCase(), decode(values.find(Boolean) ?? '')]),
  );
}

/** @param {string} text */
function decode(text) {
  /** @type {Record<string, string>} */
  const named = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(amp|lt|gt|quot|apos));/gi, (_all, hex, decimal, name) =>
    name ? (named[name.toLowerCase()] ?? '') : String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal)),
  );
}
