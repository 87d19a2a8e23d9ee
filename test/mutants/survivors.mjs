/**
 * The mutants of pure code that no test can notice, or none should, with the reason: `code` is the line as it is (the first
 * and the last of several), `mutants` what becomes of it. `npm run test:mutants -- --pure` fails on any other survivor, and
 * on one that is here and no longer survives.
 */
const ACCEPTED = [
  {
    file: 'domain/decide.ts',
    reason: 'Every listed payment of the bill has a row and an entry by then; only the compiler asks.',
    code: "if (!row || !last || row.intentId !== bill.intentId || (row.status !== 'SUCCESS' && row.verdict !== 'succeeded'))",
    mutants: [
      "if (false || row.intentId !== bill.intentId || (row.status !== 'SUCCESS' && row.verdict !== 'succeeded'))",
      "if (!row && !last || row.intentId !== bill.intentId || (row.status !== 'SUCCESS' && row.verdict !== 'succeeded'))",
    ],
  },
  {
    file: 'domain/decide.ts',
    reason: 'The verdicts are there by then; only the compiler asks.',
    code: 'return part.flatMap((payment) => verdicts?.get(payment) ?? []);',
    mutants: ['return part.flatMap((payment) => verdicts.get(payment) ?? []);'],
  },
  {
    file: 'domain/decide.ts',
    reason: 'A listed payment of the bill has an entry; only the compiler asks for a default.',
    code: 'entries: readonly ReportedPayment[] = [],',
    mutants: ['entries: readonly ReportedPayment[] = ["Stryker was here"],'],
  },
  {
    file: 'domain/decide.ts',
    reason: 'A text is no verdict, so a list of one is refused as an empty list is.',
    code: 'return Array.isArray(verdicts) ? (verdicts as Verdict[]) : [];',
    mutants: ['return Array.isArray(verdicts) ? (verdicts as Verdict[]) : ["Stryker was here"];'],
  },
  {
    file: 'domain/decision-builder.ts',
    reason: 'The case does nothing, and nothing is what happens without it. The compiler asks for every case.',
    code: "case 'pending':",
    mutants: ['case "":'],
  },
  {
    file: 'domain/decision-builder.ts',
    reason: 'What an operator accepts has an amount; only the compiler asks.',
    code: 'const isMore = amount !== null && compareAmounts(amount, this.bill.amount) > 0;',
    mutants: ['const isMore = true && compareAmounts(amount, this.bill.amount) > 0;'],
  },
  {
    file: 'domain/hints.ts',
    reason: 'A SUCCESS is found whatever is looked for, and no payment has an empty status.',
    code: "if (!hint.expectsSuccess || isShown('SUCCESS', payments)) consumed.push({ id, outcome: null });",
    mutants: ['if (!hint.expectsSuccess || isShown("", payments)) consumed.push({ id, outcome: null });'],
  },
  {
    file: 'domain/money.ts',
    reason:
      'The pattern always captures the digits; only the compiler asks for a default. An empty exponent is 0, too.',
    code: "const [, sign, whole = '', fraction = '', exponent = '0'] = match;",
    mutants: [
      `const [, sign, whole = "Stryker was here!", fraction = '', exponent = '0'] = match;`,
      `const [, sign, whole = '', fraction = '', exponent = ""] = match;`,
    ],
  },
  {
    file: 'domain/money.ts',
    reason: 'Multiplied or divided by one is the same.',
    code: 'if (shift >= 0) {',
    mutants: ['if (shift > 0) {'],
  },
  {
    file: 'domain/money.ts',
    reason: 'There is no negative zero among whole numbers.',
    code: "const digits = (minor < 0n ? -minor : minor).toString().padStart(SCALE + 1, '0');",
    mutants: ["const digits = (minor <= 0n ? -minor : minor).toString().padStart(SCALE + 1, '0');"],
  },
  {
    file: 'callbacks/result-ticket.ts',
    reason: 'Without an encoding Node takes UTF-8.',
    code: ".update(`${PURPOSE}\\0${shop}\\0`, 'utf8')",
    mutants: ['.update(`${PURPOSE}\\0${shop}\\0`, "")'],
  },
  {
    file: 'callbacks/signature.ts',
    reason: 'Without an encoding Node takes UTF-8.',
    code: "received.write(digest, 'utf8');",
    mutants: ['received.write(digest, "");'],
  },
  {
    file: 'client/answers.ts',
    reason: 'A function that ends returns undefined.',
    code: '} catch { … }',
    mutants: ['} catch {}'],
  },
  {
    file: 'client/answers.ts',
    reason: 'A text has no fields.',
    code: 'const inner = depth === 0 ? [] : PAGING_FIELDS.map((name) => fields[name]).filter(isRecord);',
    mutants: [
      'const inner = depth === 0 ? ["Stryker was here"] : PAGING_FIELDS.map((name) => fields[name]).filter(isRecord);',
    ],
  },
  {
    file: 'client/answers.ts',
    reason: 'Only limits how much of a body is read.',
    code: 'const text = body.slice(0, MAX_ERROR_TEXT);',
    mutants: ['const text = body;'],
  },
  {
    file: 'client/answers.ts',
    reason: 'No date is found in the text "null" either; only the compiler asks.',
    code: 'createdAt: createdAtText === null ? null : readInstant(createdAtText, timeZone),',
    mutants: ['createdAt: false ? null : readInstant(createdAtText, timeZone),'],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: what is not found short is measured exactly.',
    code: 'function isShort(kept: object): boolean { … }',
    mutants: ['function isShort(kept: object): boolean {}'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The same shortcut, taken less often.',
    code: "if (typeof value === 'object' && value !== null) return false;",
    mutants: [
      'if (true) return false;',
      "if (typeof value === 'object' || value !== null) return false;",
      'if (true && value !== null) return false;',
      "if (typeof value === 'object' && true) return false;",
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'The same shortcut, taken less often.',
    code: 'return length <= MAX_JSON;',
    mutants: ['return false;', 'return length < MAX_JSON;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'What is remembered of a name is what would be found again.',
    code: 'if (NAMES.has(name)) return NAMES.get(name);',
    mutants: ['if (false) return NAMES.get(name);'],
  },
  {
    file: 'common/redact.ts',
    reason: 'How much is remembered shows in memory and time alone, and neither can be told exactly.',
    code: 'if (NAMES.size < MAX_KEPT_NAMES && name.length <= MAX_NAME) NAMES.set(name, kept);',
    mutants: [
      'if (true) NAMES.set(name, kept);',
      'if (false) NAMES.set(name, kept);',
      'if (NAMES.size < MAX_KEPT_NAMES || name.length <= MAX_NAME) NAMES.set(name, kept);',
      'if (true && name.length <= MAX_NAME) NAMES.set(name, kept);',
      'if (NAMES.size <= MAX_KEPT_NAMES && name.length <= MAX_NAME) NAMES.set(name, kept);',
      'if (NAMES.size >= MAX_KEPT_NAMES && name.length <= MAX_NAME) NAMES.set(name, kept);',
      'if (NAMES.size < MAX_KEPT_NAMES && true) NAMES.set(name, kept);',
      'if (NAMES.size < MAX_KEPT_NAMES && name.length < MAX_NAME) NAMES.set(name, kept);',
      'if (NAMES.size < MAX_KEPT_NAMES && name.length > MAX_NAME) NAMES.set(name, kept);',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'A property that is defined reads like one that is assigned; assigning is the faster way.',
    code: "if (kept === '__proto__') Object.defineProperty(fields, kept, { value: item, enumerable: true });",
    mutants: ['if (true) Object.defineProperty(fields, kept, { value: item, enumerable: true });'],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: the pattern finds nothing in a text with fewer digits.',
    code: 'if (!hasDigitsOfCard(text)) return text;',
    mutants: ['if (false) return text;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: a plain text comes out of the long way as it went in.',
    code: 'function isPlain(text: string): boolean { … }',
    mutants: ['function isPlain(text: string): boolean {}'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The same shortcut, taken less often.',
    code: 'return text.length <= MAX_NAME && /^[ -~]*$/.test(text) && !hasDigitsOfCard(text);',
    mutants: [
      'return false;',
      'return text.length < MAX_NAME && /^[ -~]*$/.test(text) && !hasDigitsOfCard(text);',
      'return text.length <= MAX_NAME && /^[ -~]$/.test(text) && !hasDigitsOfCard(text);',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'Looks at one character that is not there, or at more of them than it needs to.',
    code: 'for (let at = 0; at < text.length && digits < 12; at += 1) {',
    mutants: [
      'for (let at = 0; at <= text.length && digits < 12; at += 1) {',
      'for (let at = 0; at < text.length && true; at += 1) {',
      'for (let at = 0; at < text.length && digits <= 12; at += 1) {',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'Counting too many digits only leaves both shortcuts unused.',
    code: 'if (code >= 48 && code <= 57) digits += 1;',
    mutants: [
      'if (true) digits += 1;',
      'if (code >= 48 || code <= 57) digits += 1;',
      'if (true && code <= 57) digits += 1;',
      'if (code >= 48 && true) digits += 1;',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'Counting too many digits only leaves both shortcuts unused.',
    code: 'return digits >= 12;',
    mutants: ['return true;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Beyond the last group there is nothing.',
    code: 'for (let index = 0; index < groups.length; index += 2) {',
    mutants: ['for (let index = 0; index <= groups.length; index += 2) {'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Beyond the last group there is nothing, and no number with more than 19 digits is a card.',
    code: 'for (let end = start; end < groups.length && digits.length <= 19; end += 2) {',
    mutants: [
      'for (let end = start; end <= groups.length && digits.length <= 19; end += 2) {',
      'for (let end = start; end < groups.length && digits.length < 19; end += 2) {',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'What ends here in time would only take longer: redact-speed.spec.ts notices.',
    code: 'for (let end = start; end < groups.length && digits.length <= 19; end += 2) {',
    mutants: ['for (let end = start; end < groups.length && true; end += 2) {'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Between separators that are taken one by one are empty groups, which add nothing to a number.',
    code: 'const SEPARATOR = /((?:%20|[^\\p{L}\\p{N}]){1,3})/u;',
    mutants: ['const SEPARATOR = /((?:%20|[^\\p{L}\\p{N}]))/u;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Ten divides a sum where it divides the same below zero.',
    code: 'return total + (value > 9 ? value - 9 : value);',
    mutants: ['return total - (value > 9 ? value - 9 : value);'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The group is there; only the compiler asks for a default.',
    code: "text += digits === '' ? (groups[index] ?? '') : masked(digits);",
    mutants: [`text += digits === '' ? (groups[index] ?? "Stryker was here!") : masked(digits);`],
  },
  {
    file: 'common/redact.ts',
    reason: 'The group is there; only the compiler asks for a default.',
    code: "digits += groups[end] ?? '';",
    mutants: [`digits += groups[end] ?? "Stryker was here!";`],
  },
];

export const SURVIVORS = ACCEPTED.flatMap(({ mutants, ...rest }) => mutants.map((mutant) => ({ ...rest, mutant })));
