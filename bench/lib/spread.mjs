import { shown } from './chart.mjs';

/**
 * `12.3 (11.9 – 12.8)` out of `{ median, min, max }`.
 * @param {import('./statistics.mjs').Figure} figure
 */
export const spread = ({ median, min, max }) => `${shown(median)} (${shown(min)} – ${shown(max)})`;
