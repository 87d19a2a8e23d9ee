import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { EvidenceStore, NO_EVIDENCE, type Evidence } from './storage/evidence.store.js';
import { ApiProbes } from './doctor/api-probes.js';
import { evidenceFindings, NOT_PROBEABLE } from './doctor/evidence.js';
import type { DoctorFinding } from './doctor/findings.js';
import { listProbes } from './doctor/list-probes.js';

export type { DoctorFinding, DoctorVerdict } from './doctor/findings.js';

/** The examination of one shop. */
export interface ShopDoctor {
  /** As {@link PaymentDoctor.examine}, for that shop. */
  examine(): Promise<DoctorFinding[]>;
}

/** How many bills with payments are queried, and how many stored postbacks and payments are examined. */
const SAMPLE_BILLS = 5;
const SAMPLE_ROWS = 1_000;

/**
 * Checks whether the service behaves as the module expects. It only reads: a few `GET bill/payments` for each shop, one of
 * them with a token that no shop has, and the module's tables. It creates nothing at the service and changes nothing here.
 */
@Injectable()
export class PaymentDoctor {
  /** @internal */
  constructor(
    @Inject(EvidenceStore) private readonly evidence: Evidence,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * A doctor without a database: it examines the service's answers alone.
   * @internal
   */
  static withoutDatabase(options: ResolvedOptions): PaymentDoctor {
    const clock = new PaymentClock();
    return new PaymentDoctor(NO_EVIDENCE, new ShopRegistry(options, clock), new PaymentRandom(), clock, options);
  }

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopDoctor {
    const shop = this.shops.named(name);
    return { examine: () => this.examine(shop) };
  }

  /**
   * Every expectation with what was observed, shop by shop.
   * @param shop name of the only shop to examine; all shops if omitted
   * @throws PaymentUnknownShopError
   */
  async examine(shop?: string): Promise<DoctorFinding[]> {
    const names = shop === undefined ? await this.shops.list() : [shop];
    const findings: DoctorFinding[] = [];
    for (const name of names) findings.push(...(await this.ofShop(await this.shops.get(name))));
    return findings;
  }

  private async ofShop(shop: Shop): Promise<DoctorFinding[]> {
    const probes = new ApiProbes(shop, this.options.http.totalTimeoutMs);
    const api = await probes.run(this.random.uuid());
    const reachable = api.some(({ name, verdict }) => name === 'reachable' && verdict === 'confirmed');
    const bills = reachable ? await this.evidence.billsWithPayments(shop.name, SAMPLE_BILLS) : [];
    const findings = [
      ...api,
      ...(await listProbes(probes, shop, bills, this.clock.now())),
      ...evidenceFindings(
        await this.evidence.postbacks(shop.name, SAMPLE_ROWS),
        await this.evidence.amounts(shop.name, SAMPLE_ROWS),
      ),
      ...NOT_PROBEABLE,
    ];
    return findings.map((finding) => ({ shop: shop.name, ...finding }));
  }
}
