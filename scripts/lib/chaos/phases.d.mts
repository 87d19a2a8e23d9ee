import type { ChaosOptions } from './arguments.mjs';

export interface Phase {
  says(options: ChaosOptions): string;
  run(options: ChaosOptions): Promise<number>;
}

export const phases: Readonly<Record<string, Phase>>;

export function runPhases(options: ChaosOptions, all?: Readonly<Record<string, Phase>>): Promise<number>;
