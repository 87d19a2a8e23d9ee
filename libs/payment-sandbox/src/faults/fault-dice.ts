import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type FaultDocument,
  type FaultSettings,
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
    return this.throwAll(
      REQUEST_FAULTS,
      'requests',
      this.store.faults.requests,
      (fault, settings: RequestFaultSettings) => {
        const listOnly = fault === 'billNotFound' || fault === 'tooManyPayments';
        return [operation, undefined].includes(settings.operation ?? (listOnly ? 'payments' : undefined));
      },
    );
  }

  forPostback(status: string): Map<PostbackFault, PostbackFaultSettings> {
    return this.throwAll(
      POSTBACK_FAULTS,
      'postbacks',
      this.store.faults.postbacks,
      (_fault, settings: PostbackFaultSettings) => settings.status === undefined || settings.status === status,
    );
  }

  private throwAll<N extends string, S extends FaultSettings>(
    faults: readonly N[],
    group: string,
    inForce: Partial<Record<N, number | S>> | undefined,
    concerns: (fault: N, settings: S) => boolean,
  ): Map<N, S> {
    const met = new Map<N, S>();
    for (const fault of faults) {
      const value = inForce?.[fault];
      if (value === undefined) continue;
      const settings = (typeof value === 'number' ? { p: value } : value) as S;
      if (concerns(fault, settings) && this.happens(`${group}.${fault}`, settings)) met.set(fault, settings);
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
