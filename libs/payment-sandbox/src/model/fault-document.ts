import { type Duration, durationMs } from '../common/duration.js';
import { SandboxError } from '../common/errors.js';
import {
  type Fields,
  fieldOf,
  isFields,
  readChoice,
  readFields,
  readFlag,
  readTexts,
  readWhole,
} from '../common/input.js';

/** Settings that every fault has. */
export interface FaultSettings {
  /** Probability from 0 to 1. Default 1. */
  p?: number;
  /** The fault happens at most this many times. Default: no limit. */
  times?: number;
}

export interface RequestFaultSettings extends FaultSettings {
  /**
   * The only operation it affects. Default: both; `billNotFound` and `tooManyPayments` affect only `payments` (section
   * 7).
   */
  operation?: 'create' | 'payments';
  /** `slow`: real milliseconds before the request is served. Default 2000. */
  ms?: number;
  /**
   * `status500`, `html`, `malformed`, `empty`: whether the request is served before its answer is corrupted. Default:
   * true for `malformed` and `empty`.
   */
  done?: boolean;
}

export interface PostbackFaultSettings extends FaultSettings {
  /** The only Status it affects. Default: both. */
  status?: 'SUCCESS' | 'FAIL';
  /** `delay`: how much later, on the sandbox's clock. Default "1m". */
  by?: Duration;
  /** `reorder`: the longest wait for a later postback to overtake, on the sandbox's clock. Default "1m". */
  within?: Duration;
  /** `duplicate`: how many copies are sent. Default 1. */
  copies?: number;
  /** `change`, `forge`: the fields to set. */
  set?: Record<string, string>;
  /** `change`: sign the changed fields again. Default false. */
  resign?: boolean;
}

export const REQUEST_FAULTS = [
  'resetBefore',
  'slow',
  'status500',
  'html',
  'malformed',
  'empty',
  'unauthenticated',
  'merchantNotFound',
  'merchantBanned',
  'billNotFound',
  'tooManyPayments',
  'loseAnswer',
] as const;
export type RequestFault = (typeof REQUEST_FAULTS)[number];

export const POSTBACK_FAULTS = ['drop', 'duplicate', 'delay', 'reorder', 'change', 'forge'] as const;
export type PostbackFault = (typeof POSTBACK_FAULTS)[number];

/** The faults in force: `PUT /sandbox/faults`. A value is a probability, or settings with one. */
export interface FaultDocument {
  /** Seed of the dice: the same seed and the same calls give the same faults. Default: the sandbox's own seed. */
  seed?: number;
  requests?: Partial<Record<RequestFault, number | RequestFaultSettings>>;
  postbacks?: Partial<Record<PostbackFault, number | PostbackFaultSettings>>;
}

export function readFaultDocument(input: unknown): FaultDocument {
  const fields = readFields(input, 'Faults', ['seed', 'requests', 'postbacks']);
  const seed = readWhole(fields, 'seed', 0, Number.MAX_SAFE_INTEGER);
  const requests = readGroup(fields, 'requests', REQUEST_FAULTS, readRequestFault);
  const postbacks = readGroup(fields, 'postbacks', POSTBACK_FAULTS, readPostbackFault);
  return { ...(seed === undefined ? {} : { seed }), ...(requests && { requests }), ...(postbacks && { postbacks }) };
}

type Group<N extends string, S> = Partial<Record<N, number | S>>;

function readGroup<N extends string, S extends FaultSettings>(
  document: Fields,
  name: string,
  faults: readonly N[],
  read: (fault: N, fields: Fields) => S,
): Group<N, S> | undefined {
  if (fieldOf(document, name) === undefined) return undefined;
  const fields = readFields(document[name], name, faults);
  const group: Group<N, S> = {};
  for (const fault of faults) {
    const value = fieldOf(fields, fault);
    if (value === undefined) continue;
    if (isFields(value)) {
      const settings = Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
      if (settings['p'] !== undefined) readProbability(settings['p'], `${name}.${fault}.p`);
      readWhole(settings, 'times', 0, Number.MAX_SAFE_INTEGER);
      group[fault] = read(fault, settings);
    } else {
      group[fault] = readProbability(value, `${name}.${fault}`);
      if (value !== 0) read(fault, {});
    }
  }
  return group;
}

function readProbability(value: unknown, name: string): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new SandboxError(400, `${name} must be a probability from 0 to 1, or an object whose p is such a probability`);
}

function readRequestFault(fault: RequestFault, fields: Fields): RequestFaultSettings {
  const spoils = fault === 'status500' || fault === 'html' || fault === 'malformed' || fault === 'empty';
  const ownFields = fault === 'slow' ? ['ms'] : spoils ? ['done'] : [];
  readFields(fields, `requests.${fault}`, ['p', 'times', 'operation', ...ownFields]);
  readChoice(fields, 'operation', ['create', 'payments']);
  readWhole(fields, 'ms', 0, 600_000);
  readFlag(fields, 'done');
  return fields;
}

const POSTBACK_SETTINGS: Record<PostbackFault, readonly string[]> = {
  drop: [],
  duplicate: ['copies'],
  delay: ['by'],
  reorder: ['within'],
  change: ['set', 'resign'],
  forge: ['set'],
};

function readPostbackFault(fault: PostbackFault, fields: Fields): PostbackFaultSettings {
  readFields(fields, `postbacks.${fault}`, ['p', 'times', 'status', ...POSTBACK_SETTINGS[fault]]);
  readChoice(fields, 'status', ['SUCCESS', 'FAIL']);
  readWhole(fields, 'copies', 1, 1_000);
  readFlag(fields, 'resign');
  const set = readTexts(fields, 'set') ?? {};
  if (fault === 'change' && Object.keys(set).length === 0)
    throw new SandboxError(400, 'postbacks.change needs set, the fields to change');
  for (const name of ['by', 'within']) if (fields[name] !== undefined) durationMs(fields[name], name);
  return fields;
}
