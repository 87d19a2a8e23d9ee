import { createHash } from 'node:crypto';

/*
 * Text contrasts with its background by at least 4.5 : 1, in light and dark mode; nothing is conveyed by colour alone.
 */
const TEXT = `
:root { color-scheme: light dark;
  --ink: light-dark(#172033, #e8ecf4); --soft: light-dark(#55607a, #a5b0c6); --line: light-dark(#dde3ee, #303a4c);
  --edge: light-dark(#7d88a1, #74809a); --paper: light-dark(#fff, #181e2a); --ground: light-dark(#f3f5fa, #0f141d);
  --accent: light-dark(#0b6b63, #6fd6c9); --on-accent: light-dark(#fff, #06231f);
  --good: light-dark(#10683a, #7fdca4); --good-tint: light-dark(#e2f5ea, #14301f);
  --warn: light-dark(#845000, #f3c46c); --warn-tint: light-dark(#fdf0d8, #36270c);
  --bad: light-dark(#b0221b, #ffa096); --bad-tint: light-dark(#fde9e7, #3d1a18);
  --fill-good: light-dark(#1f8f55, #57c98a); --fill-bad: light-dark(#d0453d, #ff8a7e); --fill-warn: light-dark(#bd7d0b, #f3c46c); --fill-plain: light-dark(#0f857b, #6fd6c9);
  --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
h1, h2, p, ul, ol, dl, dd, figure { margin: 0; }
h1 { font-size: 1.4rem; line-height: 1.25; letter-spacing: -.01em; } h2 { font-size: 1.05rem; line-height: 1.3; }
a { color: var(--accent); text-underline-offset: .15em; }
code, pre { font: .86em/1.5 var(--mono); } code { overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .75rem; overflow-x: auto; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem; }
.soft { color: var(--soft); font-size: .92rem; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
body > header { padding: 0 max(1rem, calc(50vw - 36rem)); background: var(--paper); border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .25rem 1rem; padding-top: .8rem; }
.brand { display: flex; align-items: center; gap: .5rem; font-weight: 700; color: inherit; text-decoration: none; }
.brand svg { width: 1.4rem; fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
nav { display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
nav a { padding: .6rem 0; color: var(--soft); text-decoration: none; white-space: nowrap; border-bottom: 3px solid transparent; }
nav a:hover { color: inherit; } nav a:focus-visible { outline-offset: -3px; } nav [aria-current] { color: inherit; font-weight: 600; border-color: var(--accent); }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; max-width: 74rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.card { padding: 1.25rem; background: var(--paper); border: 1px solid var(--line); border-radius: 14px; } .card > * + * { margin-top: .8rem; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; } .title > p { width: 100%; color: var(--soft); }
.stack > .tiles { margin-top: .75rem; }
.tiles { display: grid; gap: .75rem; grid-template-columns: repeat(2, minmax(0, 1fr)); padding: 0; list-style: none; }
@media (min-width: 52rem) { .tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); } }
.tiles li { display: flex; flex-direction: column; justify-content: space-between; padding: .8rem 1rem; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; }
.tiles li > span { font-size: .92rem; } .tiles strong { font-size: 1.5rem; font-variant-numeric: tabular-nums; }
.halves { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
.split { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
@media (min-width: 64rem) { .split { grid-template-columns: minmax(0, 1fr) 23rem; } .split dl.facts { grid-template-columns: minmax(0, 1fr); gap: 0; } .split .facts dt { font-size: .86rem; } .split .facts dd { margin-bottom: .55rem; } .split dd:last-child { margin-bottom: 0; } }
.message { padding: .7rem 1rem; border-radius: 10px; } .message.good { background: var(--good-tint); } .message.bad { background: var(--bad-tint); } .message.warn { background: var(--warn-tint); }
.scroll { overflow-x: auto; } table { width: 100%; border-collapse: collapse; font-size: .92rem; }
caption { text-align: left; color: var(--soft); font-size: .92rem; padding-bottom: .4rem; }
th { color: var(--soft); font-size: .82rem; font-weight: 600; white-space: nowrap; }
th, td { padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody th { color: inherit; font-size: inherit; white-space: normal; } th .soft { font-weight: 400; } td code + .soft { display: block; }
tbody tr:last-child > * { border-bottom: 0; } td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.tag { display: inline-block; padding: .1rem .55rem; font-size: .8rem; font-weight: 600; border-radius: 99px; white-space: nowrap; color: var(--soft); background: var(--ground); box-shadow: inset 0 0 0 1px var(--line); }
.tag.good { color: var(--good); background: var(--good-tint); box-shadow: none; } .tag.warn { color: var(--warn); background: var(--warn-tint); box-shadow: none; } .tag.bad { color: var(--bad); background: var(--bad-tint); box-shadow: none; }
dl.facts { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .4rem 1.25rem; font-size: .94rem; } .facts dt { color: var(--soft); } .facts dd { overflow-wrap: anywhere; }
form.row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; } form.row > label { flex: 1 1 10rem; } form > * + * { margin-top: .8rem; } form.row > * { margin-top: 0; }
label { display: block; font-weight: 600; font-size: .92rem; }
input, select { display: block; width: 100%; margin-top: .25rem; padding: .55rem .7rem; font: inherit; font-weight: 400; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; }
button, .button { display: inline-block; padding: .5rem 1rem; font: inherit; font-weight: 600; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: 9px; cursor: pointer; }
.button.quiet { color: var(--accent); background: var(--paper); border-color: var(--edge); padding: .3rem .8rem; font-size: .92rem; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; }
.timeline { padding: 0; list-style: none; } .timeline > li { position: relative; padding: 0 0 1.15rem 1.6rem; color: inherit; }
.timeline > li::before { content: ''; position: absolute; left: .2rem; top: .45rem; width: .7rem; height: .7rem; border-radius: 50%; background: var(--edge); }
.timeline > li::after { content: ''; position: absolute; left: .5rem; top: 1.4rem; bottom: 0; width: 2px; background: var(--line); }
.timeline > li:last-child { padding-bottom: 0; } .timeline > li:last-child::after { display: none; }
.timeline > .good::before { background: var(--good); } .timeline > .warn::before { background: var(--warn); } .timeline > .bad::before { background: var(--bad); }
.timeline > li > time { display: block; color: var(--soft); font-size: .82rem; font-variant-numeric: tabular-nums; }
details > summary { cursor: pointer; color: var(--accent); font-weight: 600; font-size: .92rem; width: fit-content; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.attention { border-left: .35rem solid var(--bad); }
.narrow { width: min(40rem, 100%); } .field > * + * { margin-top: .25rem; } .field .soft { display: block; } label > .soft { font-weight: 400; }
.reasons, .deliveries { margin-top: .25rem; padding-left: 1.1rem; } .deliveries { padding: 0; list-style: none; } .deliveries li + li { margin-top: .6rem; } .deliveries .button { margin-left: .4rem; }
.tiles.plain a { color: inherit; text-decoration-color: var(--edge); } .tiles.plain strong { display: block; }
.tiles li.bad { border-color: var(--bad); } .tiles li.warn { border-color: var(--warn); }
.plot { position: relative; padding-left: 2.4rem; } .plot svg { display: block; width: 100%; height: 10rem; }
.top { position: absolute; left: 0; width: 2rem; text-align: right; transform: translateY(-.5em); }
.top, .ticks { font-size: .78rem; line-height: 1.25; color: var(--soft); font-variant-numeric: tabular-nums; }
.ticks { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); margin-top: .35rem; padding-left: 2.4rem; list-style: none; text-align: center; }
.chart > * + * { margin-top: .5rem; }
.grid { stroke: var(--line); stroke-width: 1px; vector-effect: non-scaling-stroke; }
svg .fill-good { fill: var(--fill-good); } svg .fill-bad { fill: var(--fill-bad); } svg .fill-warn { fill: var(--fill-warn); } svg .fill-plain { fill: var(--fill-plain); }
.rows { padding: 0; list-style: none; } .rows li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .15rem 1rem; } .rows li + li { margin-top: .6rem; }
.rows svg { grid-column: 1 / -1; width: 100%; height: .5rem; background: var(--ground); border-radius: 99px; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; list-style: none; font-size: .88rem; color: var(--soft); }
.legend span { display: inline-block; width: .75rem; height: .75rem; margin-right: .4rem; border-radius: 3px; vertical-align: -.05em; }
.legend .fill-good { background: var(--fill-good); } .legend .fill-bad { background: var(--fill-bad); } .legend .fill-warn { background: var(--fill-warn); } .legend .fill-plain { background: var(--fill-plain); }
.keep { white-space: nowrap; overflow-wrap: normal; }
@media (max-width: 30rem) { dl.facts { grid-template-columns: minmax(0, 1fr); gap: 0; } .facts dd { margin-bottom: .5rem; } }
@media (max-width: 46rem) {
  .flows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .flows table, .flows tbody { display: block; }
  .flows tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .75rem; padding: .7rem 0; border-bottom: 1px solid var(--line); }
  .flows tbody tr:last-child { border-bottom: 0; }
  .flows th, .flows td { padding: 0; border: 0; } .flows th { flex: 1 0 100%; } .flows td:empty { display: none; }
  .many li:nth-child(6n+4) span { visibility: hidden; }
}
`;

/** The name changes with the content, so browsers may cache it for ever. */
export const STYLE = {
  text: TEXT.trimStart(),
  name: `style-${createHash('sha256').update(TEXT).digest('hex').slice(0, 16)}.css`,
};

/** Inlined in the page: without it, the browser would request an icon from the host, which the policy forbids. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' " +
  "fill='%230b6b63'/%3E%3Cpath d='M7 13h18M7 9h18v14H7zM18 18l2 2 4-5' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E";
