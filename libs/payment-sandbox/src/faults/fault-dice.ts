import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type FaultDocument,
  type FaultSettings,
  LIST_FAULTS,
  POSTBACK_FAULTS,
  type PostbackFault,
  type PostbackFaultSettings,
  REQUEST_FAULTS,
  type RequestFault,
  type RequestFaultSettings,
} from '../model/fault-document.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxStore } from '../storage/store.js';

/**
 * Each fault has its own sequence derived from the seed, so its n-th chance comes out the same whatever the others do.
 * The sequences start over when faults are set and after a restart.
 */
@Injectable()
export class FaultDice {
  private drawCounts = new Map<string, number>();
  private hitCounts = new Map<string, number>();

  constructor(
    private readonly store: SandboxStore,
    @Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions,
  ) {}

  put(document: FaultDocument): void {
    this.drawCounts = new Map();
    this.hitCounts = new Map();
    this.store.commit({ faults: document });
  }

  forRequest(operation: 'create' | 'payments'): Map<RequestFault, RequestFaultSettings> {
    return this.throwAll('requests', REQUEST_FAULTS, (settings: RequestFaultSettings, fault) => {
      const only = settings.operation ?? (LIST_FAULTS.includes(fault) ? 'payments' : operation);
      return only === operation;
    });
  }

  forPostback(status: string): Map<PostbackFault, PostbackFaultSettings> {
    const concerns = (settings: PostbackFaultSettings): boolean => (settings.status ?? status) === status;
    return this.throwAll('postbacks', POSTBACK_FAULTS, concerns);
  }

  private throwAll<N extends string, S extends FaultSettings>(
    group: 'requests' | 'postbacks',
    faults: readonly N[],
    concerns: (settings: S, fault: N) => boolean,
  ): Map<N, S> {
    const inForce = this.store.faults[group] as Partial<Record<N, number | S>> | undefined;
    const met = new Map<N, S>();
    for (const fault of faults) {
      const value = inForce?.[fault];
      if (value === undefined) continue;
      const settings = (typeof value === 'number' ? { p: value } : value) as S;
      if (concerns(settings, fault) && this.happens(`${group}.${fault}`, settings)) met.set(fault, settings);
    }
    return met;
  }

  private happens(name: string, { p = 1, times = Infinity }: FaultSettings): boolean {
    const draws = this.drawCounts.get(name) ?? 0;
    const hits = this.hitCounts.get(name) ?? 0;
    this.drawCounts.set(name, draws + 1);
    const seed = this.store.faults.seed ?? this.options.seed ?? 1;
    const digest = createHash('sha256').update(`${seed}:${name}:${draws}`).digest();
    if (hits >= times || digest.readUIntBE(0, 6) / 2 ** 48 >= p) return false;
    this.hitCounts.set(name, hits + 1);
    return true;
  }
}
