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
import { type Duration, durationMs } from '../common/time.js';

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

/** The settings of each fault besides those that all faults of its group have. */
const OWN_SETTINGS = {
  requests: {
    resetBefore: [],
    slow: ['ms'],
    status500: ['done'],
    html: ['done'],
    malformed: ['done'],
    empty: ['done'],
    unauthenticated: [],
    merchantNotFound: [],
    merchantBanned: [],
    billNotFound: [],
    tooManyPayments: [],
    loseAnswer: [],
  },
  postbacks: {
    drop: [],
    duplicate: ['copies'],
    delay: ['by'],
    reorder: ['within'],
    change: ['set', 'resign'],
    forge: ['set'],
  },
} as const;

export type FaultGroup = keyof typeof OWN_SETTINGS;
export type SettingName = keyof (RequestFaultSettings & PostbackFaultSettings);

export const REQUEST_FAULTS = Object.keys(OWN_SETTINGS.requests) as (keyof typeof OWN_SETTINGS.requests)[];
export type RequestFault = (typeof REQUEST_FAULTS)[number];

export const POSTBACK_FAULTS = Object.keys(OWN_SETTINGS.postbacks) as (keyof typeof OWN_SETTINGS.postbacks)[];
export type PostbackFault = (typeof POSTBACK_FAULTS)[number];

/** The names of all settings that a fault can have. */
export function settingsOf(group: FaultGroup, fault: string): readonly SettingName[] {
  const ownSettings: Readonly<Record<string, readonly SettingName[]>> = OWN_SETTINGS[group];
  return ['p', 'times', group === 'requests' ? 'operation' : 'status', ...(ownSettings[fault] ?? [])];
}

/** These affect only lists of payments. */
export const LIST_FAULTS: readonly string[] = ['billNotFound', 'tooManyPayments'];

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
  const requests = readGroup(fields, 'requests');
  const postbacks = readGroup(fields, 'postbacks');
  return { ...(seed === undefined ? {} : { seed }), ...(requests && { requests }), ...(postbacks && { postbacks }) };
}

function readGroup<G extends FaultGroup>(document: Fields, group: G): FaultDocument[G] {
  if (fieldOf(document, group) === undefined) return undefined;
  const faults = Object.keys(OWN_SETTINGS[group]);
  const fields = readFields(document[group], group, faults);
  const inForce: Fields = {};
  for (const fault of faults) {
    const name = `${group}.${fault}`;
    const value = fieldOf(fields, fault);
    if (isFields(value)) {
      const settings = Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
      if (settings['p'] !== undefined) checkProbability(settings['p'], `${name}.p`);
      readWhole(settings, 'times', 0, Number.MAX_SAFE_INTEGER);
      checkSettings(name, readFields(settings, name, settingsOf(group, fault)));
      inForce[fault] = settings;
    } else if (value !== undefined) {
      checkProbability(value, name);
      if (value !== 0) checkSettings(name, {});
      inForce[fault] = value;
    }
  }
  return inForce;
}

function checkProbability(value: unknown, name: string): void {
  if (typeof value === 'number' && value >= 0 && value <= 1) return;
  throw new SandboxError(400, `${name} must be a probability from 0 to 1, or an object whose p is such a probability`);
}

/** Checks the settings of any fault: no two faults give a setting of one name different values. */
function checkSettings(name: string, settings: Fields): void {
  readChoice(settings, 'operation', ['create', 'payments']);
  readWhole(settings, 'ms', 0, 600_000);
  readFlag(settings, 'done');
  readChoice(settings, 'status', ['SUCCESS', 'FAIL']);
  readWhole(settings, 'copies', 1, 1_000);
  readFlag(settings, 'resign');
  const set = readTexts(settings, 'set') ?? {};
  if (name === 'postbacks.change' && Object.keys(set).length === 0) {
    throw new SandboxError(400, `${name} needs set, the fields to change`);
  }
  for (const time of ['by', 'within']) if (settings[time] !== undefined) durationMs(settings[time], time);
}
