import ts from 'typescript';

/** @typedef {(ts.InterfaceDeclaration | ts.ClassDeclaration) & { name: ts.Identifier }} Declaration */
/** @typedef {(ts.PropertySignature | ts.PropertyDeclaration) & { type: ts.TypeNode }} Property */

/**
 * The text of a TSDoc comment, with `{@link X}` as code, and at its end what `@deprecated` says to use instead.
 * @param {Declaration | Property} node
 */
export function docstring(node) {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(comment?.comment) ?? '';
  const tags = comment?.tags ?? [];
  const others = tags.filter((tag) => !ts.isJSDocDeprecatedTag(tag)).map((tag) => `@${tag.tagName.text}`);
  if (others.length > 0) {
    throw new Error(`${node.name.getText()}: its docstring is text and @deprecated alone, not ${others.join(', ')}.`);
  }
  const deprecated = tags.map((tag) => `Deprecated: ${ts.getTextOfJSDocComment(tag.comment) ?? ''}`);
  return [text, ...deprecated]
    .join('\n')
    .replace(/\{@link ([^}|\s]+)[^}]*\}/g, '`$1`')
    .trim();
}
