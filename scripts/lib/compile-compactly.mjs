import ts from 'typescript';

/**
 * Prints a script without its comments and with tabs for indentation. Lines stay lines: the code can be read where it
 * is installed, and a source map needs no more than where each line comes from.
 * `replace` may give another text for a node.
 */
export function printCompactly(code, replace) {
  const file = ts.createSourceFile('code.cjs', code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const lines = [''];
  const mappings = [[]];
  let end = 0;

  const print = (node, text) => {
    const start = node.getStart(file);
    const between = code.slice(end, start); // white space and comments
    end = node.end;
    if (between.includes('\n')) {
      const [, indentation] = /\n( *)[^\n]*$/.exec(between);
      lines.push('\t'.repeat(indentation.length / 4));
      mappings.push([]);
    } else if (between) lines[lines.length - 1] += ' ';
    if (mappings.at(-1).length === 0) {
      const { line, character } = file.getLineAndCharacterOfPosition(start);
      mappings.at(-1).push([lines.at(-1).length, 0, line, character]);
    }
    lines[lines.length - 1] += text;
  };

  (function visit(node) {
    if (ts.isJSDoc(node)) return;
    const replacement = replace(node);
    if (replacement !== undefined) return print(node, replacement);
    const children = node.getChildren(file);
    if (children.length > 0) children.forEach(visit);
    else if (node.end > node.getStart(file)) print(node, node.getText(file));
  })(file);
  return { code: `${lines.join('\n')}\n`, map: { mappings } };
}
