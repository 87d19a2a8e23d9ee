import { Controller, Get, Header } from '@nestjs/common';

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8d4cc, #44403a); --accent: light-dark(#7a3e12, #f0a868); }
* { box-sizing: border-box; }
body { margin: 0; font: 1.0625rem/1.5 system-ui, sans-serif; background: light-dark(#fbf9f5, #1c1a17); color: light-dark(#26221d, #ece7df); }
header { display: flex; justify-content: space-between; padding: 1rem max(1rem, calc(50vw - 26rem)); border-bottom: 1px solid var(--line); }
header > a { font-weight: 700; }
a { color: var(--accent); }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.products { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); padding: 0; list-style: none; }
.products li, .card { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 0; }
form { display: inline-block; margin: .25rem .25rem 0 0; }
button { font: inherit; padding: .4rem .9rem; border: 0; border-radius: .4rem; background: var(--accent); color: light-dark(#fff, #201a14); cursor: pointer; }
table { width: 100%; border-collapse: collapse; } td, th { text-align: left; padding: .4rem .5rem .4rem 0; border-bottom: 1px solid var(--line); }
.status { font-weight: 700; } .paid { color: light-dark(#17692f, #7fd897); } .not_paid, .failed { color: light-dark(#a3261c, #ff9d92); }
code { overflow-wrap: anywhere; }
`;

@Controller()
export class StyleController {
  @Get('style.css')
  @Header('Content-Type', 'text/css; charset=utf-8')
  @Header('Cache-Control', 'public, max-age=300')
  style(): string {
    return STYLE;
  }
}
