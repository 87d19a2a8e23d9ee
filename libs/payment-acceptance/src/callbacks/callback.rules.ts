import { getMetadataStorage, type ValidationArguments } from 'class-validator';
import { readerOf } from './callback.dto.js';

type ValidationMetadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

type Check = (value: unknown, dto: object) => boolean;

interface FieldRules {
  readonly name: string;
  /** How what was sent is read. */
  readonly read: (given: unknown) => unknown;
  /** Where one does not hold, the field is not checked: `@IsOptional()` and the like. */
  readonly conditions: readonly Check[];
  readonly checks: readonly Check[];
}

/**
 * The rules of a DTO, read once from what its class-validator decorators have registered. The checks are
 * class-validator's own; left out is only what it does for each call: collecting the rules, and making an error for each
 * field before it is known whether there is one.
 */
export class CallbackRules {
  private static readonly known = new Map<new () => object, CallbackRules>();

  readonly fields: readonly string[];
  private readonly rules: readonly FieldRules[] | undefined;

  private constructor(private readonly type: new () => object) {
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    this.fields = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    const rules = this.fields.map((name) =>
      rulesOf(
        type,
        name,
        metadata.filter((one) => one.propertyName === name),
      ),
    );
    // What is not understood is left to class-validator itself.
    this.rules = metadata.every(isPlain) ? rules : undefined;
  }

  static of(type: new () => object): CallbackRules {
    let rules = this.known.get(type);
    if (!rules) this.known.set(type, (rules = new CallbackRules(type)));
    return rules;
  }

  /** The DTO, or `undefined` where it is not valid, or may not be: with nested values, say. Then class-validator knows. */
  read(body: object): object | undefined {
    if (!this.rules) return undefined;
    const dto = new this.type() as Record<string, unknown>;
    for (const { name, read } of this.rules) {
      const given = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined;
      if (typeof given === 'object' && given !== null) return undefined;
      dto[name] = read(given);
    }
    for (const { name, conditions, checks } of this.rules) {
      const value = dto[name];
      if (conditions.every((holds) => holds(value, dto)) && !checks.every((holds) => holds(value, dto)))
        return undefined;
    }
    return dto;
  }
}

const CONDITION = 'conditionalValidation';
const CHECK = 'customValidation';

function isPlain({ type, each, validateIf, constraintCls }: ValidationMetadata): boolean {
  if (each || validateIf) return false;
  return type === CONDITION || (type === CHECK && constraintsOf(constraintCls).every(({ async }) => !async));
}

function rulesOf(type: new () => object, name: string, metadata: readonly ValidationMetadata[]): FieldRules {
  const [conditions, checks] = [CONDITION, CHECK].map((kind) => metadata.filter((one) => one.type === kind));
  return {
    name,
    read: readerOf(type, name) ?? ((given) => given),
    conditions: (conditions ?? []).map(({ constraints }) => {
      const [condition] = constraints as [(dto: object, value: unknown) => boolean];
      return (value, dto) => condition(dto, value);
    }),
    checks: (checks ?? []).flatMap(({ constraintCls, constraints }) =>
      constraintsOf(constraintCls).map(({ instance }): Check => {
        // One for all calls, which are over before the next one begins.
        const about: ValidationArguments = {
          targetName: type.name,
          property: name,
          constraints,
          object: {},
          value: undefined,
        };
        return (value, object) => {
          about.object = object;
          about.value = value;
          return instance.validate(value, about) === true;
        };
      }),
    ),
  };
}

function constraintsOf(constraint: ValidationMetadata['constraintCls']) {
  return getMetadataStorage().getTargetValidatorConstraints(constraint);
}
