/** The style of every page of the sandbox. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5d6778; --line: #d5dae3; --paper: #fff; --ground: #f2f4f8;
  --accent: #2456d6; --on-accent: #fff; --bad: #b3261e; --good: #1b7a3d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf1; --soft: #a2acbd; --line: #3a4352; --paper: #1d232d;
  --ground: #12161d; --accent: #8aabff; --on-accent: #0d1a3d; --bad: #ff8f86; --good: #74d698; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 2rem auto; padding: 1.75rem; background: var(--paper); border: 1px solid var(--line);
  border-radius: 12px; }
main.wide { max-width: 60rem; }
h1 { margin: 0 0 .5rem; font-size: 1.3rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: .875rem; }
.amount { font-size: 2rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); }
label { display: block; margin-top: 1rem; font-weight: 600; }
input { display: block; width: 100%; margin-top: .25rem; padding: .65rem .75rem; font: inherit; color: inherit;
  background: transparent; border: 1px solid var(--soft); border-radius: 8px; }
input[aria-invalid=true] { border-color: var(--bad); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.error { display: block; margin-top: .25rem; color: var(--bad); font-size: .875rem; font-weight: 400; }
button, .button { display: block; width: 100%; margin-top: 1.5rem; padding: .75rem; font: inherit; font-weight: 650;
  text-align: center; text-decoration: none; color: var(--on-accent); background: var(--accent); border: 0;
  border-radius: 8px; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
details { margin-top: 1.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
ul { padding-left: 1.2rem; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
table { width: 100%; border-collapse: collapse; margin-top: .75rem; font-size: .9rem; }
th, td { padding: .4rem .6rem .4rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
`;

/** Sends the payer back to the shop. Without it the button of the form does. */
export const RETURN_SCRIPT = `document.getElementById('return').submit();\n`;
