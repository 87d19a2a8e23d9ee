import ts from 'typescript';

/** The text of a TSDoc comment, with `{@link X}` as code. */
export function docstring(node) {
  const [comment] = node.jsDoc ?? [];
  const text = ts.getTextOfJSDocComment(comment?.comment) ?? '';
  const tags = (comment?.tags ?? []).map((tag) => `@${tag.tagName.text}`);
  if (tags.length > 0) throw new Error(`${node.name?.getText()}: its docstring is text alone, not ${tags.join(', ')}.`);
  return text.replace(/\{@link ([^}|\s]+)[^}]*\}/g, '`$1`').trim();
}
