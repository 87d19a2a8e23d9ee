import { expect, test } from '@jest/globals';
import { html } from './html.js';

test('what is put into HTML is escaped, unless it is HTML', () => {
  const evil = `<a href="x" title='y'>&`;
  const escaped = '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;';
  expect(html`<p>${evil}</p>`.text).toBe(`<p>${escaped}</p>`);
  expect(html`${[html`<b>${evil}</b>`, evil]}`.text).toBe(`<b>${escaped}</b>${escaped}`);
  expect(html`${false}${null}${undefined}${0}`.text).toBe('0');
});
