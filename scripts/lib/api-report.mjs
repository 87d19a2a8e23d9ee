import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { isHidden } from './compile-declarations.mjs';
import { CommandError } from './lifecycle.mjs';

/**
 * The public interface of a library as text: what each of its entries exports, by name, without comments and without
 * what is not for users. Two texts differ where a user may notice. Reads the compiled declarations.
 *
 * Throws where it names a type that no entry exports: a user could not write it down.
 */
export function apiReport(library) {
  const { name, exports } = JSON.parse(fs.readFileSync(path.join(library, 'package.json'), 'utf8'));
  const entries = Object.entries(exports).filter(([, conditions]) => conditions.import);
  const files = entries.map(([, conditions]) => path.join(library, conditions.import.types));
  const program = ts.createProgram(files, { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022 });
  const checker = program.getTypeChecker();
  const exported = files.map((file) => exportsOf(checker, program.getSourceFile(file)));
  const known = new Set(exported.flat());

  const unnamed = new Set();
  const sections = entries.map(([subpath], index) => {
    const texts = exported[index].map((symbol) => textOf(symbol, { checker, known, unnamed, library }));
    return `## ${path.posix.join(name, subpath)}\n\n\`\`\`ts\n${texts.join('\n')}\`\`\`\n`;
  });
  if (unnamed.size > 0) {
    throw new CommandError(
      `What ${name} exports names types that none of its entries export: ${[...unnamed].sort().join(', ')}. ` +
        'Export them, or mark the members that name them with @internal.',
    );
  }
  return `# The public interface of ${name}\n\nWritten by \`npm run api\`. A change here is a change for users: it goes into CHANGELOG.md.\n\n${sections.join('\n')}`;
}

/** In the order of their names, each under the symbol that it stands for. */
function exportsOf(checker, file) {
  return checker
    .getExportsOfModule(checker.getSymbolAtLocation(file))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
}

function textOf(symbol, context) {
  const printer = ts.createPrinter({ removeComments: true });
  return symbol.declarations
    .map((declaration) => {
      // A constant is declared by a statement around it.
      const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
      const shown = ts.isClassDeclaration(node) ? withoutHidden(node, context) : node;
      collectUnnamed(shown, context);
      return `${printer.printNode(ts.EmitHint.Unspecified, shown, node.getSourceFile())}\n`;
    })
    .join('');
}

/** Without what `compile-declarations.mjs` does not publish either. */
function withoutHidden(node, context) {
  const members = node.members.filter((member) => {
    if (isHidden(member)) return false;
    return !ts.isConstructorDeclaration(member) || unnamedIn(member, context).length === 0;
  });
  return ts.factory.updateClassDeclaration(
    node,
    node.modifiers,
    node.name,
    node.typeParameters,
    node.heritageClauses?.filter((clause) => !isOwnAffair(clause, context)),
    members,
  );
}

const isOwnAffair = (clause, context) =>
  clause.token === ts.SyntaxKind.ImplementsKeyword && unnamedIn(clause, context).length > 0;

function collectUnnamed(node, context) {
  for (const child of ts.isClassDeclaration(node) ? [...(node.heritageClauses ?? []), ...node.members] : [node]) {
    for (const name of unnamedIn(child, context)) context.unnamed.add(name);
  }
}

/** Names of types in `node` that are the library's own, and that no entry exports. */
function unnamedIn(node, { checker, known, library }) {
  const found = [];
  (function visit(each) {
    if (ts.isIdentifier(each)) {
      const symbol = resolved(checker, each);
      const [declaration] = symbol?.declarations ?? [];
      if (
        declaration &&
        isType(symbol) &&
        !known.has(symbol) &&
        !ts.isTypeParameterDeclaration(declaration) &&
        declaration.getSourceFile().fileName.startsWith(`${library}${path.sep}`)
      ) {
        found.push(symbol.name);
      }
    }
    ts.forEachChild(each, visit);
  })(node);
  return found;
}

const isType = (symbol) => (symbol.flags & ts.SymbolFlags.Type) !== 0;

function resolved(checker, node) {
  const symbol = checker.getSymbolAtLocation(node);
  return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}
