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
function parsed(text) {
  const json = JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|\d{16,}/g, t => t[0] === '"' || Number.isSafeInteger(Number(t)) ? t : `{"2^53":"${t}"}`));
  const open = [json];
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
const unlimited = n => String(n) === '18446744073709551615'; // SIZE_MAX
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
const plain = text => text === '' ? '(no name)' : text.replace(/[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]/g,
    c => c > '\x7f' ? '\ufffd' : String.fromCharCode(c === '\x7f' ? 0x2421 : 0x2400 + c.charCodeAt(0)));
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
      el('thead', {}, el('tr', {}, head.map(h => el('th', {scope: 'col'}, h)))), el('tbody', {}, rows)));
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

// ---- accounts: a flame graph with the root on top, and a table that folds ----
// The tree as a list, parents first, of each parent the largest first. `taken` is what an account takes of its parent: what it uses, or its reservation.
function listed(root) {
  const all = [], open = [[root, null]];
  while (open.length) {
    const [node, parent] = open.pop(), depth = parent ? parent.depth + 1 : 0;
    const path = (of, name) => depth === 0 ? name : depth <= 64 ? parent[of] + ' / ' + name : `level ${depth}: ${name}`;
    const a = {...node, depth, parent, path: path('path', node.name), line: path('line', isolated(node.name)), below: []};
    all.push(a);
    if (parent) parent.below.push(a);
    for (const c of [...node.children].sort((x, y) => y.used - x.used).reverse()) open.push([c, a]);
  }
  for (const a of [...all].reverse()) {
    a.taken = Math.max(a.subtree_charge, a.used, a.own + a.below.reduce((sum, c) => sum + c.taken, 0));
    a.charged = a.own + a.below.reduce((sum, c) => sum + c.charged + c.credit, 0);
    a.promised = Math.max(0, a.used - a.charged);
  }
  return all;
}
function describe(a, root) {
  const lines = [a.line, bytes(a.used) + ' used' + (root.used ? ', ' + percent(a.used, root.used) + ' of ' + isolated(root.name) : ''),
    'own ' + bytes(a.own) + ', peak ' + bytes(a.peak) + ', limit ' + limitText(a.limit) + (a.lowered && a.used > a.limit ? ', which was lowered' : '')];
  if (a.promised) lines.push(bytes(a.charged) + ' of that charged, ' + bytes(a.promised) + ' promised to accounts below');
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
  const deepest = 100, before = 20; // levels that are drawn of an account, and above it
  const label = a => [bdi(a.name), bytes(a.used)];
  function draw(top, focus) {
    box.replaceChildren();
    const path = [];
    for (let a = top.parent; a; a = a.parent) path.unshift(a);
    let levels = 0, kept = null;
    const add = (a, left, width, level, kind, text, title, zoom) => {
      levels = Math.max(levels, level + 1);
      const b = el('button', {type: 'button', class: 'box ' + kind, title, onclick: () => draw(zoom, zoom),
        style: `left:${left}%;width:${width}%;top:${level * height}px${width < 3 ? ';padding:0' : ''}`, 'data-account': a ? a.path : null},
        el('span', {}, width < 3 ? '' : typeof text === 'string' ? bdi(text) : text)); // the title has it
      if (a && a.taken > a.used)
        b.prepend(el('i', {style: `width:${(a.taken - a.used) / a.taken * 100}%`}));
      box.append(b);
      if (a && a === focus) kept = b;
    };
    const above = path.length <= before ? path : [path[0], null, ...path.slice(-before)]; // null: those between
    above.forEach((a, i) => a ? add(a, 0, 100, i, stateOf(a), label(a), describe(a, all[0]), a) :
        add(null, 0, 100, i, 'rest', plural(path.length - before - 1, 'level'), 'levels between', path[path.length - before - 1]));
    const scale = 100 / top.taken, open = top.taken ? [[top, 0, above.length, false]] : [];
    while (open.length) {
      const [a, left, level, second] = open.pop();
      add(a, left, a.taken * scale, level, stateOf(a) || (second ? 'second' : ''), label(a), describe(a, all[0]), a === top && a.parent ? a.parent : a);
      const below = [...a.below].sort((x, y) => y.taken - x.taken).filter(c => c.taken);
      const sum = list => list.reduce((n, c) => n + c.taken, 0);
      if (level - above.length >= deepest) {
        if (below.length) add(null, left, sum(below) * scale, level + 1, 'rest', 'deeper levels', 'Deeper levels: select this box to see them.', a);
        continue;
      }
      const boxes = below.filter(c => c.taken * scale >= least), rest = below.slice(boxes.length), next = [];
      let at = left;
      boxes.forEach((c, i) => { next.push([c, at, level + 1, i % 2 !== 0 ? !second : second]); at += c.taken * scale; });
      open.push(...next.reverse()); // at most 400, as each takes `least`
      if (sum(rest) * scale >= least / 2)
        add(null, at, sum(rest) * scale, level + 1, 'rest', plural(rest.length, 'smaller account'),
            plural(rest.length, 'smaller account') + ': ' + bytes(sum(rest)) + '\n' + rest.slice(0, 12).map(c => isolated(c.name) + ' ' + bytes(c.taken)).join('\n'), a);
    }
    box.style.height = levels * height + 'px';
    if (kept) kept.focus({preventScroll: true});
  }
  draw(all[0], null);
  return el('figure', {}, box, el('figcaption', {}, 'Width: bytes. A part of a box without a box below it is the account’s own. ' +
      'Select a box to enlarge it, once more to go back.'),
    legend([['var(--used)', 'used'], ['var(--near)', 'at least 90 % of its limit'], ['var(--refused)', 'requests were refused at its limit'],
      ['reserved', 'reserved or granted, not used'], ['rest', 'smaller accounts together']]));
}
function accountTable(all, caption) {
  const beyond = all.some(a => a.beyond), isLong = all.length > 60;
  const rows = all.map(a => {
    const fold = a.below.length === 0 ? el('span', {class: 'fold', style: 'display:inline-block'}) :
        el('button', {type: 'button', class: 'fold', 'aria-expanded': 'true', 'aria-label': 'accounts below ' + isolated(a.name)}, '▾');
    const tr = el('tr', {'data-account': a.path},
      el('th', {scope: 'row', class: a.depth > 11 ? 'deep' : a.depth > 3 ? 'level' : null, style: `--level:${a.depth}`, 'data-level': a.depth}, fold, nameOf(a.name)),
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
    if (text) for (const a of all) if (a.name.toLowerCase().includes(text)) for (let p = a; p && !hits.has(p); p = p.parent) hits.add(p);
    for (const a of all) {
      const hidden = a.inFold = a.parent !== null && (a.parent.inFold || a.parent.folded);
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
  const now = trees[trees.length - 1].json, first = trees[0].json, larger = (a, b) => b > a ? b : a;
  const views = trees.map(t => {
    const what = t.kind === 'peak' ? 'at the peak' : 'now', all = listed(t.json);
    const caption = plural(all.length, 'account') + ' ' + what + (t.missing ? '; ' + plural(t.missing, 'more account') + ' had no line in the copy' : '');
    return {what, top: all[0], view: el('div', {'data-view': t.kind, 'data-source': t.id},
      all[0].taken ? icicle(all) : el('p', {class: 'quiet'}, 'Nothing is charged ' + what + '.'), accountTable(all, caption))};
  });
  const buttons = views.map(v => el('button', {type: 'button', onclick: () => choose(v)}, v.what));
  function choose(v) {
    views.forEach((o, i) => { o.view.hidden = o !== v; buttons[i].setAttribute('aria-pressed', o === v); });
  }
  choose(views[0]);
  const most = trees.find(t => t.kind === 'peak' && t.json.promised), top = views[views.length - 1].top;
  const parts = most ? [[`charged at most, of ${limitText(now.limit)}`, bytes(most.json.charged)], [`promised at the peak, of ${limitText(now.limit)}`, bytes(most.json.promised)]] :
      top.promised ? [['charged now', bytes(top.charged)], ['promised now', bytes(top.promised)]] : [];
  return el('div', {}, facts([['limit' + (now.lowered ? ', lowered below what was used' : ''), limitText(now.limit)], ...parts,
      [parts.length ? 'peak of both' : 'peak', bytes(larger(now.peak, first.peak))], trees.some(t => t.kind === 'accounts') ? ['used now', bytes(now.used)] : null,
      now.spilled ? ['spilled', bytes(now.spilled)] : null, now.refused ? ['refused at its limit', number(now.refused)] : null,
      now.beyond ? [`calls with force that exceeded the limit${parts.length ? ', with what was promised' : ''}`, number(now.beyond)] : null]), views.length > 1 ? el('div', {class: 'tools', role: 'group', 'aria-label': 'moment'}, ...buttons) : null, ...views.map(v => v.view));
}
)js"
                                                R"js(
// ---- memory over time ----
function timeline(line, source) {
  const all = line.samples, limit = line.account && !unlimited(line.account.limit) ? line.account.limit : 0;
  const end = line.marks.reduce((n, m) => Math.max(n, m.ns), all.reduce((n, s) => Math.max(n, s.ns), 1));
  const most = name => all.reduce((n, s) => Math.max(n, s[name] || 0), 0);
  const has = name => all.some(s => s[name] !== undefined);
  const charged = most('charged'), resident = most('resident'), spilled = most('spilled'), promised = most('promised');
  const shownLimit = limit && limit <= 3 * Math.max(charged, resident, promised) ? limit : 0;
  const high = Math.max(charged, resident, promised, shownLimit, 1) * 1.04;
  const kinds = ['wait', 'rollback', 'split', 'refusal', 'spill', 'note'].filter(k => line.marks.some(m => m.kind === k));
  const heading = kind => `${kind}: ${number(sum(kind))}`;
  const left = 16 + 6 * kinds.reduce((n, kind) => Math.max(n, heading(kind).length), 10), right = 12, upper = 8, body = 240, lane = 18, low = has('spilled') && spilled ? 70 : 0;
  const holder = el('figure', {class: 'timeline'});
  const tip = document.getElementById('tip');
  function sum(kind) { return line.marks.reduce((n, m) => n + (m.kind === kind ? m.count : 0), 0); }
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
  // Distances of grid lines: of bytes a power of two, of time 1, 2 or 5 times a power of ten, or as clocks have it.
  const byteStep = (n, lines) => 2 ** Math.max(0, Math.ceil(Math.log2(n / lines)));
  function timeStep(n, lines) {
    if (n < 120e9) { const p = 10 ** Math.max(0, Math.floor(Math.log10(n / lines))); return [1, 2, 5, 10].map(f => f * p).find(s => n / s <= lines) || 10 * p; }
    return [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200].map(s => s * 1e9).find(s => n / s <= lines) || 86400e9 * Math.ceil(n / 86400e9 / lines);
  }
  function draw() {
    const width = Math.max(left + right + 60, holder.clientWidth || 1000), lanes = upper + body + 24 + (low ? low + 14 : 0), height = lanes + kinds.length * lane + 6;
    const x = ns => left + ns / end * (width - left - right), y = n => upper + body * (1 - n / high);
    const svg = el('svg', {viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: 'img',
      'aria-label': `charged at most ${bytes(charged)} in ${seconds(end)}; arrow keys move through the samples`});
    const grid = (y1, n, text) => svg.append(el('line', {class: 'grid', x1: left, x2: width - right, y1, y2: y1}),
        el('text', {x: left - 6, y: y1 + 4, 'text-anchor': 'end'}, text));
    for (let n = 0, by = byteStep(high, 6); n <= high; n += by) grid(y(n), n, n === 0 ? '0' : bytes(n));
    for (let t = 0, by = timeStep(end, Math.min(8, Math.max(1, Math.floor((width - left - right) / 70)))); t <= end; t += by)
      svg.append(el('line', {class: 'grid', x1: x(t), x2: x(t), y1: upper, y2: height - 6}),
          el('text', {x: x(t), y: upper + body + 14, 'text-anchor': x(t) > width - 36 ? 'end' : 'middle'},
            (t && end >= 120e9 ? minutes(t) : seconds(t)).replace(/\.0+ /, ' ')));
    if (all.length) {
      svg.append(el('path', {class: 'area', d: steps('charged', x, y) + `V${y(0)}H${x(all[0].ns)}Z`}));
      if (has('resident')) svg.append(el('path', {class: 'line resident', d: steps('resident', x, y)}));
      if (promised) svg.append(el('path', {class: 'line promised', d: steps('promised', x, y)}));
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
      svg.append(el('text', {x: left - 6, y: top + 13, 'text-anchor': 'end'}, heading(kind)));
      for (const m of line.marks) if (m.kind === kind)
        svg.append(el('rect', {class: 'tick ' + kind, x: x(m.ns) - 1, y: top + 3, width: 2.5, height: lane - 6},
            el('title', {}, `${seconds(m.ns)}: ${plural(m.count, kind)}${m.text ? ', ' + (m.count > 1 ? 'the first: ' : '') + isolated(m.text) : ''}`)));
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
        s.promised ? 'promised ' + bytes(s.promised) : '', s.spilled !== undefined ? 'spilled so far ' + bytes(s.spilled) : ''].filter(t => t).join('\n');
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
    holder.replaceChildren(svg, legend([['var(--charged)', 'charged'], has('resident') ? ['var(--resident)', 'resident (dashed)'] : null, promised ? ['var(--promised)', 'promised, not charged (dotted)'] : null,
      low ? ['var(--spilled)', 'spilled so far (dotted)'] : null, limit ? ['var(--limit)', 'limit ' + bytes(limit) + (shownLimit ? '' : ', above what is shown')] : null].filter(l => l)));
  }
  let drawn = 0;
  new ResizeObserver(() => { if (holder.clientWidth !== drawn) { drawn = holder.clientWidth; draw(); } }).observe(holder);
  draw();
  const row = (name, n) => el('tr', {}, el('th', {scope: 'row'}, name), bytesCell(n));
  return el('div', {'data-source': source}, holder, el('details', {}, el('summary', {}, 'in numbers'),
    table('most bytes, over ' + seconds(end) + (line.interval_ns ? '; a sample is the most of ' + seconds(line.interval_ns) : ''), ['', 'at most'],
      [row('charged', charged), has('resident') ? row('resident', resident) : null, promised ? row('promised', promised) : null, has('spilled') ? row('spilled so far', spilled) : null].filter(r => r), {class: 'most'}),
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
  for (const t of trees) section(['Accounts of ', bdi(t[t.length - 1].json.name)], () => [accountViews(t)]);
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
