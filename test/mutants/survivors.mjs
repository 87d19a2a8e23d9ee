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
    code: 'if (text === null || !/^[\\d-]{10} [\\d:]{8}$/.test(text)) return null;',
    mutants: ['if (false || !/^[\\d-]{10} [\\d:]{8}$/.test(text)) return null;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The groups are there; only the compiler asks for a default.',
    code: 'const parts: string[] = text.match(GROUP_OR_SEPARATOR) ?? [];',
    mutants: ['const parts: string[] = text.match(GROUP_OR_SEPARATOR) ?? ["Stryker was here"];'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The group is there; only the compiler asks for a default.',
    code: "function mayBeCard(start = '', length: number): boolean {",
    mutants: ['function mayBeCard(start = "Stryker was here!", length: number): boolean {'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The group is there; only the compiler asks for a default.',
    code: "const digits = parts[index] ?? '';",
    mutants: ['const digits = parts[index] ?? "Stryker was here!";'],
  },
  {
    file: 'common/redact.ts',
    reason: 'One character more or less of 16,384.',
    code: 'if (budget.remaining >= 0 && JSON.stringify(redacted).length <= MAX_JSON) return redacted;',
    mutants: ['if (budget.remaining > 0 && JSON.stringify(redacted).length <= MAX_JSON) return redacted;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'One character more or less of 16,384.',
    code: 'if (budget.remaining < 0) return undefined;',
    mutants: ['if (budget.remaining <= 0) return undefined;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'One character more or less of 16,384.',
    code: 'if (budget.remaining < 0) break;',
    mutants: ['if (budget.remaining <= 0) break;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Only limits how much of a text is read.',
    code: 'return databaseText(maskCards(databaseText(text.slice(0, limit + MAX_CARD_TEXT_LENGTH))).slice(0, limit));',
    mutants: ['return databaseText(maskCards(databaseText(text)).slice(0, limit));'],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: the pattern finds nothing in a text with fewer digits.',
    code: 'if (!hasDigitsOfCard(digitsText)) return text;',
    mutants: ['if (false) return text;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'The same shortcut, taken less often.',
    code: "return text.replace(/\\D+/g, '').length >= 12;",
    mutants: [
      'return true;',
      "return text.replace(/\\D/g, '').length >= 12;",
      'return text.replace(/\\D+/g, "Stryker was here!").length >= 12;',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: a text without entities comes out as it went in.',
    code: "const decoded = text.includes('&') ? text.replace(ENTITY_PATTERN, decodeEntity) : text;",
    mutants: ['const decoded = text.includes("") ? text.replace(ENTITY_PATTERN, decodeEntity) : text;'],
  },
  {
    file: 'common/redact.ts',
    reason: 'A shortcut: ASCII comes out as it went in.',
    code: 'return /^[\\0-\\x7f]*$/.test(decoded) ? decoded : decoded.replace(/[^\\P{N}0-9]/gu, (number) => plainNumber(number));',
    mutants: [
      'return /^[\\0-\\x7f]$/.test(decoded) ? decoded : decoded.replace(/[^\\P{N}0-9]/gu, (number) => plainNumber(number));',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'No two scripts have adjacent digits, except those that normalization makes ASCII.',
    code: 'while (value < 9 && /\\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;',
    mutants: [
      'while (true && /\\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;',
      'while (value <= 9 && /\\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;',
    ],
  },
  {
    file: 'common/redact.ts',
    reason: 'Beyond the last group there is nothing.',
    code: 'for (let first = 0; first < parts.length; first += 2) {',
    mutants: ['for (let first = 0; first <= parts.length; first += 2) {'],
  },
  {
    file: 'common/redact.ts',
    reason: 'Beyond the last group there is nothing.',
    code: 'for (let index = first; index < parts.length; index += 2) {',
    mutants: ['for (let index = first; index <= parts.length; index += 2) {'],
  },
];

export const SURVIVORS = ACCEPTED.flatMap(({ mutants, ...rest }) => mutants.map((mutant) => ({ ...rest, mutant })));
