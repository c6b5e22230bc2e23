// The style of html_page: fixed text. Colours are those of Okabe and Ito (2008), which differ for colour-blind readers,
// too; light and dark follow the reader's system.
#pragma once

#include <allot/config.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::string_view html_style = R"css(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de; --panel: #f6f8fa;
  --charged: #0072b2; --resident: #d55e00; --spilled: #009e73; --limit: #57606a; --promised: #8250df;
  --used: #56b4e9; --used-2: #8fcff2; --near: #e69f00; --refused: #d55e00; --on-box: #10151a;
  --stack-0: #0072b2; --stack-1: #e69f00; --stack-2: #009e73; --stack-3: #cc79a7; --stack-4: #56b4e9; --stack-5: #d55e00; --stack-6: #f0e442; --stack-7: #6a51a3;
  --page-0: #deebf7; --page-10: #08519c; --huge: #cc79a7; --idle: #f0e442; --other: #8c959f; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0d1117; --text: #e6edf3; --quiet: #9da7b1; --line: #30363d; --panel: #161b22;
    --charged: #56b4e9; --resident: #e69f00; --spilled: #2bc498; --limit: #9da7b1; --promised: #d2a8ff; --page-0: #16324f; --page-10: #8fcff2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 84rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1, h2, h3, .facts { overflow-wrap: anywhere; } h1 { font-size: 1.5rem; margin: .2rem 0 .8rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .3rem 0; } .quiet, figcaption, caption { color: var(--quiet); font-size: .87rem; }
figure { margin: .5rem 0; } figcaption { margin-top: .3rem; } caption { text-align: left; padding: .2rem 0; white-space: nowrap; }
#cut, .failed { border: 2px solid var(--refused); padding: .5rem .8rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0; padding: 0; }
.facts div { max-width: 100%; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .7rem; }
.facts dt { color: var(--quiet); font-size: .8rem; } .facts dd { margin: 0; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .15rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); } thead th { color: var(--quiet); font-weight: 600; }
tbody tr:hover, tbody tr:hover th { background: var(--panel); }
.name { display: inline-block; max-width: min(24rem, 30vw); overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
tbody th { font-weight: normal; } .found th { box-shadow: inset 3px 0 var(--near); font-weight: 600; } .more td { text-align: left; color: var(--quiet); } pre a { color: inherit; }
.accounts tbody th { padding-left: calc(.3rem + min(var(--level) * 1.1rem, 13.2rem, 18vw)); }
.deep::before { content: attr(data-level); color: var(--quiet); font-size: .75rem; }
@media (max-width: 70rem) { .level::before { content: attr(data-level); color: var(--quiet); font-size: .75rem; } }
.fold { border: 0; background: none; color: inherit; width: 1.4rem; padding: 0; cursor: pointer; font: inherit; }
.bar { display: inline-block; width: 6rem; height: .6rem; background: var(--line); vertical-align: middle; }
.bar i { display: block; height: 100%; background: var(--charged); }
.bar i.resting { background: var(--near); }
.tools { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; margin: .4rem 0; }
button, input { font: inherit; font-size: .87rem; }
.tools button, .tools input { border: 1px solid var(--line); border-radius: 6px; background: var(--panel); color: inherit;
  padding: .15rem .6rem; }
.tools button[aria-pressed=true] { border-color: var(--charged); box-shadow: inset 0 0 0 1px var(--charged); }
:focus-visible { outline: 2px solid var(--resident); outline-offset: 1px; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .3rem 0; padding: 0; list-style: none;
  color: var(--quiet); font-size: .87rem; }
.legend i { display: inline-block; width: 1.1em; height: .8em; margin-right: .35em; vertical-align: -1px;
  border: 1px solid var(--line); }
.icicle { position: relative; background: var(--panel); border: 1px solid var(--line); overflow: hidden; }
.box { position: absolute; height: 25px; padding: 0 .3rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  text-align: left; border: 1px solid var(--back); border-radius: 3px; background: var(--used); color: var(--on-box);
  cursor: pointer; font-size: .8rem; }
.box.second { background: var(--used-2); } .box.near { background: var(--near); }
.box.refused { background: var(--refused); color: #fff; } .rest { background: var(--line); color: var(--text); }
.box i, .reserved { background: repeating-linear-gradient(45deg, #fff9 0 3px, #0003 3px 6px); }
.box i { position: absolute; top: 0; bottom: 0; right: 0; }
.box span { position: relative; display: flex; flex-wrap: wrap; gap: .6em; height: 1.5em; overflow: hidden; } /* a number is whole, or not there */
.box bdi { overflow: hidden; text-overflow: ellipsis; max-width: max(min(100%, 8em), 100% - 7em); }
svg { display: block; width: 100%; font-size: 11px; } svg text { fill: var(--quiet); }
.line { fill: none; stroke-width: 1.6; } .charged { stroke: var(--charged); }
.resident { stroke: var(--resident); stroke-dasharray: 6 3; } .spilled { stroke: var(--spilled); stroke-dasharray: 2 2; } .promised { stroke: var(--promised); stroke-dasharray: 1 3; }
.area { fill: var(--charged); opacity: .15; } .stack { opacity: .85; stroke: var(--back); stroke-width: .5; } .limit { stroke: var(--limit); stroke-dasharray: 8 4 2 4; }
.grid { stroke: var(--line); } .cross { stroke: var(--text); }
.tick { fill: var(--text); opacity: .75; } .tick.spill { fill: var(--spilled); }
.tick.rollback, .tick.refusal { fill: var(--resident); }
#tip { position: fixed; z-index: 2; pointer-events: none; background: var(--back); border: 1px solid var(--quiet);
  border-radius: 6px; padding: .3rem .6rem; font-size: .85rem; white-space: pre-line; max-width: 28rem; }
.pages rect { stroke: var(--back); stroke-width: .6; }
.untouched { fill: var(--panel); } .free { fill: var(--line); } .free_dirty { fill: var(--idle); }
.other { fill: var(--other); } .huge { fill: var(--huge); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; overflow-x: auto;
  font-size: .82rem; }
summary { cursor: pointer; margin: .4rem 0; } summary h3 { display: inline; }
[hidden] { display: none !important; }
@media print { .tools { display: none; } body { max-width: none; } }
)css";

} // namespace detail
} // namespace allot::inline ALLOT_ABI
