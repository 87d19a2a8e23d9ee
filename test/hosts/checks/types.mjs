// Compiles the application, and an import of every entry, with each of TypeScript's module resolutions, for a host that checks
// declarations (`skipLibCheck: false`) and has nothing newer than ES2021: no DOM, no `ErrorOptions`. Only errors in files of ours
// count, those of the application and below node_modules/nestjs-payment-*. Prints one line of JSON for each.
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const { ModuleKind, ModuleResolutionKind } = ts;
const { dependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const ours = Object.keys(dependencies).filter((name) => name.startsWith('nestjs-payment-'));
const isNest11 = fs.readFileSync('node_modules/@nestjs/core/package.json', 'utf8').includes('"version": "11.');

const ways = [
  ...(isNest11 ? [['node10', ModuleKind.CommonJS, ModuleResolutionKind.Node10]] : []), // Nest 12 has no types for it
  ['node16', ModuleKind.Node16, ModuleResolutionKind.Node16],
  ['nodenext', ModuleKind.NodeNext, ModuleResolutionKind.NodeNext],
  ['bundler', ModuleKind.ESNext, ModuleResolutionKind.Bundler],
];

const entries = ours.flatMap((name) => {
  const { exports } = JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`, 'utf8'));
  return Object.keys(exports)
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => path.posix.join(name, entry));
});
fs.writeFileSync(
  'app/entries.ts',
  entries.map((entry, index) => `export * as entry${index} from '${entry}';\n`).join(''),
);

const files = fs.readdirSync('app').map((file) => `app/${file}`);
for (const [name, module, moduleResolution] of ways) {
  const program = ts.createProgram(files, {
    module,
    moduleResolution,
    target: ts.ScriptTarget.ES2021,
    lib: ['lib.es2021.d.ts'],
    strict: true,
    esModuleInterop: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  });
  const host = {
    getCurrentDirectory: () => process.cwd(),
    getCanonicalFileName: (file) => file,
    getNewLine: () => '\n',
  };
  const ours = program.getSourceFiles().filter(({ fileName }) => !/node_modules\/(?!nestjs-payment-)/.test(fileName));
  const flaws = [program.getOptionsDiagnostics(), ...ours.map((file) => program.getSemanticDiagnostics(file))].flat();
  console.log(
    JSON.stringify({
      name: `types with ${name}, ES2021`,
      ok: flaws.length === 0,
      detail: ts.formatDiagnostics(flaws, host),
    }),
  );
}
