import { expect } from '@jest/globals';
import { addressesOf, tagsOf, textOf } from '../../attacks/support/markup.js';

/** What was answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** What a reader sees, in one line. */
  readonly text: string;
  /** Its address, from which links are resolved. */
  readonly url: string;
}

/** An operator's browser: keeps its cookies, follows no redirect by itself. */
export class Operator {
  private readonly cookies = new Map<string, string>();

  constructor(
    /** Where the console is. */
    readonly home: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  open(path = '', headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(path === '' ? this.home : `${this.home}/${path}`, { headers });
  }

  /** A link, or a `Location`, of the page. */
  follow(from: Answer, address: string): Promise<Answer> {
    return this.send(new URL(address, from.url).href);
  }

  /** Fills in the form of the page, and sends it. */
  submit(page: Answer, fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Answer> {
    const { action } = tagsOf(page.html).find(
      ({ name, attributes }) => name === 'form' && attributes.method === 'post',
    )!.attributes;
    const body = new URLSearchParams({ ...formOf(page), ...fields });
    const more = { 'sec-fetch-site': 'same-origin', ...headers };
    return this.send(new URL(action!, page.url).href, { method: 'POST', body, headers: more });
  }

  /** Sends a form and follows the redirect. */
  async confirm(path: string, fields: Record<string, string> = {}): Promise<Answer> {
    const sent = await this.submit(await this.open(path), fields);
    expect([sent.status, sent.text]).toEqual([303, '']);
    return this.follow(sent, sent.headers.get('location')!);
  }

  forget(): void {
    this.cookies.clear();
  }

  private async send(url: string, { headers, ...init }: RequestInit = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = { ...this.headers, ...(cookie && { cookie }), ...(headers as Record<string, string>) };
    const answer = await fetch(url, { ...init, headers: sent, redirect: 'manual' });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      this.cookies.set(name!, value!);
    }
    const html = await answer.text();
    const text = textOf(html.replaceAll('<', ' <')).replace(/\s+/g, ' ').trim();
    return { status: answer.status, headers: answer.headers, html, text, url };
  }
}

/** The fields of the page's form as they were given. */
export function formOf({ html }: Answer): Record<string, string> {
  const inputs = tagsOf(html.slice(html.indexOf('method="post"'))).filter(({ name }) => name === 'input');
  return Object.fromEntries(inputs.map(({ attributes }) => [attributes.name ?? '', attributes.value ?? '']));
}

/** Every page that the page leads to. */
export function linksOf(answer: Answer): string[] {
  return addressesOf(answer.html)
    .filter((address) => !/^(data:|width=)/.test(address))
    .map((address) => new URL(address, answer.url).href.replace(/#.*/, ''));
}
