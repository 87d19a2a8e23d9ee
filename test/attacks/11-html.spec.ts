import { describe, expect, test } from '@jest/globals';
import { html as ofShop } from '../../apps/shop/src/pages/html.js';
import { neutralPage } from '../../libs/payment-acceptance/src/callbacks/pages.js';
import { html as ofConsole } from '../../libs/payment-console/src/common/html.js';
import { html as ofSandbox } from '../../libs/payment-sandbox/src/common/html.js';

/** A text, and what a page contains of it. */
const TEXTS: readonly (readonly [string, string])[] = [
  ['plain, with ünïcödé and 日本', 'plain, with ünïcödé and 日本'],
  [`<a href="x" title='y'>&`, '&#60;a href=&#34;x&#34; title=&#39;y&#39;&#62;&#38;'],
  ['&#60;b&#62;&quot;', '&#38;#60;b&#38;#62;&#38;quot;'],
  ['A-1\u202e0001', 'A-1\ufffd0001'],
  ['\u200e\u200f\u061c\u202a\u202b\u202c\u202d', '\ufffd'.repeat(7)],
  ['\u2066\u2067\u2068\u2069', '\ufffd'.repeat(4)],
];

const NAMES: Readonly<Record<string, string>> = {
  '&amp;': '&#38;',
  '&lt;': '&#60;',
  '&gt;': '&#62;',
  '&quot;': '&#34;',
};
/** Entities by their numbers. */
const numbered = (text: string): string => text.replace(/&(?:amp|lt|gt|quot);/g, (name) => NAMES[name] ?? '');

const PAGES: Readonly<Record<string, (text: string) => string>> = {
  'the module': (text) => neutralPage(text),
  'the console': (text) => ofConsole`<p>${text}</p>`.text,
  'the sandbox': (text) => ofSandbox`<p>${text}</p>`.text,
  'the shop': (text) => ofShop`<p>${text}</p>`.text,
};

describe.each(Object.entries(PAGES))('a text in a page of %s', (_name, page) => {
  test.each(TEXTS)('%j stays text in a page, and does not change the direction of what is around it', (text, shown) => {
    const whole = numbered(page(text));
    expect(whole).toContain(shown);
    expect(whole.replace(shown, '')).not.toMatch(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
  });
});

test.each([
  ['the console', ofConsole],
  ['the sandbox', ofSandbox],
  ['the shop', ofShop],
])('the HTML of %s keeps nested markup, escapes text, and writes nothing for null or false', (_name, html) => {
  const part = html`<b>${'<'}</b>`;
  expect(numbered(html`${[part, '<']}${false}${null}${undefined}${0}`.text)).toBe('<b>&#60;</b>&#60;0');
});

test('a value in a form of the sandbox keeps every character, since the form sends it back', () => {
  expect(ofSandbox`<input value="${'A\u202e"1'}" />`.text).toBe('<input value="A\u202e&quot;1" />');
});
