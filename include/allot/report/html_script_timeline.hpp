// The part of html_page's script that draws memory over time.
//
// Invariant: a step for each sample, a tick for each mark. By account the areas are stacked, the largest lowest, those
// that have no line on top as one; together they are what is charged.
#pragma once

#include <allot/config.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::string_view html_script_timeline = R"js(
// ---- memory over time ----
function timeline(line, source) {
  const all = line.samples, limit = line.account && !unlimited(line.account.limit) ? line.account.limit : 0;
  const end = line.marks.reduce((n, m) => Math.max(n, m.ns), all.reduce((n, s) => Math.max(n, s.ns), 1));
  const valueOf = of => typeof of === 'string' ? s => s[of] : of; // a number of a sample, or what is made of it
  const most = of => all.reduce((n, s) => Math.max(n, valueOf(of)(s) || 0), 0);
  const has = name => all.some(s => s[name] !== undefined);
  const charged = most('charged'), resident = most('resident'), spilled = most('spilled'), promised = most('promised');
  const shownLimit = limit && limit <= 3 * Math.max(charged, resident, promised) ? limit : 0;
  const high = Math.max(charged, resident, promised, shownLimit, 1) * 1.04;
  const kinds = ['wait', 'rollback', 'split', 'refusal', 'spill', 'note'].filter(k => line.marks.some(m => m.kind === k));
  const heading = kind => `${kind}: ${number(sum(kind))}`;
  const left = 16 + 6 * kinds.reduce((n, kind) => Math.max(n, heading(kind).length), 10), right = 12, upper = 8, body = 240, lane = 18, low = has('spilled') && spilled ? 70 : 0;
  // The accounts, lowest first, and the others together: names, and the bytes up to and with each of them.
  const names = line.accounts ? [...line.accounts.map(a => a.name), null] : [], look = i => names[i] === null ? 'var(--other)' : `var(--stack-${i})`;
  const upTo = (s, i) => names[i] === null ? s.charged : Math.min(s.charged, s.accounts.slice(0, i + 1).reduce((n, b) => n + b, 0));
  const partOf = (s, i) => upTo(s, i) - (i ? upTo(s, i - 1) : 0);
  const nameAt = i => names[i] === null ? 'other accounts' : isolated(names[i]);
  const others = most(s => names.length ? partOf(s, names.length - 1) : 0);
  const holder = el('figure', {class: 'timeline'});
  const tip = document.getElementById('tip');
  function sum(kind) { return line.marks.reduce((n, m) => n + (m.kind === kind ? m.count : 0), 0); }
  function steps(of, x, y) {
    let d = '', before = false;
    all.forEach((s, i) => {
      const v = valueOf(of)(s);
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
      const area = of => steps(of, x, y) + `V${y(0)}H${x(all[0].ns)}Z`;
      if (!names.length) svg.append(el('path', {class: 'area', d: area('charged')}));
      for (let i = names.length; i-- > 0;) svg.append(el('path', {class: 'stack', style: 'fill:' + look(i), d: area(s => upTo(s, i))})); // each covers those below it
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
        s.promised ? 'promised ' + bytes(s.promised) : '', s.spilled !== undefined ? 'spilled so far ' + bytes(s.spilled) : '',
        ...names.map((_, i) => partOf(s, i) ? `${nameAt(i)} ${bytes(partOf(s, i))}` : '').reverse()].filter(t => t).join('\n');
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
    holder.replaceChildren(svg, legend([['var(--charged)', names.length ? 'charged, by account:' : 'charged'], ...names.map((_, i) => names[i] === null && !others ? null : [look(i), nameAt(i)]).reverse(), has('resident') ? ['var(--resident)', 'resident (dashed)'] : null, promised ? ['var(--promised)', 'promised, not charged (dotted)'] : null,
      low ? ['var(--spilled)', 'spilled so far (dotted)'] : null, limit ? ['var(--limit)', 'limit ' + bytes(limit) + (shownLimit ? '' : ', above what is shown')] : null].filter(l => l)));
  }
  let drawn = 0;
  new ResizeObserver(() => { if (holder.clientWidth !== drawn) { drawn = holder.clientWidth; draw(); } }).observe(holder);
  draw();
  const row = (name, n) => el('tr', {}, el('th', {scope: 'row'}, name), bytesCell(n));
  return el('div', {'data-source': source}, holder, el('details', {}, el('summary', {}, 'in numbers'),
    table('most bytes, over ' + seconds(end) + (line.interval_ns ? '; a sample is the most of ' + seconds(line.interval_ns) : ''), ['', 'at most'],
      [row('charged', charged), has('resident') ? row('resident', resident) : null, promised ? row('promised', promised) : null, has('spilled') ? row('spilled so far', spilled) : null].filter(r => r), {class: 'most'}),
    names.length ? table('most bytes by account', ['', 'at most'], [...line.accounts.map(a => row(plain(a.name), a.most)), others ? row('other accounts', others) : null].filter(r => r), {class: 'by-account'}) : null,
    kinds.length ? table('marks', ['', 'number'], kinds.map(k => el('tr', {}, el('th', {scope: 'row'}, k), countCell(sum(k)))), {class: 'marks'}) : null));
}
)js";

} // namespace detail
} // namespace allot::inline ALLOT_ABI
