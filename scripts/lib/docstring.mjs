import ts from 'typescript';

/** @typedef {(ts.InterfaceDeclaration | ts.ClassDeclaration) & { name: ts.Identifier }} Declaration */
/** @typedef {(ts.PropertySignature | ts.PropertyDeclaration) & { type: ts.TypeNode }} Property */

/**
 * The text of a TSDoc comment, with `{@link X}` as code.
 * @param {Declaration | Property} node
 */
export function docstring(node) {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(comment?.comment) ?? '';
  const tags = (comment?.tags ?? []).map((tag) => `@${tag.tagName.text}`);
  if (tags.length > 0) throw new Error(`${node.name.getText()}: its docstring is text alone, not ${tags.join(', ')}.`);
  return text.replace(/\{@link ([^}|\s]+)[^}]*\}/g, '`$1`').trim();
}
