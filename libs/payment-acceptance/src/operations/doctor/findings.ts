/**
 * `confirmed`: it was seen to be so. `different`: it was seen to be otherwise. `not-probeable`: it cannot be seen without
 * making something at the service, or there is nothing to see it in yet.
 */
export type DoctorVerdict = 'confirmed' | 'different' | 'not-probeable';

/** One behaviour of the service that the module relies on, and what was seen of it. */
export interface DoctorFinding {
  readonly shop: string;
  /** Stable name, such as `unknown-bill`. */
  readonly name: string;
  /** Section of the specification. */
  readonly section: string;
  /** Whether the specification says so, or we assume it. */
  readonly basis: 'documented' | 'assumed';
  readonly expectation: string;
  readonly verdict: DoctorVerdict;
  /** What was seen, or why nothing could be. Holds no token. */
  readonly detail: string;
}

/** What is expected, before it is looked at. */
export type Expectation = Pick<DoctorFinding, 'name' | 'section' | 'basis' | 'expectation'>;

export type Finding = Omit<DoctorFinding, 'shop'>;

/** Judges an expectation by what was seen: `undefined` for nothing. */
export function judge(expected: Expectation, seen: boolean | undefined, detail: string): Finding {
  return { ...expected, verdict: seen === undefined ? 'not-probeable' : seen ? 'confirmed' : 'different', detail };
}
