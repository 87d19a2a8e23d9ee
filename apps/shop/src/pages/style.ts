import { Asset } from './asset.js';

/* Colours by name, one rule a line. Text contrasts with its background by at least 4.5 : 1, in light and dark mode. */
export const STYLE = new Asset(
  'style.css',
  'text/css',
  `
:root { color-scheme: light dark;
  --ink: light-dark(#2a211b, #f0e9e1); --soft: light-dark(#6d5f54, #b8aa9c); --line: light-dark(#e7dfd5, #42382f);
  --edge: light-dark(#94867a, #85776a); --paper: light-dark(#fff, #241e19); --ground: light-dark(#faf6f0, #191411);
  --accent: light-dark(#8a3f12, #f2ac72); --on-accent: light-dark(#fff, #2b1505); --tint: light-dark(#f6e6d8, #3a2a1d);
  --good: light-dark(#1a6638, #84d9a4); --good-tint: light-dark(#e4f4e8, #183021);
  --warn: light-dark(#7f4f00, #f0c674); --warn-tint: light-dark(#fcf0d6, #38290f);
  --bad: light-dark(#a3261c, #ff9f94); --bad-tint: light-dark(#fce9e6, #3d1b17); }
*, ::before, ::after { box-sizing: border-box; }
body { display: flex; flex-direction: column; min-height: 100vh; margin: 0; background: var(--ground); color: var(--ink); font: 17px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
h1, h2, p, ul, ol, dl, dd { margin: 0; }
h1 { font-size: clamp(1.5rem, 4vw, 2.1rem); line-height: 1.2; letter-spacing: -.02em; }
h2 { font-size: 1.1rem; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 4px; }
code { font: .85em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.money { font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { color: var(--soft); font-size: .92rem; }
body > header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .25rem 1.5rem; padding: .9rem max(1rem, calc(50vw - 34rem)); background: var(--paper); border-bottom: 1px solid var(--line); }
.brand { display: flex; align-items: center; gap: .55rem; font-weight: 700; font-size: 1.1rem; color: inherit; text-decoration: none; }
.brand svg { width: 1.7rem; fill: none; stroke: var(--accent); stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
header nav { display: flex; gap: 1.5rem; }
header nav a { padding: .25rem 0; color: var(--soft); text-decoration: none; border-bottom: 2px solid transparent; }
header nav a:hover, header nav [aria-current] { color: inherit; border-color: var(--accent); }
main { flex: 1; width: 100%; max-width: 70rem; margin: 0 auto; padding: 2rem 1rem 3rem; }
main > * + * { margin-top: 1.5rem; }
footer { padding: 1.25rem 1rem; text-align: center; font-size: .88rem; color: var(--soft); border-top: 1px solid var(--line); }
button, .button { display: inline-block; padding: .65rem 1.2rem; font: inherit; font-weight: 650; text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0; border-radius: 10px; cursor: pointer; }
button.quiet { color: var(--accent); background: none; border: 1px solid var(--edge); }
button:hover, .button:hover { filter: brightness(1.1); }
.hero { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: end; gap: 1rem 2rem; }
.hero p { max-width: 34rem; margin-top: .4rem; color: var(--soft); }
.choice { display: flex; padding: .2rem; background: var(--tint); border-radius: 11px; }
.choice a { padding: .35rem .9rem; color: inherit; text-decoration: none; border-radius: 9px; }
.choice [aria-current] { font-weight: 650; background: var(--paper); box-shadow: 0 1px 2px rgb(0 0 0 / .15); }
.products { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); padding: 0; list-style: none; }
.products > li { display: flex; flex-direction: column; overflow: hidden; background: var(--paper); border: 1px solid var(--line); border-radius: 16px; }
.drawing { display: block; background: var(--tint); color: var(--accent); fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; }
.drawing .fill { fill: currentColor; fill-opacity: .16; }
.products .drawing { width: 100%; height: 11rem; padding: 1.6rem; }
.products .text { flex: 1; padding: 1.1rem 1.25rem 0; }
.products .buy { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding: 1rem 1.25rem 1.25rem; }
.price { font-size: 1.2rem; font-weight: 700; }
.card { padding: 1.5rem; background: var(--paper); border: 1px solid var(--line); border-radius: 16px; }
.card > * + * { margin-top: 1rem; }
.result { max-width: 32rem; margin-inline: auto; text-align: center; }
.result > svg { width: 3.5rem; margin: 0 auto; display: block; fill: none; stroke: currentColor; stroke-width: 4; stroke-linecap: round; stroke-linejoin: round; }
.sum { font-size: 1.8rem; font-weight: 700; letter-spacing: -.02em; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.tag { display: inline-block; padding: .12rem .65rem; font-size: .85rem; font-weight: 650; border-radius: 99px; white-space: nowrap; }
.tag.good { background: var(--good-tint); } .tag.warn { background: var(--warn-tint); } .tag.bad { background: var(--bad-tint); }
.order > .card { overflow: hidden; } .order .drawing { width: calc(100% + 3rem); height: 9rem; margin: -1.5rem -1.5rem 0; padding: 1.4rem; }
.order { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 52rem) { .order { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); align-items: start; } }
.order .state { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; font-size: 1.15rem; font-weight: 650; }
.facts { display: grid; grid-template-columns: auto 1fr; gap: .45rem 1.25rem; }
.facts dt { color: var(--soft); } .facts dd { overflow-wrap: anywhere; text-align: right; }
.steps { padding: 0; list-style: none; }
.steps li { position: relative; padding: 0 0 1rem 1.6rem; }
.steps li::before { content: ''; position: absolute; left: .15rem; top: .45rem; width: .75rem; height: .75rem; border-radius: 50%; background: var(--edge); }
.steps li.good::before { background: var(--good); } .steps li.bad::before { background: var(--bad); } .steps li.warn::before { background: var(--warn); }
.steps li:not(:last-child)::after { content: ''; position: absolute; left: .47rem; top: 1.45rem; bottom: -.2rem; width: 2px; background: var(--line); }
.steps li { color: inherit; } .steps li:last-child { padding-bottom: 0; }
.steps .note { display: block; }
.orders { padding: 0; list-style: none; }
.orders .drawing { flex: none; width: 3.25rem; height: 3.25rem; padding: .45rem; border-radius: 10px; stroke-width: 3; }
.orders .text { flex: 1; display: grid; gap: .2rem; min-width: 0; }
.orders li { display: flex; align-items: center; gap: .9rem; padding: .9rem 0; border-top: 1px solid var(--line); }
.orders li:first-child { border-top: 0; }
.orders .line { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .25rem 1rem; }
`.trimStart(),
);

export const ICON = new Asset(
  'icon.svg',
  'image/svg+xml',
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#8a3f12"/>' +
    '<path d="M8 13h13v6a5 5 0 0 1-5 5h-3a5 5 0 0 1-5-5zM21 14h1a3 3 0 0 1 0 6h-1M12 7v3M16 7v3" fill="none" ' +
    'stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>',
);
