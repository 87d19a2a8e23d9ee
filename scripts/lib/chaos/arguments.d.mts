export interface ChaosOptions {
  readonly phases: readonly string[];
  readonly seed: number;
  readonly minutes: number;
  readonly shops: number;
  readonly buyers: number;
  readonly dropAll: boolean;
  readonly modelRuns: number;
  readonly fuzzMinutes: number;
  readonly failover: readonly string[];
  readonly rounds: number;
  readonly loadSeconds: number;
  readonly lagSeconds: number;
}

export function readArguments(args: readonly string[]): ChaosOptions;
