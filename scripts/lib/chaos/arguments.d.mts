export interface ChaosOptions {
  readonly phases: readonly string[];
  readonly seed: number;
  readonly minutes: number;
  readonly shops: number;
  readonly buyers: number;
  readonly dropAll: boolean;
  readonly modelRuns: number;
  readonly fuzzMinutes: number;
}

export function readArguments(args: readonly string[]): ChaosOptions;
