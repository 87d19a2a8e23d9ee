import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** TypeORM has one set of declarations for both formats; Nest's and others' differ by format, or by version. */
const dependsOnFormat = (name) => !name.startsWith('.') && !name.startsWith('node:') && name !== 'typeorm';

/**
 * The declarations that users of the entries can reach: without private members and without the constructors that only
 * Nest calls, and so without the many files that only these name. By file `{ text, neutral }`: the latter where it and
 * what it imports mean the same in either module format.
 */
export function publicDeclarations(folder, entries) {
  const files = new Map();
  const visit = (file) => {
    if (files.has(file)) return;
    const text = publicPart(fs.readFileSync(path.join(folder, file), 'utf8'));
    const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    const below = imports
      .filter((name) => name.startsWith('.'))
      .map((name) => path.join(path.dirname(file), name).replace(/\.js$/, '.d.ts'));
    files.set(file, { text, below, dependsOnFormat: imports.some(dependsOnFormat) });
    below.forEach(visit);
  };
  for (const name of entries) visit(`${name}.d.ts`);

  const differs = (file, seen = new Set()) => {
    if (seen.has(file)) return false;
    seen.add(file);
    const declared = files.get(file);
    return declared.dependsOnFormat || declared.below.some((each) => differs(each, seen));
  };
  return new Map([...files].map(([file, { text }]) => [file, { text, neutral: !differs(file) }]));
}

function publicPart(text) {
  const file = ts.createSourceFile('file.d.ts', text, ts.ScriptTarget.Latest, true);
  const cuts = file.statements.filter(ts.isClassDeclaration).flatMap(hiddenMembers);
  const kept = identifiers(file, cuts);
  for (const statement of file.statements.filter(ts.isImportDeclaration)) {
    const names = statement.importClause?.namedBindings;
    if (!names || !ts.isNamedImports(names)) continue;
    const unused = names.elements.filter(({ name }) => !kept.has(name.text));
    if (unused.length === names.elements.length) cuts.push(statement);
    // With the comma behind it; one before the brace may stay.
    else cuts.push(...unused.map((each) => ({ pos: each.pos, end: each.end + (text[each.end] === ',' ? 1 : 0) })));
  }
  let rest = text;
  for (const { pos, end } of cuts.sort((a, b) => b.pos - a.pos)) rest = rest.slice(0, pos) + rest.slice(end);
  return rest.replace(/^( {4})+/gm, (indentation) => '\t'.repeat(indentation.length / 4));
}

/** What a class keeps for itself. A constructor that fills private members is called by Nest, or by another class of ours. */
function hiddenMembers({ members }) {
  const hidden = members.filter(
    (member) =>
      ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private ||
      (member.name && ts.isPrivateIdentifier(member.name)),
  );
  const names = new Set(hidden.map(({ name }) => name?.getText()));
  const constructors = members
    .filter(ts.isConstructorDeclaration)
    .filter(({ parameters }) => parameters.some(({ name }) => names.has(name.getText())));
  return [...new Set([...hidden, ...constructors])];
}

/** Every identifier outside imports and what is cut. */
function identifiers(file, cuts) {
  const found = new Set();
  (function visit(node) {
    if (ts.isImportDeclaration(node) || cuts.includes(node)) return;
    if (ts.isIdentifier(node)) found.add(node.text);
    ts.forEachChild(node, visit);
  })(file);
  return found;
}
