/**
 * `confirmed`: observed as expected. `different`: observed to differ. `not-probeable`: it cannot be observed without
 * creating something at the service, or there is no data to observe it in yet.
 */
export type DoctorVerdict = 'confirmed' | 'different' | 'not-probeable';

/** One behaviour of the service that the module relies on, and what was observed. */
export interface DoctorFinding {
  readonly shop: string;
  /** Stable name, such as `unknown-bill`. */
  readonly name: string;
  /** Section of the specification. */
  readonly section: string;
  /** Whether the specification documents it, or we assume it. */
  readonly basis: 'documented' | 'assumed';
  readonly expectation: string;
  readonly verdict: DoctorVerdict;
  /** What was observed, or why nothing could be. Contains no token. */
  readonly detail: string;
}

/** What is expected, before it is probed. */
export type Expectation = Pick<DoctorFinding, 'name' | 'section' | 'basis' | 'expectation'>;

export type Finding = Omit<DoctorFinding, 'shop'>;

/** Judges an expectation. @param seen whether it held; `undefined` if nothing could be observed */
export function judge(expected: Expectation, seen: boolean | undefined, detail: string): Finding {
  return { ...expected, verdict: seen === undefined ? 'not-probeable' : seen ? 'confirmed' : 'different', detail };
}
