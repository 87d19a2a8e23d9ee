import type { ShopName } from '../orders/order.entity.js';
import { Html, html } from './html.js';

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** Its price in each shop, in that shop's currency. */
  readonly prices: Readonly<Record<ShopName, string>>;
  /** The elements of a 96 by 96 drawing. */
  readonly drawing: string;
}

/** The drawing of what was ordered, if it is one of the shop's products. */
export function drawingOf(name: string): Html | false {
  const product = PRODUCTS.find((each) => each.name === name);
  return product !== undefined && renderDrawing(product);
}

export function renderDrawing({ drawing }: Product): Html {
  return html`<svg class="drawing" viewBox="0 0 96 96" aria-hidden="true">${new Html(drawing)}</svg>`;
}

export const PRODUCTS: readonly Product[] = [
  {
    id: 'beans',
    name: 'Coffee beans',
    text: 'One kilogram, roasted this week: chocolate, hazelnut, a little orange.',
    prices: { main: '1890.00', eu: '19.90' },
    drawing:
      '<path class="fill" d="M28 26h40l4 60H24zM28 26l6-14h28l6 14"/><path d="M34 12h28M28 26h40"/>' +
      '<ellipse cx="48" cy="58" rx="11" ry="15" transform="rotate(30 48 58)"/><path d="M42 71c0-10 12-14 12-26"/>',
  },
  {
    id: 'grinder',
    name: 'Hand grinder',
    text: 'Steel burrs and forty settings, from espresso to French press.',
    prices: { main: '7450.50', eu: '79.50' },
    drawing:
      '<path class="fill" d="M34 34h28v30H34zM32 64h32v20a4 4 0 0 1-4 4H36a4 4 0 0 1-4-4z"/>' +
      '<path d="M36 34c0-8 5-12 12-12s12 4 12 12M48 22v-9M48 13h22"/><circle class="fill" cx="74" cy="13" r="4"/>' +
      '<path d="M34 44h28M34 54h28"/>',
  },
  {
    id: 'kettle',
    name: 'Gooseneck kettle',
    text: 'A thin, steady pour. 0.9 litres, for every kind of stove.',
    prices: { main: '5290.00', eu: '56.00' },
    drawing:
      '<path class="fill" d="M36 40h36l6 44H30z"/><path d="M32 72c-14 0-8-30-20-34M40 40c0-6 5-10 14-10s14 4 14 10M54 30v-6"/>' +
      '<circle cx="54" cy="21" r="3"/><path d="M74 48c16-4 18 24 3 24"/>',
  },
  {
    id: 'dripper',
    name: 'Dripper',
    text: 'Porcelain, with spiral ribs. Makes one or two cups.',
    prices: { main: '1640.00', eu: '17.40' },
    drawing:
      '<path class="fill" d="M20 22h56L58 58H38z"/><path d="M32 64h32M38 58v6M58 58v6M30 22l12 36M66 22L54 58M48 22v36"/>' +
      '<path d="M74 30c12-2 12 16-2 16M48 72v3M48 82v3"/>',
  },
  {
    id: 'cup',
    name: 'Cup',
    text: 'Stoneware, 250 ml, glazed by hand. No two are quite alike.',
    prices: { main: '640.00', eu: '6.80' },
    drawing:
      '<path class="fill" d="M24 38h44v26a16 16 0 0 1-16 16H40a16 16 0 0 1-16-16z"/>' +
      '<path d="M68 44h6a9 9 0 0 1 0 18h-6M18 88h56M38 28c-4-5 4-7 0-13M52 28c-4-5 4-7 0-13"/>',
  },
  {
    id: 'filters',
    name: 'Paper filters',
    text: 'A hundred of them, unbleached, for the dripper.',
    prices: { main: '390.00', eu: '4.10' },
    drawing:
      '<path class="fill" d="M14 26h60L50 78H38z"/><path d="M22 20h60L76 34M74 26L50 78M30 26l10 52M44 26v52M58 26L48 78"/>',
  },
];
