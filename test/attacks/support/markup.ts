/** Markup that attackers enter as text. */
export const MARKUP = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  `'><img src=x onerror=alert(1)>`,
  '" onmouseover="alert(1)" x="',
  `' autofocus onfocus='alert(1)`,
  '</title><svg onload=alert(1)>',
  '</style></main><iframe src=javascript:alert(1)>',
  '--><!--',
  ']]><b>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;b&#62;&quot;&amp;quot;',
  '`${alert(1)}`{{7*7}}<%= 7 %>',
  'javascript:alert(1)//',
  'data:text/html,<b>',
  '//evil.example/',
  '../../evil',
  '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
] as const;

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The tags of a page, parsed by the rules of HTML: quoted text does not end a tag. */
export function tagsOf(html: string): Tag[] {
  const tags: Tag[] = [];
  const tag = /<!--[^]*?-->|<(\/?[a-zA-Z!][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/g;
  for (const [, name, rest] of html.matchAll(tag)) {
    if (name === undefined) tags.push({ name: 'a comment', attributes: {} });
    else tags.push({ name: name.toLowerCase(), attributes: attributesOf(rest ?? '') });
  }
  return tags;
}

/** A page's tags and attribute names, which external text must never change. */
export function skeletonOf(html: string): string[] {
  return tagsOf(html).map(({ name, attributes }) => [name, ...Object.keys(attributes)].join(' '));
}

/** Every address that the page links to or loads, as a browser reads it. */
export function addressesOf(html: string): string[] {
  const tags = tagsOf(html).flatMap(({ attributes: { href, src, action, content } }) => [href, src, action, content]);
  return tags.filter((address) => address !== undefined);
}

/** The visible text. */
export function textOf(html: string): string {
  return decode(html.replace(/<(style|script)[^>]*>[^]*?<\/\1>/g, '').replace(/<[^>]*>/g, ''));
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, double, single, bare] of text.matchAll(
    /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g,
  )) {
    if (name !== undefined) attributes[name.toLowerCase()] = decode(double ?? single ?? bare ?? '');
  }
  return attributes;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

function decode(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string | undefined) =>
    code === undefined ? (ENTITIES[name ?? ''] ?? whole) : String.fromCharCode(Number(code)),
  );
}
