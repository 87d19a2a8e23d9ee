import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** TypeORM has one set of declarations for both formats; Nest's and others' differ by format, or by version. */
const dependsOnFormat = (name) => !name.startsWith('.') && !name.startsWith('node:') && name !== 'typeorm';

/**
 * What users of the entries can reach of the library's declarations: no private members, no constructors that only Nest
 * calls, nothing that neither an entry exports nor something exported names. By file `{ text, neutral }`: the latter
 * where it and what it imports mean the same in either module format.
 */
export function publicDeclarations(folder, entries) {
  const whole = reader((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  const exported = new Set();
  for (const name of entries) collectExports(whole, `${name}.d.ts`, exported);

  const files = new Map();
  const open = reader((name) => withoutHidden(whole, name, exported), files);
  for (const name of entries) needAll(open, `${name}.d.ts`);

  const needed = [...files.values()].filter((file) => file.needed.size > 0);
  const texts = new Map(needed.map((file) => [file.name, textOf(file)]));
  const below = new Map([...texts].map(([name, text]) => [name, importsOf(text)]));
  const differs = (name, seen = new Set()) => {
    if (seen.has(name)) return false;
    seen.add(name);
    return below
      .get(name)
      .some((each) => (each.startsWith('.') ? differs(resolved(name, each), seen) : dependsOnFormat(each)));
  };
  return new Map([...texts].map(([name, text]) => [name, { text, neutral: !differs(name) }]));
}

const resolved = (from, specifier) => path.join(path.dirname(from), specifier).replace(/\.js$/, '.d.ts');
const importsOf = (text) => ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);

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

/** Where the exports of a file are declared, as `file#name`. */
function collectExports(open, name, found) {
  const file = open(name);
  for (const statement of file.statements) {
    if (isExported(statement)) for (const each of namesOf(statement)) found.add(`${name}#${each}`);
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) continue;
    const target = resolved(name, statement.moduleSpecifier.text);
    if (!statement.exportClause) collectExports(open, target, found);
    for (const each of statement.exportClause?.elements ?? []) {
      found.add(originOf(open, target, (each.propertyName ?? each.name).text));
    }
  }
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

function textOf({ text, statements, needed }) {
  const names = new Set();
  for (const statement of needed) {
    (function visit(node) {
      if (ts.isIdentifier(node)) names.add(node.text);
      ts.forEachChild(node, visit);
    })(statement);
  }
  const cuts = [];
  for (const statement of statements) {
    const bindings = ts.isImportDeclaration(statement) && statement.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings)) {
      // `export {}` says that the file is a module.
      const isMark = ts.isExportDeclaration(statement) && statement.exportClause?.elements.length === 0;
      if (!needed.has(statement) && !isMark && !ts.isImportDeclaration(statement)) cuts.push(statement);
      continue;
    }
    const unused = bindings.elements.filter(({ name }) => !names.has(name.text));
    if (unused.length === bindings.elements.length) cuts.push(statement);
    // With the comma behind it; one before the brace may stay.
    else cuts.push(...unused.map(({ pos, end }) => ({ pos, end: end + (text[end] === ',' ? 1 : 0) })));
  }
  return `${without(text, cuts).trim()}\n`.replace(/^( {4})+/gm, (indentation) => '\t'.repeat(indentation.length / 4));
}

/** A file without private members, and without constructors that take what users cannot name: only Nest calls those. */
function withoutHidden(whole, name, exported) {
  const { text, statements } = whole(name);
  const hidden = ({ members }) =>
    members.filter((member) => {
      if (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) return true;
      if (member.name && ts.isPrivateIdentifier(member.name)) return true;
      return ts.isConstructorDeclaration(member) && member.parameters.some((each) => !isNameable(each));
    });
  const isNameable = (node) => {
    const origin =
      ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName) && originOf(whole, name, node.typeName.text);
    if (origin && !exported.has(origin)) return false;
    return !ts.forEachChild(node, (child) => !isNameable(child));
  };
  return without(text, statements.filter(ts.isClassDeclaration).flatMap(hidden));
}

function without(text, cuts) {
  return cuts
    .toSorted((a, b) => b.pos - a.pos)
    .reduce((rest, { pos, end }) => rest.slice(0, pos) + rest.slice(end), text);
}
