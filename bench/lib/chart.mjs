/** @typedef {import('./statistics.mjs').Figure & { label: string; ours?: boolean }} Bar */

const ROW = 30;
const LEFT = 330;
const WIDTH = 900;
const COLOURS = { ours: '#0b6bcb', other: '#9aa5b1' };

/**
 * Horizontal bars with a whisker from the least to the largest round, as SVG that is legible on light and dark pages.
 * @param {{ title: string; unit: string; bars: Bar[] }} chart
 */
export function barChart({ title, unit, bars: all }) {
  const bars = all.filter(({ median }) => Number.isFinite(median));
  const most = Math.max(...bars.map(({ max }) => max));
  /** @param {number} value */
  const scale = (value) => (value / most) * (WIDTH - LEFT - 110);
  const height = 60 + bars.length * ROW;
  const rows = bars.map(({ label, median, min, max, ours }, index) => {
    const y = 48 + index * ROW;
    const [from, to] = [LEFT + scale(min), LEFT + scale(max)];
    return [
      `<text x="${LEFT - 10}" y="${y + 15}" text-anchor="end">${escape(label)}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${scale(median).toFixed(1)}" height="20" rx="3" fill="${ours ? COLOURS.ours : COLOURS.other}"/>`,
      `<path d="M${from.toFixed(1)} ${y + 10}H${to.toFixed(1)}M${from.toFixed(1)} ${y + 5}v10M${to.toFixed(1)} ${y + 5}v10" stroke="#333" stroke-width="1.5"/>`,
      `<text x="${(to + 8).toFixed(1)}" y="${y + 15}">${escape(shown(median))}</text>`,
    ].join('\n');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="#24292f">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="26" font-size="16" font-weight="600">${escape(title)}</text>`,
    `<text x="${WIDTH - 16}" y="26" text-anchor="end">${escape(unit)}</text>`,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

/**
 * Three significant digits, thousands apart.
 * @param {number | undefined} value
 */
export function shown(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 2 });
}

/** @param {string} text */
function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
