import path from 'node:path';
import ts from 'typescript';
import { CommandError } from './lifecycle.mjs';
import { manifestIn } from './manifest.mjs';

/** @typedef {{ checker: ts.TypeChecker, known: Set<ts.Symbol>, unnamed: Set<ts.Symbol>, library: string }} Context */

/**
 * The public interface of a library as text: what each of its entries exports, by name, without comments and without
 * what is not for users. Two texts differ where a user may notice. Reads the compiled declarations.
 *
 * Groups of options need no name of their own: a user writes them as literals, or as `PaymentAcceptanceOptions['callbacks']`.
 * The report shows them last. Throws where it names another type that no entry exports: a user could not write it down.
 */
export function apiReport(/** @type {string} */ library) {
  const { name, exports } = manifestIn(library);
  const entries = Object.entries(exports).flatMap(([subpath, { import: door }]) =>
    door ? { subpath, file: path.join(library, door.types) } : [],
  );
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022 };
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  );
  const checker = program.getTypeChecker();
  const exported = entries.map(({ subpath, file }) => ({ subpath, symbols: exportsOf(program, file) }));
  const known = new Set(exported.flatMap(({ symbols }) => symbols));
  /** @type {Context} */
  const context = { checker, known, unnamed: new Set(), library };
  const sections = exported.map(({ subpath, symbols }) => {
    const texts = symbols.map((symbol) => textOf(symbol, context));
    return `## ${path.posix.join(name, subpath)}\n\n\`\`\`ts\n${texts.join('\n')}\`\`\`\n`;
  });
  sections.push(...optionGroups(name, context));
  return `# The public interface of ${name}\n\nWritten by \`npm run api\`. A change here is a change for users: it goes into CHANGELOG.md.\n\n${sections.join('\n')}`;
}

/** The groups of options that are named, and exported by no entry; printing one may name further ones. */
function optionGroups(/** @type {string} */ name, /** @type {Context} */ context) {
  const texts = new Map();
  const others = [];
  for (const symbol of context.unnamed) {
    if (isOptionGroup(symbol)) texts.set(symbol.name, textOf(symbol, context));
    else others.push(symbol.name);
  }
  if (others.length > 0) {
    throw new CommandError(
      `What ${name} exports names types that none of its entries export: ${others.sort().join(', ')}. ` +
        'Export them, or mark the members that name them with @internal.',
    );
  }
  if (texts.size === 0) return [];
  const sorted = [...texts.keys()].sort().map((each) => texts.get(each));
  return [`## Groups of options, which no entry exports\n\n\`\`\`ts\n${sorted.join('\n')}\`\`\`\n`];
}

/** An interface all of whose members may be left out. */
function isOptionGroup(/** @type {ts.Symbol} */ { declarations = [] }) {
  return declarations.every(
    (each) => ts.isInterfaceDeclaration(each) && each.members.every(({ questionToken }) => questionToken),
  );
}

/** In the order of their names, each under the symbol that it stands for. */
function exportsOf(/** @type {ts.Program} */ program, /** @type {string} */ file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} is no module.`);
  return checker
    .getExportsOfModule(module)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
}

function textOf(/** @type {ts.Symbol} */ { declarations = [] }, /** @type {Context} */ context) {
  const printer = ts.createPrinter({ removeComments: true });
  return declarations
    .map((declaration) => {
      // A constant is declared by a statement around it.
      const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
      const shown = ts.isClassDeclaration(node) ? withoutPrivate(node) : node;
      collectUnnamed(shown, context);
      return `${printer.printNode(ts.EmitHint.Unspecified, shown, node.getSourceFile())}\n`;
    })
    .join('');
}

function withoutPrivate(/** @type {ts.ClassDeclaration} */ node) {
  return ts.factory.updateClassDeclaration(
    node,
    node.modifiers,
    node.name,
    node.typeParameters,
    node.heritageClauses,
    node.members.filter((member) => !isPrivate(member)),
  );
}

function isPrivate(/** @type {ts.ClassElement} */ member) {
  const isHidden = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
  return isHidden || (member.name !== undefined && ts.isPrivateIdentifier(member.name));
}

function collectUnnamed(/** @type {ts.Node} */ node, /** @type {Context} */ context) {
  for (const child of ts.isClassDeclaration(node) ? [...(node.heritageClauses ?? []), ...node.members] : [node]) {
    for (const symbol of unnamedIn(child, context)) context.unnamed.add(symbol);
  }
}

/** Types named in `node` that are the library's own, and that no entry exports. */
function unnamedIn(/** @type {ts.Node} */ node, /** @type {Context} */ { checker, known, library }) {
  /** @type {ts.Symbol[]} */
  const found = [];
  (function visit(/** @type {ts.Node} */ each) {
    if (ts.isIdentifier(each)) {
      const symbol = resolved(checker, each);
      const declaration = symbol?.declarations?.[0];
      if (
        declaration &&
        symbol.flags & ts.SymbolFlags.Type &&
        !known.has(symbol) &&
        !ts.isTypeParameterDeclaration(declaration) &&
        declaration.getSourceFile().fileName.startsWith(`${library}${path.sep}`)
      ) {
        found.push(symbol);
      }
    }
    ts.forEachChild(each, visit);
  })(node);
  return found;
}

function resolved(/** @type {ts.TypeChecker} */ checker, /** @type {ts.Node} */ node) {
  const symbol = checker.getSymbolAtLocation(node);
  return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}
