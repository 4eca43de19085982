"""How the page looks, in one style sheet that its policy names by digest."""

import base64
import hashlib

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #f6f5f1; --card: #fff; --ink: #1d2326; --soft: #5a6468; --line: #dedbd3;
  --link: #0b5c73; --field: #fff; --code: #f1efe9; --mark: #0f766e;
  --good: #14653a; --good-bg: #e0f2e6; --warn: #7a4a00; --warn-bg: #fbedce;
  --bad: #99231b; --bad-bg: #fbe3df; --calm: #3f4b57; --calm-bg: #e7eaee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181a; --card: #1c2225; --ink: #e6e9e8; --soft: #9fabaf; --line: #30393d;
    --link: #7cc7dc; --field: #12171a; --code: #14191c; --mark: #4fc1b4;
    --good: #8fdcac; --good-bg: #17382a; --warn: #f1c87a; --warn-bg: #40311a;
    --bad: #f5a79f; --bad-bg: #45221f; --calm: #bfc9d2; --calm-bg: #2c353c;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 -apple-system, "Segoe UI", Roboto, "Liberation Sans", system-ui, sans-serif;
  overflow-wrap: anywhere;
}
main, .bar { max-width: 72rem; margin: 0 auto; padding: 0 1.5rem; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; }
h1, h2, h3, h4, p, ul, dl, dd, pre { margin: 0; padding: 0; }
ul { list-style: none; }
code, pre { font: .875em/1.5 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding-top: 1.75rem; }
.bar svg { width: 2rem; height: 2rem; color: var(--mark); flex: none; }
h1 { font-size: 1.375rem; font-weight: 650; letter-spacing: -.01em; }
h1 a { color: inherit; text-decoration: none; }
h2 { font-size: 1.0625rem; font-weight: 650; margin: 2.5rem 0 .9rem; }
h2 small { font-weight: 400; color: var(--soft); font-size: .875rem; margin-left: .5rem; }
h3 { font-size: 1rem; font-weight: 650; }
h4 { font-size: .8125rem; font-weight: 650; color: var(--soft); margin: 1.1rem 0 .4rem; }

.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.75rem; color: var(--soft);
  font-size: .875rem; }
.facts div { display: flex; flex-wrap: wrap; gap: 0 .45rem; min-width: 0; }
.facts dd { color: var(--ink); }
main > .facts { margin-top: .5rem; }

.chip {
  display: inline-block; border-radius: 99px; padding: .08rem .65rem; font-size: .8125rem;
  font-weight: 600; white-space: nowrap; color: var(--calm); background: var(--calm-bg);
}
.chip::before { content: "\\25cf"; margin-right: .4em; font-size: .7em; vertical-align: .12em; }
.good { color: var(--good); background: var(--good-bg); }
.warn { color: var(--warn); background: var(--warn-bg); }
.warn.chip::before { content: "\\25b2"; }
.bad { color: var(--bad); background: var(--bad-bg); }
.bad.chip::before { content: "\\25a0"; }
.notice { border-radius: 10px; padding: .8rem 1.1rem; margin-top: 1.1rem; }

.totals { display: grid; gap: .75rem; margin-top: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); }
.totals > * { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: .8rem 1rem; }
.totals a { display: block; color: inherit; text-decoration: none; }
.totals strong { display: block; font-size: 1.625rem; line-height: 1.2; font-weight: 650;
  font-variant-numeric: tabular-nums; }
.totals span { color: var(--soft); font-size: .875rem; }
.totals .lit { color: var(--bad); }
.totals .amber { color: var(--warn); }

form { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem; margin-top: 1.5rem; }
form label { font-weight: 600; font-size: .9375rem; }
input { flex: 1 1 14rem; min-width: 0; font: inherit; color: inherit; background: var(--field);
  border: 1px solid var(--line); border-radius: 10px; padding: .5rem .85rem; }
button { font: inherit; font-weight: 600; color: var(--card); background: var(--mark);
  border: 0; border-radius: 10px; padding: .55rem 1.15rem; cursor: pointer; }
.hint { flex-basis: 100%; color: var(--soft); font-size: .8125rem; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem 1.25rem; }
.card + .card { margin-top: .75rem; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: .35rem .8rem; }
.head .much { margin-left: auto; color: var(--soft); font-size: .875rem;
  font-variant-numeric: tabular-nums; }
.why { margin-top: .4rem; max-width: 60rem; }
.card > .facts { margin-top: .45rem; }
.counts { display: flex; flex-wrap: wrap; gap: .4rem; margin-top: .6rem; }

.tools { border-top: 1px solid var(--line); margin-top: .35rem; }
.tools > li { border-bottom: 1px solid var(--line); }
.tools > li:last-child { border-bottom: 0; }
summary { cursor: pointer; padding: .5rem .25rem .5rem 1.4rem; position: relative; list-style: none;
  display: grid; grid-template-columns: minmax(0, 17rem) minmax(0, 17rem) minmax(0, 1fr);
  gap: .1rem 1.1rem; align-items: baseline; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; position: absolute; left: .2rem; top: .5rem;
  color: var(--soft); }
details[open] > summary::before { content: "\\25be"; }
summary:hover { background: var(--code); }
summary .name { font-weight: 650; }
summary .safe { color: var(--soft); }
summary .says { color: var(--soft); font-size: .875rem; }
.within { padding: .1rem .25rem 1.1rem 1.4rem; }
.within .facts { margin-top: .3rem; }
.within .text { white-space: pre-wrap; max-width: 60rem; font-size: .9375rem; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px;
  padding: .7rem .9rem; white-space: pre-wrap; max-height: 30rem; overflow-y: auto; }

.rows > li { display: grid; grid-template-columns: minmax(0, 17rem) 12.5rem minmax(0, 1fr);
  gap: .2rem 1.1rem; align-items: baseline; padding: .45rem .25rem;
  border-top: 1px solid var(--line); }
.rows .chip { justify-self: start; white-space: normal; }
.rows p { font-size: .9375rem; }
.rows time, .rows .sub { color: var(--soft); font-size: .875rem;
  font-variant-numeric: tabular-nums; }
.names { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
.card.rows { padding-top: .4rem; padding-bottom: .4rem; }
.card.rows > li:first-child { border-top: 0; }
.failures p { flex-basis: 100%; }
.failures > li { grid-template-columns: 12.5rem minmax(0, 1fr); }
.failures div { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; }
.unseen { font: .75em/1.2 ui-monospace, "Liberation Mono", monospace; color: var(--bad);
  background: var(--bad-bg); border-radius: 4px; padding: 0 .25em; margin: 0 .1em; }
.empty { color: var(--soft); }
.more { display: inline-block; margin-top: 1rem; font-weight: 600; }
footer { color: var(--soft); font-size: .8125rem; margin: 3rem 0 2.5rem; }

@media (max-width: 46rem) {
  main, .bar { padding-left: 1rem; padding-right: 1rem; }
  .totals { grid-template-columns: repeat(auto-fill, minmax(6.25rem, 1fr)); gap: .5rem; }
  .totals > * { padding: .55rem .75rem; }
  .totals strong { font-size: 1.3rem; }
  form label { flex-basis: 100%; }
  input { flex-basis: 8rem; }
  .card { padding: .9rem 1rem; }
  .head .much { margin-left: 0; flex-basis: 100%; }
  summary { grid-template-columns: minmax(0, 1fr); }
  .rows > li, .failures > li { grid-template-columns: minmax(0, 1fr); justify-items: start; }
  button { flex: none; }
}
"""

_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
