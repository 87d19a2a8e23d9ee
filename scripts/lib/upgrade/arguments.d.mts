export interface UpgradeOptions {
  readonly previous: string | undefined;
  readonly seconds: number;
  readonly seed: number;
}

export function readArguments(args: readonly string[]): UpgradeOptions;
