// The part of html_page's script that draws accounts, and leads from the lines of a report of out of memory to them.
//
// Invariant: rows of accounts are made when they are shown, at most 2000 unasked, 500 of one parent at once, so a tree
// of any size is drawn. The page counts those that have no row. Paths are those of account_path.hpp.
#pragma once

#include <allot/config.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::string_view html_script_accounts = R"js(
// ---- accounts: a flame graph with the root on top, and a table that folds ----
// The tree as a list, parents first, of each parent the largest first. `taken`: what an account takes of its parent,
// what it uses, or its reservation; `memory`: what of its use is charged; `pledged`: what is promised.
// The JSON leaves out what is 0, and a limit that there is not.
const accountOf = (n, parent) => ({name: n.name, path: n.path, parent, depth: parent ? parent.depth + 1 : 0, below: n.children, used: n.used ?? 0, own: n.own ?? 0, credit: n.credit ?? 0,
  subtree_charge: n.subtree_charge ?? 0, peak: n.peak ?? 0, limit: n.limit ?? 2 ** 64, reservation: n.reservation ?? 0, refused: n.refused ?? 0, waiting: n.waiting ?? 0,
  beyond: n.beyond ?? 0, lowered: n.lowered ?? false, spilled: n.spilled ?? 0, taken: 0, memory: 0, pledged: 0, row: null, fold: null, open: false, many: 0});
function listed(root) {
  const all = [], open = [accountOf(root, null)];
  while (open.length) {
    const a = open.pop();
    all.push(a);
    a.below = a.below.map(c => accountOf(c, a)).sort((x, y) => y.used - x.used);
    for (let i = a.below.length; i-- > 0;) open.push(a.below[i]);
  }
  for (let i = all.length; i-- > 0;) {
    const a = all[i];
    let taken = +a.own, memory = +a.own;
    for (const c of a.below) { taken += c.taken; memory += c.memory + c.credit; }
    a.taken = Math.max(a.subtree_charge, a.used, taken);
    a.memory = memory;
    a.pledged = Math.max(0, a.used - memory);
  }
  return all;
}
// All names from the root on, in tooltips; of deep accounts the level.
function namesTo(a, name = n => n) {
  if (a.depth > 64) return `level ${a.depth}: ${name(a.name)}`;
  const names = [];
  for (let at = a; at; at = at.parent) names.unshift(name(at.name));
  return names.join(' / ');
}
// As account_path of allot; `first`: of the account below the root.
const utf8 = new TextEncoder();
function cut(name) {
  const all = name.length > 15 ? utf8.encode(name) : [];
  if (all.length <= 47) return name;
  let end = 44;
  while ((all[end] & 0xc0) === 0x80) --end;
  return new TextDecoder().decode(all.subarray(0, end)) + '...';
}
function pathOf(a, depth, first) {
  const own = cut(a.name);
  if (depth < 2) return own;
  if (depth === 2) return first + ' / ' + own;
  const whole = `${first} / ${depth > 3 ? '... / ' : ''}${cut(a.parent.name)} / ${own}`;
  return whole.length <= 34 || utf8.encode(whole).length <= 103 ? whole : `${first} / ... / ${own}`;
}
// Calls visit(account, path) for each of a list, parents first. One that begins below the root has the path of its top.
function eachPath(all, visit) {
  const names = all[0].path === undefined ? [] : all[0].path.split(' / ');
  let first = names[0];
  for (const a of all) {
    const depth = a.depth + names.length;
    if (depth === 1) first = cut(a.name);
    visit(a, a.path ?? pathOf(a, depth, first));
  }
}
function describe(a, root) {
  const lines = [namesTo(a, isolated), bytes(a.used) + ' used' + (root.used ? ', ' + percent(a.used, root.used) + ' of ' + isolated(root.name) : ''),
    'own ' + bytes(a.own) + ', peak ' + bytes(a.peak) + ', limit ' + limitText(a.limit) + (a.lowered && a.used > a.limit ? ', which was lowered' : '')];
  if (a.pledged) lines.push(bytes(a.memory) + ' of that charged, ' + bytes(a.pledged) + ' promised to accounts below');
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
  const deepest = 100, before = 20, most = 2000; // levels that are drawn of an account, and above it; boxes
  const label = a => [bdi(a.name), bytes(a.used)];
  function draw(top, focus) {
    box.replaceChildren();
    const path = [];
    for (let a = top.parent; a; a = a.parent) path.unshift(a);
    let levels = 0, kept = null;
    const add = (a, left, width, level, kind, text, title, zoom) => {
      levels = Math.max(levels, level + 1);
      const b = el('button', {type: 'button', class: 'box ' + kind, title, onclick: () => draw(zoom, zoom),
        style: `left:${left}%;width:${width}%;top:${level * height}px${width < 3 ? ';padding:0' : ''}`, 'data-account': a ? namesTo(a) : null},
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
    for (let n = 0; n < open.length; ++n) { // level by level
      const [a, left, level, second] = open[n];
      add(a, left, a.taken * scale, level, stateOf(a) || (second ? 'second' : ''), label(a), describe(a, all[0]), a === top && a.parent ? a.parent : a);
      const below = [...a.below].sort((x, y) => y.taken - x.taken).filter(c => c.taken);
      const sum = list => list.reduce((n, c) => n + c.taken, 0);
      if (level - above.length >= deepest || open.length >= most) {
        if (below.length) add(null, left, sum(below) * scale, level + 1, 'rest', 'deeper levels', 'Deeper levels: select this box to see them.', a);
        continue;
      }
      const boxes = below.filter(c => c.taken * scale >= least), rest = below.slice(boxes.length); // at most 400 boxes, as each takes `least`
      let at = left;
      boxes.forEach((c, i) => { open.push([c, at, level + 1, i % 2 !== 0 ? !second : second]); at += c.taken * scale; });
      if (sum(rest) * scale >= least / 2)
        add(null, at, sum(rest) * scale, level + 1, 'rest', plural(rest.length, 'smaller account'),
            plural(rest.length, 'smaller account') + ': ' + bytes(sum(rest)) + '\n' + rest.slice(0, 12).map(c => isolated(c.name) + ' ' + bytes(c.taken)).join('\n'), a);
    }
    box.style.height = levels * height + 'px';
    if (kept) kept.focus({preventScroll: true});
  }
  draw(all[0], null);
  return {enlarge: a => draw(a.taken ? a : all[0], null), figure: el('figure', {}, box, el('figcaption', {}, 'Width: bytes. A part of a box without a box below it is the account’s own. ' +
      'Select a box to enlarge it, once more to go back.'),
    legend([['var(--used)', 'used'], ['var(--near)', 'at least 90 % of its limit'], ['var(--refused)', 'requests were refused at its limit'],
      ['reserved', 'reserved or granted, not used'], ['rest', 'smaller accounts together']]))};
}
// A row is made when it is shown first. `batch`: rows of one parent that are shown at once; `most`: rows that are shown unasked.
function accountTable(all, caption) {
  const beyond = all.some(a => a.beyond), batch = 500, most = 2000, head = ['account', 'used', '', 'own', 'peak', 'limit', 'reserved', 'spilled', 'waiting', 'refused', ...(beyond ? ['beyond its limit'] : [])];
  const rows = el('tbody'), note = el('p', {class: 'quiet', role: 'status'});
  const firstCell = (a, depth, ...content) => el('th', {scope: 'row', class: depth > 11 ? 'deep' : depth > 3 ? 'level' : null, style: `--level:${depth}`, 'data-level': depth}, ...content);
  function rowOf(a) {
    if (!a.row) {
      a.fold = a.below.length === 0 ? el('span', {class: 'fold', style: 'display:inline-block'}) :
          el('button', {type: 'button', class: 'fold', 'aria-label': 'accounts below ' + isolated(a.name), onclick: () => { a.open = !a.open; show(); }});
      a.row = el('tr', {'data-account': namesTo(a)}, firstCell(a, a.depth, a.fold, nameOf(a.name)),
        bytesCell(a.used), el('td', {}, bar(a.used, all[0].used)), bytesCell(a.own), bytesCell(a.peak), cell(a.limit, limitText(a.limit)),
        bytesCell(a.reservation), bytesCell(a.spilled), countCell(a.waiting), countCell(a.refused), beyond ? countCell(a.beyond) : null);
    }
    if (a.below.length) {
      a.fold.setAttribute('aria-expanded', !!a.open);
      a.fold.textContent = a.open ? '▾' : '▸';
    }
    return a.row;
  }
  const shownOf = a => a.open ? Math.min(a.below.length, a.many || batch) : 0;
  function restOf(a) {
    const rest = a.below.slice(shownOf(a)), more = Math.min(batch, rest.length);
    return el('tr', {class: 'more'}, firstCell(a, a.depth + 1, el('button', {type: 'button', onclick: () => { a.many = shownOf(a) + batch; show(); }}, `show ${number(more)} more`)),
      el('td', {colspan: head.length - 1}, `of ${plural(rest.length, 'smaller account')} that ${rest.length === 1 ? 'uses' : 'use'} ${bytes(rest.reduce((n, c) => n + c.used, 0))}`));
  }
  function show() {
    find.value = '';
    const list = [], open = [[all[0], 0]]; // an account, or a parent whose rest follows
    let accounts = 0;
    while (open.length) {
      const [a, isRest] = open.pop();
      if (isRest) { list.push(restOf(a)); continue; }
      list.push(rowOf(a));
      ++accounts;
      const shown = shownOf(a);
      if (a.open && shown < a.below.length) open.push([a, 1]);
      for (let i = shown; i-- > 0;) open.push([a.below[i], 0]);
    }
    rows.replaceChildren(...list);
    note.textContent = accounts === all.length ? '' : `${number(accounts)} of ${number(all.length)} accounts are shown. The others are below a ▸, or left out where it says so.`;
  }
  // Unfolds level by level, as many as `most` rows take.
  function unfold(levels) {
    let left = most - 1;
    for (const a of all) a.open = false;
    const next = [all[0]];
    for (let i = 0; i < next.length && next[i].depth < levels; ++i) {
      const a = next[i], n = Math.min(a.below.length, a.many || batch);
      if (n > left) continue;
      a.open = n > 0;
      left -= n;
      for (let k = 0; k < n; ++k) next.push(a.below[k]);
    }
    show();
  }
  // Shows some accounts and those above them: of each the nearest 20.
  function showOnly(hits) {
    const keep = new Set();
    let found = 0;
    for (const a of hits) {
      if (found === batch || keep.size > most) break;
      ++found;
      for (let at = a, n = 0; at && n <= 20 && !keep.has(at); at = at.parent, ++n) keep.add(at);
    }
    rows.replaceChildren(...(keep.size ? all.filter(a => keep.has(a)).map(rowOf) : []));
    note.textContent = (found < hits.length ? `${number(found)} of ${number(hits.length)} accounts that were found are shown` : plural(found, 'account') + ' found') +
        ', below the accounts that they are in' + (hits.some(a => a.depth > 20) ? ', of which the nearest 20 are shown' : '') + '.';
  }
  const find = el('input', {type: 'search', placeholder: 'find a name or path', 'aria-label': 'find a name or path', oninput: () => {
    const text = find.value, part = text.toLowerCase(), hits = [];
    if (text === '') return show();
    if (text.includes(' / ')) eachPath(all, (a, path) => { if (path.toLowerCase().includes(part)) hits.push(a); });
    else for (const a of all) if (a.name.toLowerCase().includes(part)) hits.push(a);
    showOnly(hits);
  }});
  unfold(all.length > 60 ? 1 : Infinity);
  return {
    find(hits, path) {
      showOnly(hits);
      find.value = path;
      rows.querySelectorAll('.found').forEach(row => row.classList.remove('found'));
      hits.filter(a => a.row).forEach(a => a.row.classList.add('found'));
      hits[0].row.scrollIntoView({block: 'center'});
    },
    view: el('div', {}, el('div', {class: 'tools'}, el('button', {type: 'button', onclick: () => unfold(Infinity)}, 'unfold all'),
        el('button', {type: 'button', onclick: () => unfold(1)}, 'fold all'), find), note, table(caption, head, rows, {class: 'accounts'})),
  };
}
function accountViews(trees) { // [{kind, json, missing}] of one root
  const larger = (a, b) => b > a ? b : a;
  const views = trees.map(t => ({what: t.kind === 'peak' ? 'at the peak' : 'now', all: listed(t.json), t, view: el('div', {'data-view': t.kind, 'data-source': t.id, hidden: true})}));
  const first = views[0].all[0], now = views[views.length - 1].all[0];
  const buttons = views.map(v => el('button', {type: 'button', onclick: () => choose(v)}, v.what));
  function choose(v) { // it is drawn when it is seen first
    if (!v.table) fill(v.view, () => {
      const caption = plural(v.all.length, 'account') + ' ' + v.what + (v.t.missing ? '; ' + plural(v.t.missing, 'more account') + ' had no line in the copy' : '');
      v.flames = v.all[0].taken ? icicle(v.all) : null;
      v.table = accountTable(v.all, caption);
      return [v.flames ? v.flames.figure : el('p', {class: 'quiet'}, 'Nothing is charged ' + v.what + '.'), v.table.view];
    });
    views.forEach((o, i) => { o.view.hidden = o !== v; buttons[i].setAttribute('aria-pressed', o === v); });
  }
  choose(views[0]);
  trees.views = views;
  trees.lead = (v, hits, path) => {
    choose(v);
    if (v.flames) v.flames.enlarge(hits[0]);
    v.table.find(hits, path);
  };
  const most = trees.find(t => t.kind === 'peak' && t.json.promised);
  const parts = most ? [[`charged at most, of ${limitText(now.limit)}`, bytes(most.json.charged)], [`promised at the peak, of ${limitText(now.limit)}`, bytes(most.json.promised)]] :
      now.pledged ? [['charged now', bytes(now.memory)], ['promised now', bytes(now.pledged)]] : [];
  return el('div', {}, facts([['limit' + (now.lowered ? ', lowered below what was used' : ''), limitText(now.limit)], ...parts,
      [parts.length ? 'peak of both' : 'peak', bytes(larger(now.peak, first.peak))], trees.some(t => t.kind === 'accounts') ? ['used now', bytes(now.used)] : null,
      now.spilled ? ['spilled', bytes(now.spilled)] : null, now.refused ? ['refused at its limit', number(now.refused)] : null,
      now.beyond ? ['calls with force that exceeded the limit', number(now.beyond)] : null]), views.length > 1 ? el('div', {class: 'tools', role: 'group', 'aria-label': 'moment'}, ...buttons) : null, ...views.map(v => v.view));
}

// ---- reports of out of memory ----
// Names of accounts lead to these in a tree, where one has an account of that path.
function linkReport(pre, trees) {
  const lines = pre.textContent.split('\n'), roots = new Set(), wanted = new Map(); // path: [line, where it begins]
  lines.forEach((line, i) => {
    const asked = line.indexOf(' for account ') + 1;
    const at = i === 0 && asked ? asked + 12 : line.startsWith('  accounts of ') ? 14 : line.startsWith('    ') && line.includes(' charged') ? 4 : 0;
    if (at) for (let end = line.indexOf(': ', at); end !== -1; end = line.indexOf(': ', end + 1)) { // a name may have ': '
      const path = line.slice(at, end).replace(i === 0 ? / refused$/ : '', '');
      if (at === 14) roots.add(path);
      wanted.set(path, [...(wanted.get(path) || []), [i, at]]);
    }
  });
  const links = [];
  const nearness = ([{json}]) => json.path !== undefined ? 1 : roots.has(oneLine(json.name)) ? 2 : 0; // other roots last
  for (const t of [...trees].sort((a, b) => nearness(b) - nearness(a)))
    for (const v of t.views || []) {
      const hits = new Map();
      eachPath(v.all, (a, path) => { const shown = oneLine(path); if (wanted.has(shown)) hits.set(shown, [...(hits.get(shown) || []), a]); });
      for (const [path, found] of hits) {
        for (const [i, at] of wanted.get(path)) {
          const link = el('a', {href: '#' + v.t.id, onclick: e => { e.preventDefault(); t.lead(v, found, path); }}, path);
          if (!links[i]) links[i] = [lines[i].slice(0, at), link, lines[i].slice(at + path.length)];
        }
        wanted.delete(path);
      }
    }
  pre.replaceChildren(...lines.flatMap((line, i) => [...(links[i] || [line]), i + 1 < lines.length ? '\n' : '']));
}
)js";

} // namespace detail
} // namespace allot::inline ALLOT_ABI
