import { Inject, Injectable } from '@nestjs/common';
import { UnknownShopError } from './configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from './resolved-options.js';

/** The shops by name. */
@Injectable()
export class ShopRegistry {
  constructor(@Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions) {}

  get default(): Shop {
    return this.options.defaultShop;
  }

  get names(): string[] {
    return [...this.options.shops.keys()];
  }

  find(name: string): Shop | undefined {
    return this.options.shops.get(name);
  }

  /** @throws UnknownShopError */
  get(name: string): Shop {
    const shop = this.find(name);
    if (!shop) throw new UnknownShopError(name, this.names);
    return shop;
  }
}
