// The script of html_page: fixed text, which draws the JSON that is embedded in the page. It needs no library and no
// network, and changes nothing but the page.
//
// Each <script type="application/json" data-kind=KIND> is one report: accounts, peak, timeline, rows, pages, chunks.
// Cells of tables have the number that they show in data-value, so a test can compare them with the JSON.
// Invariant: a tree of any depth and a list of any length are drawn: nothing recurs with the depth of the data, and no
// call has an argument for each element. A section that cannot be drawn says so itself, and the others are drawn.
#pragma once

#include <allot/config.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::string_view html_script = R"js(
'use strict';
// ---- parts of a page ----
// An element with attributes and children; texts become text nodes, so no name is ever read as HTML.
function el(tag, attributes, ...children) {
  const svg = ['svg', 'path', 'line', 'rect', 'text', 'title', 'g'].includes(tag);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, '');
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  for (const c of children.flat()) if (c != null) e.append(c);
  return e;
}
// An integer that a Number cannot have: it is computed with as a Number, and shown with all its digits.
class Large extends Number {
  constructor(digits) { super(digits); this.exact = BigInt(digits); }
  toString() { return String(this.exact); }
}
// A quote inside of a JSON string has a backslash before it, so what is found is never in a name. SIZE_MAX stays a Number.
function parsed(text) {
  const marked = text.replace(/([a-z]":)((?!18446744073709551615\b)\d{16,})/g, '$1{"2^53":"$2"}'), json = JSON.parse(marked);
  const open = marked === text ? [] : [json];
  while (open.length) {
    const all = open.pop();
    for (const key of Object.keys(all)) {
      const value = all[key];
      if (value === null || typeof value !== 'object') continue;
      if (value['2^53']) all[key] = new Large(value['2^53']); else open.push(value);
    }
  }
  return json;
}
// As text_writer::bytes() of allot: "1.50 GiB" for whole KiB and from 1 MiB on, "1234 bytes" otherwise.
function bytes(n) {
  if (n < 1024 || (n < 1048576 && n % 1024 !== 0)) return n + (n === 1 ? ' byte' : ' bytes');
  const all = n.exact ?? BigInt(n);
  let unit = 0, scale = 1024n;
  for (; all / scale >= 1024n && unit < 5; ++unit) scale *= 1024n;
  let whole = all / scale, hundredths = (all % scale / (scale / 1024n) * 100n + 512n) / 1024n;
  if (hundredths === 100n) { ++whole; hundredths = 0n; }
  return whole + (all % scale !== 0n ? '.' + String(hundredths).padStart(2, '0') : '') +
      [' KiB', ' MiB', ' GiB', ' TiB', ' PiB', ' EiB'][unit];
}
const unlimited = n => n === 2 ** 64; // SIZE_MAX, as a Number; no Large has it
const limitText = n => unlimited(n) ? 'none' : bytes(n);
const number = n => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
const percent = (part, whole) => whole === 0 ? '' : (part / whole * 100).toFixed(1) + ' %';
function minutes(ns) {
  const all = Math.round(ns / 1e9), h = Math.floor(all / 3600), m = Math.floor(all / 60) % 60, s = all % 60;
  return [h ? h + ' h' : '', m ? m + ' min' : '', s ? s + ' s' : ''].filter(part => part).join(' ') || '0';
}
const seconds = ns => ns === 0 ? '0' : ns >= 120e9 ? minutes(ns) : ns >= 1e9 ? (ns / 1e9).toFixed(2) + ' s' :
    ns >= 1e6 ? (ns / 1e6).toFixed(1) + ' ms' : ns >= 1e4 ? (ns / 1e3).toFixed(0) + ' µs' : ns + ' ns';
const plural = (n, one) => number(n) + ' ' + one + (n === 1 ? '' : 's');

// A name as one line, as text_writer::name(): control characters as their pictures, and none that changes the direction.
const oneLine = text => text.replace(/[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]/g,
    c => c > '\x7f' ? '\ufffd' : String.fromCharCode(c === '\x7f' ? 0x2421 : 0x2400 + c.charCodeAt(0)));
const plain = text => text === '' ? '(no name)' : oneLine(text);
const isolated = text => '\u2068' + plain(text) + '\u2069'; // in a text; an element has <bdi>
const bdi = text => el('bdi', {}, plain(text));

const cell = (n, text) => el('td', {'data-value': n}, text);
const bytesCell = n => cell(n, n === 0 ? '0' : bytes(n));
const countCell = n => cell(n, number(n));
const nameOf = text => el('span', {class: 'name', title: plain(text)}, plain(text));
const bar = (part, whole, kind) => el('span', {class: 'bar', title: percent(part, whole)},
    el('i', {class: kind, style: 'width:' + (whole === 0 ? 0 : Math.min(100, part / whole * 100)) + '%'}));
function table(caption, head, rows, attributes) {
  return el('div', {class: 'wide'}, el('table', attributes, el('caption', {}, caption),
      el('thead', {}, el('tr', {}, head.map(h => el('th', {scope: 'col'}, h)))), rows instanceof Element ? rows : el('tbody', {}, rows)));
}
const facts = list => el('dl', {class: 'facts'},
    list.filter(f => f).map(([name, text]) => el('div', {}, el('dt', {}, name), el('dd', {}, text))));
const legend = list => el('ul', {class: 'legend'},
    list.map(([look, text]) => el('li', {}, el('i', look.startsWith('var') ? {style: 'background:' + look} : {class: look}), text)));
// Draws into an element: `draw` makes what is in it. Where it fails, the element says so.
function fill(element, draw) {
  try {
    element.append(...draw().filter(c => c));
  } catch (e) {
    element.append(el('p', {class: 'failed'}, `The script of this page could not draw this: ${e.message}. The numbers are in the file, as JSON.`));
  }
  return element;
}
function section(title, draw) {
  document.querySelector('main').append(fill(el('section', {}, el('h2', {}, title)), draw));
}

// ---- row managers ----
function rowTypes(r) {
  const types = new Map();
  const add = (list, when) => list.forEach(t => {
    const row = types.get(t.type) || {type: t.type, now: {rows: 0, bytes: 0}, peak: {rows: 0, bytes: 0}};
    row[when].rows += t.rows; row[when].bytes += t.bytes; // several types may have one name
    types.set(t.type, row);
  });
  add(r.now.types, 'now');
  if (r.at_peak) add(r.at_peak.types, 'peak');
  if (types.size === 0) return null;
  const sorted = [...types.values()].sort((a, b) => Math.max(b.now.bytes, b.peak.bytes) - Math.max(a.now.bytes, a.peak.bytes));
  const most = sorted.reduce((n, t) => Math.max(n, t.now.bytes, t.peak.bytes), 0), top = sorted.slice(0, 20);
  const caption = 'row types' + (r.at_peak ? ', now and when ' + bytes(r.at_peak.charged) + ' were charged' : ' now') +
      (r.now.exact && (!r.at_peak || r.at_peak.exact) ? '' : ' (estimated)') + (sorted.length > 20 ? `; the 20 largest of ${sorted.length}` : '');
  return table(caption, ['row type', 'rows', 'bytes', '', ...(r.at_peak ? ['rows at the peak', 'bytes at the peak', ''] : [])],
    top.map(t => el('tr', {}, el('th', {scope: 'row'}, nameOf(t.type)), countCell(t.now.rows), bytesCell(t.now.bytes), el('td', {}, bar(t.now.bytes, most)),
      ...(r.at_peak ? [countCell(t.peak.rows), bytesCell(t.peak.bytes), el('td', {}, bar(t.peak.bytes, most))] : []))), {class: 'types'});
}
const pageKinds = [['untouched', 'never used'], ['free', 'free'], ['free_dirty', 'free, may hold memory'], ['slots', 'rows, darker the fuller'],
  ['huge', 'huge rows'], ['other', 'of another owner']];
const tint = tenths => `fill:color-mix(in srgb, var(--page-10) ${tenths * 10}%, var(--page-0))`;
// The map: a cell for each page, or for several where there would be more than 8192. Each line has 128 cells. Long
// stretches that were never used are left out, and counted.
function pageMap(p) {
  const count = {}, parts = []; // parts: [first, behind the last] of what is drawn
  for (const r of p.runs) {
    count[r.kind] = (count[r.kind] || 0) + r.pages;
    if (r.kind === 'untouched') continue;
    const before = parts[parts.length - 1];
    if (before && r.first - before[1] <= 256) before[1] = r.first + r.pages; else parts.push([r.first, r.first + r.pages]);
  }
  const drawn = parts.reduce((n, [first, end]) => n + end - first, 0), each = Math.max(1, Math.ceil(drawn / 8192)), across = 128, size = 8;
  const kinds = Object.fromEntries(pageKinds), order = ['other', 'huge', 'slots', 'free_dirty', 'free', 'untouched'];
  const figure = el('figure', {});
  let at = 0, behind = 0; // of p.runs; behind the last part
  // What a cell shows of pages [first, end): the first kind of `order`, and how full its pages of slots are.
  function look(first, end) {
    let best = null, full = 0, pages = 0;
    for (let k = at; k < p.runs.length && p.runs[k].first < end; ++k) {
      const r = p.runs[k], n = Math.min(r.first + r.pages, end) - Math.max(r.first, first);
      if (n <= 0) continue;
      if (r.kind === 'slots') { full += r.tenths * n; pages += n; }
      if (!best || order.indexOf(r.kind) < order.indexOf(best.kind)) best = r;
    }
    return {kind: best.kind, run: each === 1 && best.kind === 'huge' ? best.first : 0, tenths: pages ? Math.round(full / pages) : 0};
  }
  const gap = pages => { if (pages > 0) figure.append(el('p', {class: 'quiet'}, plural(pages, 'page') + ' never used')); };
  for (const [begin, end] of parts) {
    gap(begin - behind);
    behind = end;
    const cells = Math.ceil((end - begin) / each), lines = Math.ceil(cells / across);
    const svg = el('svg', {class: 'pages', viewBox: `0 0 ${across * size} ${lines * size}`, role: 'img', 'aria-label': `map of pages ${begin} to ${end - 1}`});
    for (let i = 0, n = 1; i < cells; i += n, n = 1) { // cells that look alike, of one line, are one rectangle
      const first = begin + i * each;
      while (p.runs[at].first + p.runs[at].pages <= first) ++at;
      const a = look(first, Math.min(end, first + each));
      for (; i + n < cells && (i + n) % across !== 0; ++n) {
        const b = look(begin + (i + n) * each, Math.min(end, begin + (i + n + 1) * each));
        if (b.kind !== a.kind || b.tenths !== a.tenths || b.run !== a.run) break;
      }
      const last = Math.min(end, begin + (i + n) * each) - 1;
      svg.append(el('rect', {class: a.kind, 'data-pages': first + ' ' + last, style: a.kind === 'slots' ? tint(a.tenths) : null, x: i % across * size, y: Math.floor(i / across) * size,
        width: n * size, height: size}, el('title', {}, `page${last > first ? 's ' + first + ' to ' + last : ' ' + first}: ` +
          (a.kind === 'slots' ? `rows, ${a.tenths * 10} % of the slots in use` : kinds[a.kind]))));
    }
    figure.append(svg);
  }
  gap(p.pages - behind);
  figure.append(legend([['slots', 'var(--page-0)', 'rows, few slots in use'], ['slots', 'var(--page-10)', 'rows, all slots in use'], ['huge', 'var(--huge)', 'huge rows'],
      ['free_dirty', 'var(--idle)', 'free, may hold memory'], ['free', 'var(--line)', 'free'], ['other', 'var(--other)', 'of another owner'],
      ['untouched', 'var(--panel)', 'never used']].filter(([kind]) => drawn && count[kind]).map(([, look, text]) => [look, text])),
    table(`pages of ${bytes(p.page_bytes)} in arena ${isolated(p.arena)}` + (each > 1 ? `; a cell of the map is ${each} pages` : ''), ['pages', 'number', 'bytes'],
      pageKinds.filter(([k]) => count[k]).map(([k, text]) => el('tr', {}, el('th', {scope: 'row'}, text.replace(', darker the fuller', '')), countCell(count[k]),
        bytesCell(count[k] * p.page_bytes))), {class: 'page-kinds'}));
  return figure;
}
function rowManager(r, pages) {
  return [facts([['limit', limitText(r.limit)], ['charged', bytes(r.charged)], ['peak', bytes(r.peak)], ['live rows', number(r.live_rows)],
      ['live bytes', bytes(r.live_bytes)], ['live of charged', r.live_percent_of_charged + ' %'], ['resident in the whole arena', bytes(r.arena.resident)],
      ['largest free run of the arena', bytes(r.arena.largest_free_run)]]), rowTypes(r), pages ? pageMap(pages) : null,
    r.heaps.length ? el('details', {}, el('summary', {}, plural(r.heaps.length, 'heap')), table('heaps', ['heap', 'row type', 'slot bytes', 'live rows', 'cached rows', 'pages', 'bytes'],
      r.heaps.map(h => el('tr', {}, el('th', {scope: 'row'}, nameOf(h.name)), el('td', {}, nameOf(h.type || 'many')), countCell(h.slot_bytes), countCell(h.live_rows),
        countCell(h.cached_rows), countCell(h.pages), bytesCell(h.bytes))), {class: 'heaps'})) : null];
}

// ---- chunk arenas ----
function chunkArena(c) {
  const most = c.classes.reduce((n, k) => Math.max(n, (k.live + k.cached) * k.bytes), 1);
  return [facts([['limit', limitText(c.limit)], ['charged', bytes(c.charged)], ['peak', bytes(c.peak)], ['live', bytes(c.live)], ['live blocks', number(c.live_blocks)],
      ['cached', bytes(c.cached)], ['free', bytes(c.free)], ['largest free run', bytes(c.largest_free_run)], ['waste', c.waste_percent + ' %'], ['refused', number(c.refused)]]),
    c.classes.length ? el('details', {open: c.classes.length <= 24 && c.live + c.cached > 0}, el('summary', {}, c.classes.length === 1 ? '1 class of blocks' : number(c.classes.length) + ' classes of blocks'),
      table('blocks by their class', ['block', 'live', 'live bytes', '', 'cached', 'cached bytes', '', 'allocations'],
      c.classes.map(k => el('tr', {}, el('th', {scope: 'row'}, bytes(k.bytes)), countCell(k.live), bytesCell(k.live * k.bytes), el('td', {}, bar(k.live * k.bytes, most)),
        countCell(k.cached), bytesCell(k.cached * k.bytes), el('td', {}, bar(k.cached * k.bytes, most, 'resting')), countCell(k.allocations))), {class: 'classes'})) : null];
}

// ---- the page ----
function drawPage() {
  document.getElementById('cut').hidden = document.getElementById('whole') !== null; // what follows may fail, and the file be whole
  const main = document.querySelector('main'), data = [];
  for (const s of document.querySelectorAll('script[data-kind]')) {
    try {
      data.push({kind: s.dataset.kind, id: s.id, missing: Number(s.dataset.missing || 0), json: parsed(s.textContent)});
    } catch (e) { // often the page was cut inside of it, and the notice at its top says so
      main.append(el('p', {class: 'failed'}, `The data of ${s.dataset.kind} cannot be read: ${e.message}.`));
    }
  }
  const of = kind => data.filter(d => d.kind === kind);
  const trees = []; // of each root: at its peak, now
  for (const d of [...of('peak'), ...of('accounts')].filter(d => d.json.name !== undefined)) {
    const same = trees.find(t => d.json.tree && d.json.tree === t[0].json.tree && !t.some(o => o.kind === d.kind));
    if (same) same.push(d); else trees.push([d]);
  }
  main.append(...document.querySelectorAll('section.report')); // first
  for (const d of of('timeline'))
    if (d.json.samples.length || d.json.marks.length)
      section(['Memory over time', ...(d.json.account ? [': ', bdi(d.json.account.name)] : [])], () => [timeline(d.json, d.id)]);
  for (const t of trees) section(['Accounts of ', bdi(t[t.length - 1].json.path || t[t.length - 1].json.name)], () => [accountViews(t)]);
  for (const pre of document.querySelectorAll('section.report pre')) linkReport(pre, trees);
  const list = (title, all, name, draw) => {
    if (all.length) section(title, () => all.map((d, i) => fill(el('details', {open: all.length <= 3 || i === 0, 'data-source': d.id},
      el('summary', {}, el('h3', {}, bdi(name(d))), ' ' + bytes(d.json.charged) + ' charged')), () => draw(d))));
  };
  const maps = of('pages');
  list('Row managers', of('rows'), d => d.json.account || d.json.manager, d => rowManager(d.json, (maps.find(m => m.id === d.id + '-pages') || {}).json));
  list('Chunk arenas', of('chunks'), d => d.json.account || d.json.chunk_arena, d => chunkArena(d.json));
  if (!main.firstElementChild) main.append(el('p', {}, 'The program gave this page nothing to show.'));
}
document.addEventListener('DOMContentLoaded', drawPage);
)js";

} // namespace detail
} // namespace allot::inline ALLOT_ABI
