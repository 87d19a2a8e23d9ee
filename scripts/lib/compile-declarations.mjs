import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const MAIN = 'index';

/** Where the declarations are that the main entry needs, or several. */
const TOGETHER = 'types';

/**
 * What users of the entries can reach of the library's declarations: no private members, no constructors that only Nest
 * calls, nothing that neither an entry exports nor something exported names. What the main entry needs, or several do,
 * is in one file; the rest is where its entry is, with the packages that only this one needs. Texts by the names of the
 * files, for CommonJS; from ES modules they mean the same.
 */
export function publicDeclarations(folder, entries) {
  const whole = reader((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  const exportsOf = new Map(entries.map((name) => [name, collectExports(whole, `${name}.d.ts`)]));
  const exported = new Set([...exportsOf.values()].flatMap((found) => [...found.values()].map(({ origin }) => origin)));
  const neededBy = new Map(entries.map((name) => [name, declarationsFor(name, whole, exported)]));
  const homes = new Map();
  const places = new Map([TOGETHER, ...entries].map((place) => [place, new Map()]));
  for (const [entry, declarations] of neededBy) {
    for (const [key, declaration] of declarations) {
      const shared = entry === MAIN || [...neededBy].some(([other, theirs]) => other !== entry && theirs.has(key));
      const place = shared ? TOGETHER : entry;
      places.get(place).set(key, declaration);
      const { name, origin } = declaration;
      if ((homes.get(name) ?? declaration).origin !== origin)
        throw new Error(`${origin} and ${homes.get(name).origin} both declare ${name}. Rename one of them.`);
      homes.set(name, { place, origin });
    }
  }
  return new Map(
    [...places].map(([place, declarations]) => [
      `${place}.d.ts`,
      fileOf(place, [...declarations.values()], exportsOf.get(place), homes),
    ]),
  );
}

/** All declarations that an entry needs, by where they are: `{ name, origin, text, uses }`. */
function declarationsFor(entry, whole, exported) {
  const files = new Map();
  const open = reader((name) => withoutHidden(whole, name, exported), files);
  needAll(open, `${entry}.d.ts`);
  const found = new Map();
  for (const file of files.values()) {
    for (const statement of file.needed) {
      if (ts.isExportDeclaration(statement)) continue;
      const uses = new Map();
      for (const local of identifiersOf(statement)) {
        const [specifier, there] = file.imported.get(local) ?? [];
        if (specifier && there !== local) throw new Error(`${file.name}: import ${there} under its own name.`);
        if (specifier || file.declared.has(local)) uses.set(local, specifier?.startsWith('.') ? undefined : specifier);
      }
      const text = textOf(file.text, statement);
      found.set(`${file.name}:${statement.pos}`, { name: namesOf(statement)[0], origin: file.name, text, uses });
    }
  }
  return found;
}

/** A file of declarations with what it imports. `exports`: of an entry; the common file exports everything. */
function fileOf(place, declarations, exports, homes) {
  const pathTo = (name) => path.posix.relative(path.posix.dirname(place), `${name}.js`).replace(/^(?!\.)/, './');
  const imports = new Map();
  for (const { uses } of declarations) {
    for (const [local, specifier] of uses) {
      const { place: home } = homes.get(local) ?? {};
      const from = specifier ?? (home && home !== place ? pathTo(home) : undefined);
      if (from) imports.set(from, (imports.get(from) ?? new Set()).add(local));
    }
  }
  const lines = [...imports].map(
    ([from, names]) => `import type { ${[...names].join(', ')} } from '${from}'${modeOf(from)};`,
  );
  if (!exports) return `${[...lines, ...declarations.map(({ text }) => text)].join('\n')}\n`;

  lines.push(...declarations.map(({ text }) => text.replace(/^export (?=declare|interface|type)/m, '')));
  const lists = new Map();
  for (const [as, { origin, isType }] of exports) {
    const local = origin.slice(origin.indexOf('#') + 1);
    const { place: home } = homes.get(local);
    const from = home === place ? '' : ` from '${pathTo(home)}'`;
    const name = `${isType ? 'type ' : ''}${local === as ? as : `${local} as ${as}`}`;
    lists.set(from, [...(lists.get(from) ?? []), name]);
  }
  return `${[...lines, ...[...lists].map(([from, names]) => `export { ${names.join(', ')} }${from};`)].join('\n')}\n`;
}

const resolved = (from, specifier) => path.join(path.dirname(from), specifier).replace(/\.js$/, '.d.ts');

/** Reads each file once: its statements, what they declare, and where its names come from. */
function reader(textOf, files = new Map()) {
  return (name) => {
    if (!files.has(name)) files.set(name, parse(name, textOf(name)));
    return files.get(name);
  };
}

function parse(name, text) {
  const { statements } = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const declared = new Map();
  const imported = new Map();
  for (const statement of statements) {
    const bindings = ts.isImportDeclaration(statement) && statement.importClause?.namedBindings;
    if (bindings && ts.isNamedImports(bindings)) {
      for (const each of bindings.elements) {
        imported.set(each.name.text, [statement.moduleSpecifier.text, (each.propertyName ?? each.name).text]);
      }
    }
    for (const each of namesOf(statement)) declared.set(each, [...(declared.get(each) ?? []), statement]);
  }
  return { name, text, statements, declared, imported, needed: new Set() };
}

/** The exports of a file: `{ origin: 'file#name', isType }` by the name that they have outside. */
function collectExports(open, name) {
  const file = open(name);
  const found = new Map();
  for (const statement of file.statements) {
    if (isExported(statement)) for (const each of namesOf(statement)) found.set(each, { origin: `${name}#${each}` });
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) continue;
    const target = resolved(name, statement.moduleSpecifier.text);
    const all = statement.exportClause ? [] : collectExports(open, target);
    for (const [as, { origin, isType }] of all) found.set(as, { origin, isType: isType || statement.isTypeOnly });
    for (const each of statement.exportClause?.elements ?? []) {
      const origin = originOf(open, target, (each.propertyName ?? each.name).text);
      found.set(each.name.text, { origin, isType: each.isTypeOnly || statement.isTypeOnly });
    }
  }
  return found;
}
/** `file#name` of the declaration behind a name of a file, as far as it is ours. */
function originOf(open, name, local) {
  const file = open(name);
  if (file.declared.has(local)) return `${name}#${local}`;
  const [specifier, there] = file.imported.get(local) ?? reexportOf(file, local);
  return specifier?.startsWith('.') ? originOf(open, resolved(name, specifier), there) : undefined;
}

function reexportOf({ statements }, name) {
  for (const { exportClause, moduleSpecifier } of statements.filter(ts.isExportDeclaration)) {
    const element = moduleSpecifier && exportClause?.elements.find((each) => each.name.text === name);
    if (element) return [moduleSpecifier.text, (element.propertyName ?? element.name).text];
  }
  return [];
}

const isExported = ({ modifiers }) => modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;

function namesOf(statement) {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? name.text : name.elements.map((element) => element.name.text),
    );
  }
  return statement.name ? [statement.name.text] : [];
}

/** Everything that a file exports: of an entry, or behind `export *`. */
function needAll(open, name) {
  const file = open(name);
  for (const statement of file.statements) {
    if (ts.isExportDeclaration(statement)) needReexport(open, file, statement);
    else if (isExported(statement)) needStatement(open, file, statement);
  }
}

function needReexport(open, file, statement) {
  file.needed.add(statement);
  const target = statement.moduleSpecifier && resolved(file.name, statement.moduleSpecifier.text);
  if (target && !statement.exportClause) needAll(open, target);
  for (const { propertyName, name } of statement.exportClause?.elements ?? []) {
    if (target) needExport(open, open(target), (propertyName ?? name).text);
    else needName(open, file, (propertyName ?? name).text);
  }
}

/** A name as it is seen within a file. */
function needName(open, file, name) {
  const [specifier, there] = file.imported.get(name) ?? [];
  if (specifier?.startsWith('.')) needExport(open, open(resolved(file.name, specifier)), there);
  else for (const statement of file.declared.get(name) ?? []) needStatement(open, file, statement);
}

/** A name as it is seen from outside: declared here, or passing through. */
function needExport(open, file, name) {
  const passing = file.statements
    .filter(ts.isExportDeclaration)
    .find(({ exportClause }) => exportClause?.elements.some((each) => each.name.text === name));
  if (passing) needReexport(open, file, passing);
  else if (file.declared.has(name)) needName(open, file, name);
  else for (const each of file.statements.filter(ts.isExportDeclaration)) needReexport(open, file, each);
}

/** A declaration, and all that it names. */
function needStatement(open, file, statement) {
  if (file.needed.has(statement)) return;
  file.needed.add(statement);
  (function visit(node) {
    if (ts.isIdentifier(node) && (file.imported.has(node.text) || file.declared.has(node.text)))
      needName(open, file, node.text);
    const specifier = ts.isImportTypeNode(node) ? node.argument.literal.text : '';
    if (specifier.startsWith('.')) needAll(open, resolved(file.name, specifier));
    ts.forEachChild(node, visit);
  })(statement);
}

/**
 * Nest 12 can only be imported, and TypeScript wants to be told so where CommonJS names its types. Of packages that have
 * types for each format it is those for `import` that we mean, in both. TypeORM has one set for both.
 */
const IMPORT_MODE = `{ 'resolution-mode': 'import' }`;
const modeOf = (specifier) => (hasMode(specifier) ? ` with ${IMPORT_MODE}` : '');
const hasMode = (specifier) => !/^(\.|node:|typeorm$)/.test(specifier);

function identifiersOf(node) {
  const found = ts.isIdentifier(node) ? [node.text] : [];
  ts.forEachChild(node, (child) => void found.push(...identifiersOf(child)));
  return found;
}

/** With the mode also where the compiler has written `import('…')`. */
function textOf(text, statement) {
  const ends = [];
  (function visit(node) {
    if (ts.isImportTypeNode(node)) {
      const { text: specifier } = node.argument.literal;
      if (specifier.startsWith('.')) throw new Error(`Import the type that is written as ${node.getText()}.`);
      if (hasMode(specifier)) ends.push(node.argument.end - statement.pos);
    }
    ts.forEachChild(node, visit);
  })(statement);
  return ends
    .reduceRight(
      (rest, end) => `${rest.slice(0, end)}, { with: ${IMPORT_MODE} }${rest.slice(end)}`,
      text.slice(statement.pos, statement.end),
    )
    .trim()
    .replace(/^( {4})+/gm, (indentation) => '\t'.repeat(indentation.length / 4));
}

/**
 * A file without what is private or `@internal`, and without what users cannot name: constructors that take such, which
 * only Nest calls, and interfaces that a class keeps to for its own sake.
 */
function withoutHidden(whole, name, exported) {
  const { text, statements } = whole(name);
  const hidden = ({ members }) =>
    members.filter((member) => {
      if (isHidden(member)) return true;
      return ts.isConstructorDeclaration(member) && member.parameters.some((each) => !isNameable(each));
    });
  const kept = ({ heritageClauses = [] }) =>
    heritageClauses.filter(({ token, types }) => token === ts.SyntaxKind.ImplementsKeyword && !types.every(isNameable));
  const isNameable = (node) => {
    const named = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node) && node.expression;
    const origin = named && ts.isIdentifier(named) && originOf(whole, name, named.text);
    if (origin && !exported.has(origin)) return false;
    return !ts.forEachChild(node, (child) => !isNameable(child));
  };
  const classes = statements.filter(ts.isClassDeclaration);
  return without(text, [...classes.flatMap(hidden), ...classes.flatMap(kept)]);
}

/** Whether a member of a class is none of its users' business. */
export function isHidden(member) {
  if (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) return true;
  if (member.name && ts.isPrivateIdentifier(member.name)) return true;
  return ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal');
}

function without(text, cuts) {
  return cuts
    .toSorted((a, b) => b.pos - a.pos)
    .reduce((rest, { pos, end }) => rest.slice(0, pos) + rest.slice(end), text);
}
