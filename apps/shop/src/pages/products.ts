import type { ShopName } from '../orders/order.entity.js';

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** What each shop takes for it, in its currency. */
  readonly prices: Readonly<Record<ShopName, string>>;
}

export const CURRENCY_SIGNS: Readonly<Record<string, string>> = { RUB: '₽', EUR: '€' };

export const PRODUCTS: readonly Product[] = [
  {
    id: 'beans',
    name: 'Coffee beans',
    text: 'One kilogram, roasted this week.',
    prices: { main: '1890.00', eu: '19.90' },
  },
  {
    id: 'grinder',
    name: 'Hand grinder',
    text: 'Steel burrs, forty settings.',
    prices: { main: '7450.50', eu: '79.50' },
  },
  { id: 'cup', name: 'Cup', text: 'Stoneware, 250 ml.', prices: { main: '640.00', eu: '6.80' } },
];
