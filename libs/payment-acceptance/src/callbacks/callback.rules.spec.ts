import { describe, expect, test } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { IsIn, IsString, ValidateIf, validateSync } from 'class-validator';
import fc from 'fast-check';
import { CallbackRules } from './callback.rules.js';
import { PostbackDto, RedirectDto, REDIRECT_CURRENCIES } from './callback.dto.js';

/** Texts about the bounds of the rules, as often as anything else. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...REDIRECT_CURRENCIES, 'SUCCESS', '100.05', '-1', '1e5', '', ' ', '\0', '1.', '9'.repeat(21)),
  fc.constantFrom(0, 1, 16, 17, 64, 65, 128, 129, 255, 256, 1000, 1001, 4000, 4001).map((length) => 'x'.repeat(length)),
  fc.tuple(fc.nat(), fc.nat(99)).map(([whole, cents]) => `${whole}.${cents}`),
);
const flat = fc.oneof(
  { weight: 5, arbitrary: text },
  fc.constantFrom(null, undefined, true, false),
  fc.double(),
  fc.integer(),
);
const good: Record<string, string> = {
  Status: 'SUCCESS',
  InvId: 'A-1',
  OutSum: '100.05',
  TrsId: 'b-1',
  CurrencyIn: 'RUB',
};
const FIELDS = [...Object.keys(good), 'Commission', 'custom', 'SignatureValue'];
/** A good one with some fields changed, and at times one left out. */
const bodies = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(
      fc.option(fc.constantFrom(...FIELDS)),
      fc.dictionary(fc.constantFrom(...FIELDS, 'more', '__proto__', 'constructor'), value, { maxKeys: 3 }),
    )
    .map(([left, changed]) => ({
      ...Object.fromEntries(Object.entries(good).filter(([name]) => name !== left)),
      ...changed,
    }));

describe.each([
  ['postback', PostbackDto],
  ['redirect', RedirectDto],
])('the compiled rules of a %s', (_name, type: new () => object) => {
  const rules = CallbackRules.of(type);
  const judged = (body: object) => {
    const own = Object.fromEntries(
      rules.fields.map((field) => [
        field,
        Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined,
      ]),
    );
    const dto = plainToInstance(type, own);
    return { dto, valid: validateSync(dto, { forbidUnknownValues: true }).length === 0 };
  };

  test('find valid exactly what class-validator finds valid, and read it alike', () => {
    let [valid, invalid] = [0, 0];
    fc.assert(
      fc.property(bodies(flat), (body) => {
        const { dto, valid: isValid } = judged(body);
        if (isValid) valid += 1;
        else invalid += 1;
        expect(rules.read(body)).toEqual(isValid ? dto : undefined);
      }),
      { numRuns: 3_000 },
    );
    // Else the property would say little.
    expect(Math.min(valid, invalid)).toBeGreaterThan(200);
  });

  test('never find valid what class-validator does not, whatever is nested', () => {
    fc.assert(
      fc.property(bodies(fc.oneof(flat, fc.anything({ maxDepth: 2 }))), (body) => {
        const nested = Object.values(body).some((value) => typeof value === 'object' && value !== null);
        const read = rules.read(body);
        if (read) expect(judged(body)).toEqual({ dto: read, valid: true });
        else expect(nested || !judged(body).valid).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test('give the class itself, without what it does not have', () => {
    const read = rules.read({ ...good, more: 'x', custom: 7 });
    expect(read).toBeInstanceOf(type);
    expect(read).toMatchObject({ OutSum: '100.05', custom: '7' });
    expect(Object.keys(read!)).not.toContain('more');
  });
});

describe('rules that are not understood are left to class-validator', () => {
  class Each {
    @IsIn(['a'], { each: true }) list!: string;
  }
  class Conditional {
    @ValidateIf((dto: Conditional) => dto.other === 'x') @IsString() text!: string;
    @IsIn(['x', 'y']) other!: string;
  }

  test('those for each item of a list', () => {
    expect(CallbackRules.of(Each).read({ list: 'a' })).toBeUndefined();
  });

  test('conditions are understood', () => {
    const rules = CallbackRules.of(Conditional);
    expect(rules.read({ other: 'y', text: 1 })).toEqual({ other: 'y', text: 1 });
    expect(rules.read({ other: 'x', text: 1 })).toBeUndefined();
  });
});
