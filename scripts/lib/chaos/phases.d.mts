import type { ChaosOptions } from './arguments.mjs';

export interface Phase {
  says(options: ChaosOptions): string;
  run(options: ChaosOptions): Promise<number>;
}

export function runPhases(options: ChaosOptions, all?: Readonly<Record<string, Phase>>): Promise<number>;
