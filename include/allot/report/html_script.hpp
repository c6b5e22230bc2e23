// The script of html_page: fixed text, which draws the JSON that is embedded in the page. It needs no library and no
// network, and changes nothing but the page.
//
// Each <script type="application/json" data-kind=KIND> is one report: accounts, peak, timeline, rows, pages, chunks.
// Cells of tables have the number that they show in data-value, so a test can compare them with the JSON.
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
  e.append(...children.filter(c => c != null));
  return e;
}
// As text_writer::bytes() of allot: "1.50 GiB" for whole KiB and from 1 MiB on, "1234 bytes" otherwise.
function bytes(n) {
  if (n < 1024 || (n < 1048576 && n % 1024 !== 0)) return n + (n === 1 ? ' byte' : ' bytes');
  let unit = 0, scale = 1024;
  for (; n / scale >= 1024 && unit < 5; ++unit) scale *= 1024;
  const steps = Math.floor((n % scale) / (scale / 1024));
  let whole = Math.floor(n / scale), hundredths = Math.floor((steps * 100 + 512) / 1024);
  if (hundredths === 100) { ++whole; hundredths = 0; }
  return whole + (n % scale !== 0 ? '.' + String(hundredths).padStart(2, '0') : '') +
      [' KiB', ' MiB', ' GiB', ' TiB', ' PiB', ' EiB'][unit];
}
const unlimited = n => n >= 2 ** 63;
const limitText = n => unlimited(n) ? 'none' : bytes(n);
const number = n => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
const percent = (part, whole) => whole === 0 ? '' : (part / whole * 100).toFixed(1) + ' %';
const seconds = ns => ns === 0 ? '0' : ns >= 1e9 ? (ns / 1e9).toFixed(2) + ' s' : ns >= 1e6 ? (ns / 1e6).toFixed(1) + ' ms' : ns >= 1e4 ? (ns / 1e3).toFixed(0) + ' µs' : ns + ' ns';
const plural = (n, one) => number(n) + ' ' + one + (n === 1 ? '' : 's');

const cell = (n, text) => el('td', {'data-value': n}, text);
const bytesCell = n => cell(n, n === 0 ? '0' : bytes(n));
const countCell = n => cell(n, number(n));
const nameOf = text => el('span', {class: 'name', title: text}, text === '' ? '(no name)' : text);
const bar = (part, whole, kind) => el('span', {class: 'bar', title: percent(part, whole)},
    el('i', {class: kind, style: 'width:' + (whole === 0 ? 0 : Math.min(100, part / whole * 100)) + '%'}));
function table(caption, head, rows, attributes) {
  return el('div', {class: 'wide'}, el('table', attributes, el('caption', {}, caption),
      el('thead', {}, el('tr', {}, ...head.map(h => el('th', {scope: 'col'}, h)))), el('tbody', {}, ...rows)));
}
const facts = list => el('dl', {class: 'facts'},
    ...list.filter(f => f).map(([name, text]) => el('div', {}, el('dt', {}, name), el('dd', {}, text))));
const legend = list => el('ul', {class: 'legend'},
    ...list.map(([look, text]) => el('li', {}, el('i', look.startsWith('var') ? {style: 'background:' + look} : {class: look}), text)));
function section(title, id, ...content) {
  document.querySelector('main').append(el('section', {id}, el('h2', {}, title), ...content));
}

// ---- accounts: a flame graph with the root on top, and a table that folds ----
// The tree as a list, parents first, of each parent the largest first. `taken` is what an account takes of its parent: what it uses, or its reservation.
function listed(root) {
  const all = [];
  (function walk(node, depth, parent) {
    const a = {...node, depth, parent, path: parent ? parent.path + ' / ' + node.name : node.name, below: []};
    all.push(a);
    if (parent) parent.below.push(a);
    [...node.children].sort((x, y) => y.used - x.used).forEach(c => walk(c, depth + 1, a));
  })(root, 0, null);
  for (const a of [...all].reverse())
    a.taken = Math.max(a.subtree_charge, a.used, a.own + a.below.reduce((sum, c) => sum + c.taken, 0));
  return all;
}
function describe(a, root) {
  const lines = [a.path, bytes(a.used) + ' used' + (root.used ? ', ' + percent(a.used, root.used) + ' of ' + root.name : ''),
    'own ' + bytes(a.own) + ', peak ' + bytes(a.peak) + ', limit ' + limitText(a.limit)];
  if (a.taken > a.used) lines.push(bytes(a.taken - a.used) + ' reserved or granted, not used');
  if (a.refused) lines.push(plural(a.refused, 'request') + ' refused at its limit');
  if (a.beyond) lines.push(plural(a.beyond, 'charge') + ' beyond its limit, by force');
  if (a.waiting) lines.push(plural(a.waiting, 'request') + ' waiting');
  if (a.spilled) lines.push(bytes(a.spilled) + ' spilled');
  return lines.join('\n');
}
const stateOf = a => a.refused > 0 ? 'refused' : !unlimited(a.limit) && a.limit > 0 && a.used >= a.limit * .9 ? 'near' : '';
function icicle(all) {
  const box = el('div', {class: 'icicle', role: 'group', 'aria-label': 'flame graph of accounts'});
  const height = 26, least = .25; // pixels of a level; percent below which accounts share a box
  function draw(top, focus) {
    box.replaceChildren();
    const path = [];
    for (let a = top.parent; a; a = a.parent) path.unshift(a);
    let levels = 0, kept = null;
    const add = (a, left, width, level, kind, text, title, zoom) => {
      levels = Math.max(levels, level + 1);
      const b = el('button', {type: 'button', class: 'box ' + kind, title, onclick: () => draw(zoom, zoom),
        style: `left:${left}%;width:${width}%;top:${level * height}px`, 'data-account': a ? a.path : null},
        el('span', {}, width < 3 ? '' : text)); // the title has it
      if (a && a.taken > a.used)
        b.prepend(el('i', {style: `width:${(a.taken - a.used) / a.taken * 100}%`}));
      box.append(b);
      if (a && a === focus) kept = b;
    };
    const put = (a, left, scale, level, second) => {
      add(a, left, a.taken * scale, level, stateOf(a) || (second ? 'second' : ''), a.name + '  ' + bytes(a.used), describe(a, all[0]),
          a === top && a.parent ? a.parent : a);
      let at = left, rest = [], i = 0;
      for (const c of [...a.below].sort((x, y) => y.taken - x.taken)) {
        if (c.taken * scale < least) { if (c.taken) rest.push(c); continue; }
        put(c, at, scale, level + 1, ++i % 2 === 0 ? !second : second);
        at += c.taken * scale;
      }
      const sum = rest.reduce((n, c) => n + c.taken, 0);
      if (sum * scale >= least / 2)
        add(null, at, sum * scale, level + 1, 'rest', plural(rest.length, 'smaller account'),
            plural(rest.length, 'smaller account') + ': ' + bytes(sum) + '\n' + rest.slice(0, 12).map(c => c.name + ' ' + bytes(c.taken)).join('\n'), a);
    };
    path.forEach((a, i) => add(a, 0, 100, i, stateOf(a), a.name + '  ' + bytes(a.used), describe(a, all[0]), a));
    if (top.taken) put(top, 0, 100 / top.taken, path.length, false);
    box.style.height = levels * height + 'px';
    if (kept) kept.focus({preventScroll: true});
  }
  draw(all[0], null);
  return el('figure', {}, box, el('figcaption', {}, 'Width: bytes. A part of a box without a box below it is the account’s own. ' +
      'Select a box to enlarge it, once more to go back.'),
    legend([['var(--used)', 'used'], ['var(--near)', 'at least 90 % of its limit'], ['var(--refused)', 'requests were refused at its limit'],
      ['reserved', 'reserved or granted, not used']]));
}
function accountTable(all, caption) {
  const beyond = all.some(a => a.beyond), isLong = all.length > 60;
  const rows = all.map(a => {
    const fold = a.below.length === 0 ? el('span', {class: 'fold', style: 'display:inline-block'}) :
        el('button', {type: 'button', class: 'fold', 'aria-expanded': 'true', 'aria-label': 'accounts below ' + a.name}, '▾');
    const tr = el('tr', {'data-account': a.path},
      el('th', {scope: 'row', style: `padding-left:${.3 + a.depth * 1.1}rem`}, fold, nameOf(a.name)),
      bytesCell(a.used), el('td', {}, bar(a.used, all[0].used)), bytesCell(a.own), bytesCell(a.peak), cell(a.limit, limitText(a.limit)),
      bytesCell(a.reservation), bytesCell(a.spilled), countCell(a.waiting), countCell(a.refused), beyond ? countCell(a.beyond) : null);
    a.row = tr;
    a.open = open => {
      fold.setAttribute('aria-expanded', open);
      if (a.below.length) fold.textContent = open ? '▾' : '▸';
      a.folded = !open;
    };
    fold.addEventListener('click', () => { a.open(a.folded); show(); });
    return tr;
  });
  const find = el('input', {type: 'search', placeholder: 'find a name', 'aria-label': 'find a name', oninput: () => show()});
  function show() {
    const text = find.value.toLowerCase();
    const hits = new Set();
    if (text) for (const a of all) if (a.name.toLowerCase().includes(text)) for (let p = a; p; p = p.parent) hits.add(p);
    for (const a of all) {
      let hidden = false;
      for (let p = a.parent; p && !hidden; p = p.parent) hidden = p.folded;
      a.row.hidden = text ? !hits.has(a) : hidden;
    }
  }
  const foldAll = deep => { all.forEach(a => a.open(a.below.length === 0 || a.depth < deep)); show(); };
  foldAll(isLong ? 1 : Infinity);
  return el('div', {}, el('div', {class: 'tools'}, el('button', {type: 'button', onclick: () => foldAll(Infinity)}, 'unfold all'),
      el('button', {type: 'button', onclick: () => foldAll(1)}, 'fold all'), find),
    table(caption, ['account', 'used', '', 'own', 'peak', 'limit', 'reserved', 'spilled', 'waiting', 'refused', ...(beyond ? ['beyond its limit'] : [])], rows, {class: 'accounts'}));
}
function accountViews(trees) { // [{kind, json, missing}] of one root
  const views = trees.map(t => {
    const what = t.kind === 'peak' ? 'at the peak' : 'now', all = listed(t.json);
    const caption = plural(all.length, 'account') + ' ' + what + (t.missing ? '; ' + plural(t.missing, 'more account') + ' had no line in the copy' : '');
    return {what, view: el('div', {'data-view': t.kind, 'data-source': t.id},
      all[0].taken ? icicle(all) : el('p', {class: 'quiet'}, 'Nothing is charged ' + what + '.'), accountTable(all, caption))};
  });
  const buttons = views.map(v => el('button', {type: 'button', onclick: () => choose(v)}, v.what));
  function choose(v) {
    views.forEach((o, i) => { o.view.hidden = o !== v; buttons[i].setAttribute('aria-pressed', o === v); });
  }
  choose(views[0]);
  return el('div', {}, views.length > 1 ? el('div', {class: 'tools', role: 'group', 'aria-label': 'moment'}, ...buttons) : null, ...views.map(v => v.view));
}
)js"
                                                R"js(
// ---- memory over time ----
function timeline(line, limit, source) {
  const all = line.samples, end = Math.max(1, ...all.map(s => s.ns), ...line.marks.map(m => m.ns));
  const most = name => all.reduce((n, s) => Math.max(n, s[name] || 0), 0);
  const has = name => all.some(s => s[name] !== undefined);
  const charged = most('charged'), resident = most('resident'), spilled = most('spilled');
  const shownLimit = limit && limit <= 3 * Math.max(charged, resident) ? limit : 0;
  const high = Math.max(charged, resident, shownLimit, 1) * 1.04;
  const kinds = ['wait', 'rollback', 'split', 'refusal', 'spill', 'note'].filter(k => line.marks.some(m => m.kind === k));
  const left = 92, right = 12, upper = 8, body = 240, lane = 18, low = has('spilled') && spilled ? 70 : 0;
  const holder = el('figure', {class: 'timeline'});
  const tip = document.getElementById('tip');
  const sum = kind => line.marks.reduce((n, m) => n + (m.kind === kind ? m.count : 0), 0);
  function steps(name, x, y) {
    let d = '', before = false;
    all.forEach((s, i) => {
      const v = s[name];
      if (v === undefined) { before = false; return; }
      d += (before ? 'V' + y(v).toFixed(1) : 'M' + x(s.ns).toFixed(1) + ' ' + y(v).toFixed(1)) + 'H' + x(i + 1 < all.length ? all[i + 1].ns : end).toFixed(1);
      before = true;
    });
    return d;
  }
  // Distances of grid lines: of bytes a power of two, of time 1, 2 or 5 times a power of ten.
  const byteStep = (n, lines) => 2 ** Math.max(0, Math.ceil(Math.log2(n / lines)));
  function timeStep(n) { const p = 10 ** Math.max(0, Math.floor(Math.log10(n / 8))); return [1, 2, 5, 10].map(f => f * p).find(s => n / s <= 8) || 10 * p; }
  function draw() {
    const width = Math.max(360, holder.clientWidth || 1000), lanes = upper + body + 24 + (low ? low + 14 : 0), height = lanes + kinds.length * lane + 6;
    const x = ns => left + ns / end * (width - left - right), y = n => upper + body * (1 - n / high);
    const svg = el('svg', {viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: 'img',
      'aria-label': `charged at most ${bytes(charged)} in ${seconds(end)}; arrow keys move through the samples`});
    const grid = (y1, n, text) => svg.append(el('line', {class: 'grid', x1: left, x2: width - right, y1, y2: y1}),
        el('text', {x: left - 6, y: y1 + 4, 'text-anchor': 'end'}, text));
    for (let n = 0, by = byteStep(high, 6); n <= high; n += by) grid(y(n), n, n === 0 ? '0' : bytes(n));
    for (let t = 0, by = timeStep(end); t <= end; t += by)
      svg.append(el('line', {class: 'grid', x1: x(t), x2: x(t), y1: upper, y2: height - 6}),
          el('text', {x: x(t), y: upper + body + 14, 'text-anchor': 'middle'}, seconds(t).replace(/\.0+ /, ' ')));
    if (all.length) {
      svg.append(el('path', {class: 'area', d: steps('charged', x, y) + `V${y(0)}H${x(all[0].ns)}Z`}));
      if (has('resident')) svg.append(el('path', {class: 'line resident', d: steps('resident', x, y)}));
      svg.append(el('path', {class: 'line charged', d: steps('charged', x, y)}));
    }
    if (shownLimit) svg.append(el('line', {class: 'limit', x1: left, x2: width - right, y1: y(shownLimit), y2: y(shownLimit)}));
    if (low) {
      const base = upper + body + 24 + low, z = n => base - low * n / spilled;
      grid(base, 0, '0'); grid(z(spilled), spilled, bytes(spilled));
      svg.append(el('text', {x: left + 4, y: base - low + 12}, 'spilled so far'), el('path', {class: 'line spilled', d: steps('spilled', x, z)}));
    }
    kinds.forEach((kind, i) => {
      const top = lanes + i * lane;
      svg.append(el('text', {x: left - 6, y: top + 13, 'text-anchor': 'end'}, `${kind}: ${number(sum(kind))}`));
      for (const m of line.marks) if (m.kind === kind)
        svg.append(el('rect', {class: 'tick ' + kind, x: x(m.ns) - 1, y: top + 3, width: 2.5, height: lane - 6},
            el('title', {}, `${seconds(m.ns)}: ${plural(m.count, kind)}${m.text ? ', ' + (m.count > 1 ? 'the first: ' : '') + m.text : ''}`)));
    });
    const cross = el('line', {class: 'cross', y1: upper, y2: height - 6, visibility: 'hidden'});
    svg.append(cross);
    let at = -1;
    function point(i, px, py) {
      at = Math.min(all.length - 1, Math.max(0, i));
      const s = all[at];
      if (!s) return;
      cross.setAttribute('x1', x(s.ns)); cross.setAttribute('x2', x(s.ns)); cross.setAttribute('visibility', 'visible');
      tip.textContent = [seconds(s.ns), 'charged ' + bytes(s.charged), s.resident !== undefined ? 'resident ' + bytes(s.resident) : '',
        s.spilled !== undefined ? 'spilled so far ' + bytes(s.spilled) : ''].filter(t => t).join('\n');
      tip.hidden = false;
      tip.style.left = Math.min(px + 14, innerWidth - 190) + 'px'; tip.style.top = py + 14 + 'px';
    }
    const hide = () => { tip.hidden = true; cross.setAttribute('visibility', 'hidden'); };
    svg.addEventListener('pointermove', e => {
      const ns = (e.clientX - svg.getBoundingClientRect().left - left) / (width - left - right) * end;
      let lo = 0, hi = all.length;
      while (lo < hi) { const mid = (lo + hi) >> 1; if (all[mid].ns <= ns) lo = mid + 1; else hi = mid; }
      point(lo - 1, e.clientX, e.clientY);
    });
    svg.addEventListener('pointerleave', hide); svg.addEventListener('blur', hide);
    svg.addEventListener('keydown', e => {
      const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50}[e.key];
      if (!by || !all.length) return;
      e.preventDefault();
      const r = svg.getBoundingClientRect();
      point(at + by, r.left + x(all[Math.min(all.length - 1, Math.max(0, at + by))].ns), r.top + upper);
    });
    holder.replaceChildren(svg, legend([['var(--charged)', 'charged'], has('resident') ? ['var(--resident)', 'resident (dashed)'] : null,
      low ? ['var(--spilled)', 'spilled so far (dotted)'] : null, shownLimit ? ['var(--limit)', 'limit ' + bytes(limit)] : null].filter(l => l)));
  }
  let drawn = 0;
  new ResizeObserver(() => { if (holder.clientWidth !== drawn) { drawn = holder.clientWidth; draw(); } }).observe(holder);
  draw();
  const row = (name, n) => el('tr', {}, el('th', {scope: 'row'}, name), bytesCell(n));
  return el('div', {'data-source': source}, holder, el('details', {}, el('summary', {}, 'in numbers'),
    table('most bytes, over ' + seconds(end) + (line.interval_ns ? '; a sample is the most of ' + seconds(line.interval_ns) : ''), ['', 'at most'],
      [row('charged', charged), has('resident') ? row('resident', resident) : null, has('spilled') ? row('spilled so far', spilled) : null].filter(r => r), {class: 'most'}),
    kinds.length ? table('marks', ['', 'number'], kinds.map(k => el('tr', {}, el('th', {scope: 'row'}, k), countCell(sum(k)))), {class: 'marks'}) : null));
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
  const most = Math.max(...sorted.map(t => Math.max(t.now.bytes, t.peak.bytes))), top = sorted.slice(0, 20);
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
  figure.append(legend([['var(--page-0)', 'rows, few slots in use'], ['var(--page-10)', 'rows, all slots in use'], ['var(--huge)', 'huge rows'],
      ['var(--idle)', 'free, may hold memory'], ['var(--line)', 'free'], ['var(--other)', 'of another owner'], ['var(--panel)', 'never used']]),
    table(`pages of ${bytes(p.page_bytes)} in arena ${p.arena}` + (each > 1 ? `; a cell of the map is ${each} pages` : ''), ['pages', 'number', 'bytes'],
      pageKinds.filter(([k]) => count[k]).map(([k, text]) => el('tr', {}, el('th', {scope: 'row'}, text.replace(', darker the fuller', '')), countCell(count[k]),
        bytesCell(count[k] * p.page_bytes))), {class: 'page-kinds'}));
  return figure;
}
function rowManager(r, pages) {
  return [facts([['limit', limitText(r.limit)], ['charged', bytes(r.charged)], ['peak', bytes(r.peak)], ['live rows', number(r.live_rows)],
      ['live bytes', bytes(r.live_bytes)], ['live of charged', r.live_percent_of_charged + ' %'], ['resident', bytes(r.arena.resident)],
      ['largest free run', bytes(r.arena.largest_free_run)]]), rowTypes(r), pages ? pageMap(pages) : null,
    r.heaps.length ? el('details', {}, el('summary', {}, plural(r.heaps.length, 'heap')), table('heaps', ['heap', 'row type', 'slot bytes', 'live rows', 'cached rows', 'pages', 'bytes'],
      r.heaps.map(h => el('tr', {}, el('th', {scope: 'row'}, nameOf(h.name)), el('td', {}, nameOf(h.type || 'many')), countCell(h.slot_bytes), countCell(h.live_rows),
        countCell(h.cached_rows), countCell(h.pages), bytesCell(h.bytes))), {class: 'heaps'})) : null];
}

// ---- chunk arenas ----
function chunkArena(c) {
  const most = Math.max(1, ...c.classes.map(k => (k.live + k.cached) * k.bytes));
  return [facts([['limit', limitText(c.limit)], ['charged', bytes(c.charged)], ['peak', bytes(c.peak)], ['live', bytes(c.live)], ['live blocks', number(c.live_blocks)],
      ['cached', bytes(c.cached)], ['free', bytes(c.free)], ['largest free run', bytes(c.largest_free_run)], ['waste', c.waste_percent + ' %'], ['refused', number(c.refused)]]),
    c.classes.length ? el('details', {open: c.classes.length <= 24 && c.live + c.cached > 0}, el('summary', {}, c.classes.length + ' classes of blocks'),
      table('blocks by their class', ['block', 'live', 'live bytes', '', 'cached', 'cached bytes', '', 'allocations'],
      c.classes.map(k => el('tr', {}, el('th', {scope: 'row'}, bytes(k.bytes)), countCell(k.live), bytesCell(k.live * k.bytes), el('td', {}, bar(k.live * k.bytes, most)),
        countCell(k.cached), bytesCell(k.cached * k.bytes), el('td', {}, bar(k.cached * k.bytes, most, 'resting')), countCell(k.allocations))), {class: 'classes'})) : null];
}

// ---- the page ----
function drawPage() {
  const main = document.querySelector('main'), data = [];
  for (const s of document.querySelectorAll('script[data-kind]')) {
    try {
      data.push({kind: s.dataset.kind, id: s.id, missing: Number(s.dataset.missing || 0), json: JSON.parse(s.textContent)});
    } catch (e) { // the page was cut inside of it; the notice at its top says so
      main.append(el('p', {class: 'quiet'}, `The data of ${s.dataset.kind} are not whole.`));
    }
  }
  const of = kind => data.filter(d => d.kind === kind);
  const trees = []; // of each root: at its peak, now
  for (const d of [...of('peak'), ...of('accounts')].filter(d => d.json.name !== undefined)) {
    const isRoot = (now, peak) => now === peak || (peak.endsWith('...') && now.startsWith(peak.slice(0, -3))); // a copy cuts names
    const same = trees.find(t => isRoot(d.json.name, t[0].json.name) && !t.some(o => o.kind === d.kind));
    if (same) same.push(d); else trees.push([d]);
  }
  main.append(...document.querySelectorAll('section.report')); // first
  const root = trees.length ? trees[0][trees[0].length - 1].json : null, peak = trees.length ? trees[0][0].json : null;
  if (root) main.append(facts([['limit of ' + (root.name || '(no name)'), limitText(root.limit)], ['peak', bytes(Math.max(root.peak, peak.peak))], ['used now', bytes(root.used)],
    root.spilled ? ['spilled', bytes(root.spilled)] : null, root.refused ? ['refused at its limit', number(root.refused)] : null,
    root.beyond ? ['charged beyond its limit, by force', number(root.beyond)] : null]));
  for (const d of of('timeline'))
    if (d.json.samples.length || d.json.marks.length)
      section('Memory over time', null, timeline(d.json, root && !unlimited(root.limit) ? root.limit : 0, d.id));
  for (const t of trees) section('Accounts of ' + (t[0].json.name || '(no name)'), null, accountViews(t));
  const list = (title, all, name, draw) => {
    if (all.length) section(title, null, ...all.map((d, i) => el('details', {open: all.length <= 3 || i === 0, 'data-source': d.id},
      el('summary', {}, el('h3', {}, name(d)), ' ' + bytes(d.json.charged) + ' charged'), ...draw(d).filter(c => c))));
  };
  const maps = of('pages');
  list('Row managers', of('rows'), d => d.json.manager, d => rowManager(d.json, (maps.find(m => m.id === d.id + '-pages') || {}).json));
  list('Chunk arenas', of('chunks'), d => d.json.chunk_arena, d => chunkArena(d.json));
  if (!main.firstElementChild) main.append(el('p', {}, 'The program gave this page nothing to show.'));
  document.getElementById('cut').hidden = document.getElementById('whole') !== null;
}
document.addEventListener('DOMContentLoaded', drawPage);
)js";

} // namespace detail
} // namespace allot::inline ALLOT_ABI
