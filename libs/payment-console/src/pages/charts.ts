import { html, type Html } from '../common/html.js';
import { table } from './parts.js';

export type BarKind = 'good' | 'bad' | 'warn' | 'plain';

export interface Column {
  readonly label: string;
  readonly parts: readonly { readonly kind: BarKind; readonly value: number }[];
}

/** What the kinds mean, from the bottom up. */
export type Legend = Readonly<Partial<Record<BarKind, string>>>;

/** With more columns than this, only every n-th gets a label. */
const MAX_LABELS = 8;
const CHART_SIZE = 100;

/**
 * The picture stretches to the space available, so its text is HTML beside it. A table shows the same data, for those
 * who cannot see the chart.
 */
export function columnChart(title: string, columns: readonly Column[], legend: Legend): Html {
  const top = roundUpTop(Math.max(1, ...columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0))));
  const labelStep = Math.ceil(columns.length / MAX_LABELS);
  return html`<figure class="chart">
    <div class="plot">
      <span class="top" aria-hidden="true">${top}</span>
      <svg
        viewBox="0 0 ${CHART_SIZE} ${CHART_SIZE}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${title}: a chart"
      >
        ${[0, 0.5, 1].map((part) => html`<path class="grid" d="M0 ${CHART_SIZE * part}H${CHART_SIZE}" />`)}
        ${columns.map((column, index) => renderColumn(column, index, { top, slot: CHART_SIZE / columns.length, legend }))}
      </svg>
    </div>
    <ol class="ticks${columns.length > 2 * MAX_LABELS && ' many'}" aria-hidden="true">
      ${columns.map(({ label }, index) => html`<li>${index % labelStep === 0 && html`<span>${label}</span>`}</li>`)}
    </ol>
    ${
      Object.keys(legend).length > 1 &&
      html`<ul class="legend">
        ${Object.entries(legend).map(([kind, text]) => html`<li><span class="fill-${kind}"></span>${text}</li>`)}
      </ul>`
    }
    <details>
      <summary>As a table</summary>
      ${table({
        caption: `${title}, as a table`,
        numeric: true,
        columns: ['', ...Object.values(legend)],
        rows: columns.map(({ label, parts }) => [label, ...parts.map(({ value }) => value)]),
      })}
    </details>
  </figure>`;
}

function renderColumn(
  { label, parts }: Column,
  index: number,
  { top, slot, legend }: { top: number; slot: number; legend: Legend },
): Html {
  let y = CHART_SIZE;
  return html`${parts
    .filter(({ value }) => value > 0)
    .map(({ kind, value }) => {
      const height = (value / top) * CHART_SIZE;
      y -= height;
      return html`<rect
        class="fill-${kind}"
        x="${round((index + 0.15) * slot)}"
        y="${round(y)}"
        width="${round(slot * 0.7)}"
        height="${round(height)}"
      >
        <title>${label}: ${value} ${legend[kind]}</title>
      </rect>`;
    })}`;
}

export function rowChart(rows: readonly { readonly label: Html; readonly value: number }[]): Html {
  const top = Math.max(1, ...rows.map(({ value }) => value));
  return html`<ul class="rows">
    ${rows.map(
      ({ label, value }) =>
        html`<li>
          <span>${label}</span> <strong>${value}</strong>
          <svg viewBox="0 0 ${CHART_SIZE} 1" preserveAspectRatio="none" aria-hidden="true">
            <rect class="fill-bad" width="${round((value / top) * CHART_SIZE)}" height="1" />
          </svg>
        </li>`,
    )}
  </ul>`;
}

/** The next of 2, 4, 10, 20, 40, 100, …, so that half of it is a whole number too. */
function roundUpTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [2, 4, 10, 20].map((step) => step * power).find((top) => top >= value) ?? value;
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}
