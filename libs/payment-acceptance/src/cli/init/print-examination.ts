import type { Edit } from './edits.js';
import type { Examination } from './examine.js';

const PLACES: Readonly<Record<Edit['place'], string>> = {
  'new file': 'a new file',
  end: 'at the end',
  top: 'at the top',
  imports: 'in the imports of @Module, at their end',
  providers: 'in the providers of @Module',
  'before listen': 'before app.listen()',
};

/** The examination as text for a terminal. */
export function examinationText({
  fits,
  folder,
  found,
  flaws,
  install,
  edits,
  sandbox,
  migrate,
  addresses,
  notes,
}: Examination): string {
  const parts = [section(`Found in ${folder}:`, found)];
  if (!fits) return text([...parts, section('This has to change first:', flaws)]);

  const { commands } = install;
  parts.push(
    commands.length > 0
      ? section('1. Install what is missing; nothing that is there changes:', commands)
      : '1. Every package is there.\n',
    edits.length > 0 ? `2. Add these lines:\n\n${edits.map(editText).join('\n')}` : '2. Every line is there.\n',
    section(
      '3. In development, start the sandbox of the service (put the port of your application in the place of 3000):',
      [sandbox],
    ),
    section('4. In production, before the application starts (elsewhere it makes its tables by itself):', [
      migrate,
      ...(migrate.includes('--data-source')
        ? []
        : ['with DATABASE_URL set, or with --data-source FILE, a file that exports the DataSource']),
    ]),
    section(
      '5. Enter at the service (a further shop adds /NAME):',
      Object.entries(addresses).map(([name, address]) => `${name.padEnd(11)}  ${address}`),
    ),
  );
  if (notes.length > 0) parts.push(section('To check:', notes));
  return text(parts);
}

function editText({ file, place, code }: Edit): string {
  return `  ${file}, ${PLACES[place]}:\n\n${code.replace(/^(?=.)/gm, '    ')}\n`;
}

function section(title: string, lines: readonly string[]): string {
  return `${title}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function text(parts: readonly string[]): string {
  return parts.join('\n');
}
