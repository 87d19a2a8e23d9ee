/** How many different bills the service must refuse for the sake of their shop before the shop counts as refused. */
const BILLS_OF_REFUSED_SHOP = 3;

/** Bills of a shop that are remembered as refused alone; beyond that they are found out anew. */
const MAX_REFUSED_ALONE = 1_000;

interface Refused {
  /** Since the service last answered a bill of the shop as it should. */
  readonly recently: Set<string>;
  /** Bills of which others were answered after them. */
  readonly alone: Set<string>;
}

/**
 * Bills to which the service answered that it does not know their shop, or has banned it. Where it answers others of the shop
 * meanwhile, that is the bill's own trouble; where it answers several so and none as it should, it is the shop's.
 */
export class RefusedBills {
  private readonly ofShops = new Map<string, Refused>();

  /** Whose trouble it is; `undecided` where too few bills were asked about. */
  refused(shop: string, intentId: string): 'bill' | 'shop' | 'undecided' {
    const { recently, alone } = this.of(shop);
    if (alone.has(intentId)) return 'bill';
    if (recently.size < BILLS_OF_REFUSED_SHOP) recently.add(intentId);
    return recently.size >= BILLS_OF_REFUSED_SHOP ? 'shop' : 'undecided';
  }

  /** The service has answered a bill of the shop, for which it must know the shop. */
  answered(shop: string, intentId: string): void {
    if (!this.ofShops.has(shop)) return;
    const { recently, alone } = this.of(shop);
    if (alone.size >= MAX_REFUSED_ALONE) alone.clear();
    for (const refused of recently) alone.add(refused);
    recently.clear();
    alone.delete(intentId);
    if (alone.size === 0) this.ofShops.delete(shop);
  }

  private of(shop: string): Refused {
    const known = this.ofShops.get(shop) ?? { recently: new Set(), alone: new Set() };
    this.ofShops.set(shop, known);
    return known;
  }
}
