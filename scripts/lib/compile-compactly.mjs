import ts from 'typescript';

/** Where a line of a long expression may end, if it does so in the source too. */
const LONG_LINE = 120;

/**
 * Prints a script without comments and white space, but for a line of its own for each statement and each method, and
 * with every name as it is given: what fails can be found by its line, and a source map needs no more than where each line
 * comes from. `replace` may give another text for a node.
 */
export function printCompactly(code, replace) {
  const file = ts.createSourceFile('code.cjs', code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const lines = [''];
  const mappings = [[]];
  let end = 0;
  let last = '';

  const print = (node, text, beginsLine) => {
    const start = node.getStart(file);
    const hadNewLine = code.slice(end, start).includes('\n');
    end = node.end;
    if (hadNewLine && (beginsLine || lines.at(-1).length > LONG_LINE)) {
      lines.push('');
      mappings.push([]);
    } else if (merge(last, text)) lines[lines.length - 1] += ' ';
    const { line, character } = file.getLineAndCharacterOfPosition(start);
    if (lines.at(-1) === '') mappings.at(-1).push([0, 0, line, character]);
    const [first, ...further] = text.split('\n'); // of a template
    lines[lines.length - 1] += first;
    lines.push(...further);
    mappings.push(...further.map(() => []));
    last = text;
  };

  (function visit(node, beginsLine) {
    const begins = beginsLine || beginsLineOfItsOwn(node);
    const replacement = replace(node);
    if (replacement !== undefined) return print(node, replacement, begins);
    const children = neededIn(node, file);
    children.forEach((child, index) => visit(child, begins && index === 0));
    if (children.length === 0 && node.end > node.getStart(file)) print(node, textOf(node, file), begins);
  })(file, true);
  const map = { mappings: mappings.map((mapping, index) => (CAN_FAIL.test(lines[index]) ? mapping : [])) };
  return { code: `${lines.join('\n')}\n`, map };
}

/** A line where something is called, made, read, thrown or awaited. Behind others, a stack trace takes the one before. */
const CAN_FAIL = /[.([]|\b(?:await|throw|yield)\b/;

/** Each statement and method, but for `if (a) return b;` and a constructor's `this.a = a; this.b = b;`. */
function beginsLineOfItsOwn(node) {
  if (!ts.isStatement(node)) return ts.isClassElement(node);
  if (ts.isIfStatement(node.parent)) return ts.isBlock(node) || ts.isThrowStatement(node);
  const [before] = ts.isBlock(node.parent)
    ? node.parent.statements.slice(node.parent.statements.indexOf(node) - 1)
    : [];
  return !(takesParameter(node) && before && takesParameter(before));
}

function takesParameter({ expression }) {
  if (!expression || !ts.isBinaryExpression(expression) || !ts.isPropertyAccessExpression(expression.left))
    return false;
  const { left, right } = expression;
  return left.expression.kind === ts.SyntaxKind.ThisKeyword && ts.isIdentifier(right) && right.text === left.name.text;
}

/** A token. The lines of SQL and of markup need no indentation. */
function textOf(node, file) {
  const text = node.getText(file);
  if (!text.includes('\n')) return text;
  const template = ts.isTemplateHead(node) || ts.isNoSubstitutionTemplateLiteral(node) ? node : node.parent;
  const whole = ts.isNoSubstitutionTemplateLiteral(template) ? template : template.parent;
  const isLayout =
    ts.isTaggedTemplateExpression(whole.parent) ||
    /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|AS)\b/.test(whole.getText(file));
  return isLayout ? text.replace(/\n\s+/g, '\n') : text;
}

/** Whether two tokens next to each other would be read as something else. */
function merge(before, after) {
  const [a, b] = [before.at(-1) ?? '', after[0]];
  if (/[\p{ID_Continue}$]/u.test(a)) return /[\p{ID_Continue}$\\#]/u.test(b) || (b === '.' && /^\d+$/.test(before));
  return (a === b && '+-/'.includes(a)) || (a === '<' && b === '!'); // `<!--` begins a comment in a script
}

/** The parts of a node, without comments and what the same script has without: last commas, last semicolons. */
function neededIn(node, file) {
  const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child));
  const last = children.at(-1);
  const isList = node.kind === ts.SyntaxKind.SyntaxList;
  if (last?.kind === ts.SyntaxKind.CommaToken && isList && !ts.isOmittedExpression(children.at(-2))) children.pop();
  if (last?.kind === ts.SyntaxKind.SemicolonToken && ts.isBlock(node.parent) && node.parent.statements.at(-1) === node)
    children.pop();
  if (
    ts.isArrowFunction(node) &&
    node.parameters.length === 1 &&
    node.parameters[0].getText(file) === node.parameters[0].name.text
  )
    return children.filter(
      ({ kind }) => kind !== ts.SyntaxKind.OpenParenToken && kind !== ts.SyntaxKind.CloseParenToken,
    );
  return children;
}
