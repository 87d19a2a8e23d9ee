import { Asset } from './asset.js';

/* The contrast of text with its background is at least 4.5 : 1, in light and dark mode. */

const COLOURS = `
:root { color-scheme: light dark;
  --ink: light-dark(#172033, #e8ecf4); --soft: light-dark(#55607a, #a5b0c6); --line: light-dark(#dde3ee, #303a4c);
  --edge: light-dark(#7d88a1, #74809a); --paper: light-dark(#fff, #181e2a); --ground: light-dark(#f3f5fa, #0f141d);
  --accent: light-dark(#3149d1, #9db0ff); --on-accent: light-dark(#fff, #10173d); --tint: light-dark(#edf0fe, #202a4a);
  --good: light-dark(#10683a, #7fdca4); --good-tint: light-dark(#e2f5ea, #14301f);
  --warn: light-dark(#845000, #f3c46c); --warn-tint: light-dark(#fdf0d8, #36270c);
  --bad: light-dark(#b0221b, #ffa096); --bad-tint: light-dark(#fde9e7, #3d1a18);
  --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
`;

const BASE = `
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
h1, h2, h3, p, ul, ol, dl, dd { margin: 0; }
h1 { font-size: 1.4rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; line-height: 1.3; }
a { color: var(--accent); text-underline-offset: .15em; }
code, pre { font: .86em/1.5 var(--mono); }
code { overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .75rem; overflow-x: auto; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
[hidden] { display: none; }
.note { color: var(--soft); font-size: .875rem; }
.card { padding: 1.5rem; background: var(--paper); border: 1px solid var(--line); border-radius: 14px; }
.money { font-variant-numeric: tabular-nums; white-space: nowrap; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
dl.facts { display: grid; grid-template-columns: auto 1fr; gap: .4rem 1.25rem; font-size: .94rem; }
.facts dt { color: var(--soft); } .facts dd { overflow-wrap: anywhere; }
label { font-weight: 600; font-size: .92rem; }
input, select, textarea { width: 100%; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; }
input[type=checkbox] { width: 1.1rem; height: 1.1rem; margin: 0 .4rem 0 0; accent-color: var(--accent); vertical-align: -.15em; }
[aria-invalid=true] { border-color: var(--bad); box-shadow: 0 0 0 1px var(--bad); }
.error { display: block; margin-top: .3rem; color: var(--bad); font-size: .875rem; }
button, .button { display: inline-block; padding: .55rem 1rem; font: inherit; font-weight: 600; text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: 9px; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.08); }
button:disabled { opacity: .7; cursor: progress; }
html:not(.scripts) .scripted { display: none; }
button.quiet { color: var(--accent); background: var(--paper); border-color: var(--edge); }
.tag { display: inline-block; padding: .1rem .55rem; font-size: .8rem; font-weight: 600; border-radius: 99px; white-space: nowrap; color: var(--soft); background: var(--ground); box-shadow: inset 0 0 0 1px var(--line); }
.tag.good { color: var(--good); background: var(--good-tint); box-shadow: none; }
.tag.warn { color: var(--warn); background: var(--warn-tint); box-shadow: none; }
.tag.bad { color: var(--bad); background: var(--bad-tint); box-shadow: none; }
`;

const PAYER = `
.payer { min-height: 100vh; display: flex; flex-direction: column; }
.payer > header { padding: .5rem 1rem; text-align: center; font-size: .875rem; color: var(--warn); background: var(--warn-tint); }
.payer > main { display: grid; gap: 1.25rem; width: 100%; max-width: 27rem; margin: auto; padding: 1.5rem 1rem 3rem; }
.payer > main.two { max-width: 54rem; }
@media (min-width: 52rem) { .payer > main.two { grid-template-columns: 1.15fr 1fr; align-items: start; } }
.payer .card > * + * { margin-top: 1.1rem; }
.shop { display: flex; align-items: center; gap: .65rem; font-weight: 600; overflow-wrap: anywhere; }
.shop span { flex: none; display: grid; place-items: center; width: 2.1rem; height: 2.1rem; color: var(--on-accent); background: var(--accent); border-radius: 9px; }
.sum { font-size: 2.1rem; font-weight: 700; letter-spacing: -.02em; line-height: 1.15; }
.breakdown { display: grid; grid-template-columns: 1fr auto; gap: .3rem 1rem; padding-top: 1.1rem; font-size: .94rem; border-top: 1px solid var(--line); }
.breakdown dt { color: var(--soft); } .breakdown dd { text-align: right; overflow-wrap: anywhere; }
.breakdown .total { font-weight: 700; color: inherit; }
.card-fields > * + * { margin-top: 1rem; }
.payer form button { margin-top: 1.4rem; }
.field input { margin-top: .3rem; font-variant-numeric: tabular-nums; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; align-items: start; }
.payer button, .payer .button { display: block; width: 100%; padding: .8rem; }
.cards { padding: 0; list-style: none; }
.cards a { display: block; padding: .55rem .7rem; margin: 0 -.7rem; color: inherit; text-decoration: none; border-radius: 8px; }
.cards a:hover { background: var(--tint); }
.cards code { display: block; color: var(--accent); font-weight: 600; }
.sign { display: block; width: 3.5rem; height: 3.5rem; margin: 0 auto; }
.payer .result { text-align: center; }
.result .breakdown { text-align: left; }
.wheel { width: 3rem; height: 3rem; margin: 0 auto; border: 4px solid var(--line); border-top-color: var(--accent); border-radius: 50%; animation: turn 1s linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
@media (prefers-reduced-motion: reduce) { .wheel { animation-duration: 8s; } }
`;

const CONSOLE = `
.console > header { padding: 0 max(1rem, calc(50vw - 34rem)); background: var(--paper); border-bottom: 1px solid var(--line); }
.console > header .bar { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1rem; padding-top: .8rem; }
.brand { display: flex; align-items: center; gap: .5rem; font-weight: 700; color: inherit; text-decoration: none; }
.brand svg { width: 1.4rem; fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.console nav { display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
.console nav a { padding: .6rem 0; color: var(--soft); text-decoration: none; white-space: nowrap; border-bottom: 3px solid transparent; }
.console nav a:hover { color: inherit; } .console nav a:focus-visible { outline-offset: -3px; }
.console nav [aria-current] { color: inherit; font-weight: 600; border-color: var(--accent); }
.console > main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; }
.title > p { width: 100%; padding-right: max(0rem, 100% - 46rem); color: var(--soft); }
.console .card > * + * { margin-top: .9rem; }
.facts-row { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); }
.facts-row a { display: flex; justify-content: space-between; align-items: center; gap: .75rem; padding: .75rem 1rem; color: inherit; text-decoration: none; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; }
.facts-row a:hover { border-color: var(--accent); } .facts-row a > :first-child { color: var(--soft); font-size: .92rem; }
.checks { display: grid; gap: .9rem; padding: 0; list-style: none; } .checks ul { padding-left: 1.2rem; font-size: .92rem; }
.checks .title, .card > .title { justify-content: space-between; }
.stack { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); } .console .stack > * { margin: 0; } .stack.tight { gap: .6rem; }
.steps > form { flex: 0 0 auto; }
.split, .halves { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .halves { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); align-items: start; } }
@media (min-width: 60rem) { .split { grid-template-columns: minmax(0, 1fr) 21rem; align-items: start; } }
.message { padding: .7rem 1rem; border-radius: 10px; } .message.good { background: var(--good-tint); } .message.bad { background: var(--bad-tint); } .message.warn { background: var(--warn-tint); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .92rem; }
th { color: var(--soft); font-size: .82rem; font-weight: 600; white-space: nowrap; }
th, td { padding: .55rem .75rem .55rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
@media (max-width: 46rem) {
  .console > header .bar > .note { display: none; }
  .console nav { flex-wrap: nowrap; margin: 0 -1rem; padding: 0 1rem; overflow-x: auto; scrollbar-width: none; }
  .console nav a { padding: .8rem 0; }
  .console > main { gap: 1rem; padding: 1rem .75rem 3rem; }
  .console .card { padding: 1rem; }
  .console button:not(.switch), .console input:not([type=checkbox]), .console select { min-height: 2.75rem; }
  .console summary { padding: .4rem 0; }
  .flows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .flows table, .flows tbody { display: block; }
  .flows tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .75rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .flows tbody tr:last-child { border-bottom: 0; }
  .flows td { padding: 0; border: 0; } .flows td:first-child { flex: 1 0 100%; }
}
.row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; }
.row > * { flex: 1 1 8rem; } .row > button { flex: 0 0 auto; } .fields > button { justify-self: start; }
.fields.wide { grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); align-items: start; } label .note { font-weight: 400; }
.console form > * + * { margin-top: .8rem; } .console form.row > *, .console form.fields > * { margin-top: 0; }
.console form label > input, .console form label > select, .console form label > textarea { margin-top: .25rem; font-weight: 400; }
.console form label > input[type=checkbox] { margin: 0 .4rem 0 0; }
.fields { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); align-items: end; }
.timeline { padding: 0; list-style: none; }
.timeline > li { position: relative; padding: 0 0 1.15rem 1.6rem; }
.timeline > li::before { content: ''; position: absolute; left: .2rem; top: .45rem; width: .7rem; height: .7rem; border-radius: 50%; background: var(--edge); }
.timeline > li::after { content: ''; position: absolute; left: .5rem; top: 1.4rem; bottom: 0; width: 2px; background: var(--line); }
.timeline > li:last-child { padding-bottom: 0; } .timeline > li:last-child::after { display: none; }
.timeline > .good::before { background: var(--good); } .timeline > .warn::before { background: var(--warn); } .timeline > .bad::before { background: var(--bad); }
.timeline > li { color: inherit; }
.timeline > li > time { display: block; color: var(--soft); font-size: .82rem; font-variant-numeric: tabular-nums; }
:target { background: var(--tint); border-radius: 8px; box-shadow: 0 0 0 .5rem var(--tint); }
details > summary { cursor: pointer; color: var(--accent); font-weight: 600; font-size: .92rem; width: fit-content; }
details[open] > summary { margin-bottom: .6rem; }
.timeline details { margin-top: .5rem; }
.advice { margin: .4rem 0; padding: .5rem .75rem; overflow-wrap: anywhere; background: var(--warn-tint); border-radius: 8px; font-size: .92rem; }
.advice::first-letter, .checks p::first-letter, .message::first-letter { text-transform: uppercase; }
.replay { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; margin-top: .6rem; } .replay details { margin: 0; } .replay details[open] { flex-basis: 100%; }
.replay button.quiet { padding: .3rem .8rem; font-size: .92rem; }
.faults { padding: 0; list-style: none; }
.faults > li { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 1rem; padding: .8rem 0; border-top: 1px solid var(--line); }
.faults details { grid-column: 2; margin-top: .35rem; }
button.switch { width: 2.9rem; height: 1.65rem; margin-top: .1rem; padding: 0; border-radius: 99px; background: var(--paper); border: 2px solid var(--edge); position: relative; }
button.switch::after { content: ''; position: absolute; inset: .15rem auto .15rem .15rem; width: 1.05rem; border-radius: 50%; background: var(--edge); }
button.switch[aria-checked=true] { background: var(--accent); border-color: var(--accent); }
button.switch[aria-checked=true]::after { inset: .15rem .15rem .15rem auto; background: var(--on-accent); }
`;

export const STYLE = new Asset('style.css', 'text/css', [COLOURS, BASE, PAYER, CONSOLE].join('').trimStart());

export const ICON = new Asset(
  'icon.svg',
  'image/svg+xml',
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3149d1"/>' +
    '<path d="M8 13h16M8 10h16v12H8zM11 19h4" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>',
);
