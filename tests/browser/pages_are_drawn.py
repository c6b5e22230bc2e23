#!/usr/bin/env python3
"""A browser draws the pages of html_page: no message on its console, and each number that it shows is that of the JSON
in the page.

    pages_are_drawn.py               compiles pages.cpp (with CXX), and opens its pages in Chromium without a window
    pages_are_drawn.py FILE...       the same for pages of other programs

Exit code 77: there is no Chromium (Debian: apt-get install chromium), so nothing was drawn.
"""
import collections
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A page in a narrow frame: how wide it is, and whether the first number of each account and the texts of a timeline are inside.
NARROW = """<!DOCTYPE html><body style="margin:0"><iframe style="border:0;width:%dpx;height:900px"></iframe><script>
const frame = document.querySelector('iframe');
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument, inside = e => e.getBoundingClientRect().right <= frame.clientWidth;
  const all = css => [...page.querySelectorAll(css)].filter(e => e.getClientRects().length).map(inside);
  document.body.dataset.done = JSON.stringify({fits: page.documentElement.scrollWidth <= page.documentElement.clientWidth, numbers: all('.accounts tbody td:nth-child(2)'), 
    labels: [...page.querySelectorAll('.timeline text')].map(e => e.getBoundingClientRect().right <= e.ownerSVGElement.getBoundingClientRect().right),
    scale: [...page.querySelectorAll('.timeline svg')].map(e => e.viewBox.baseVal.width === e.clientWidth)});
}, 500);
frame.srcdoc = %s;</script>"""
UNITS = [" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"]
HERE = pathlib.Path(__file__).resolve().parent
# Draws what is drawn on demand: the accounts at both moments, with a row for each.
UNFOLD = """<script>addEventListener('load', () => {
  for (const b of document.querySelectorAll('[aria-label=moment] button')) b.click();
  for (const b of document.querySelectorAll('.tools button')) if (b.textContent === 'unfold all') b.click();
  for (const b of document.querySelectorAll('[aria-label=moment] button:first-child')) b.click();
});</script>"""
# What a reader does; the result is in <body data-done=...>.
CLICKS = """<script>addEventListener('load', () => {
  const shown = () => document.querySelectorAll('[data-view=accounts] tbody tr').length;
  const press = text => [...document.querySelectorAll('.tools button')].filter(b => b.textContent === text).forEach(b => b.click());
  const done = {};
  done.first = document.querySelector('[data-view=peak]').hidden;
  press('now');
  done.second = document.querySelector('[data-view=peak]').hidden;
  press('fold all'); done.folded = shown();
  press('unfold all'); done.all = shown();
  document.querySelector('[data-view=accounts] button.fold').click(); done.closed = shown();
  document.querySelector('[data-view=accounts] button.fold').click(); done.open = shown();
  const find = document.querySelector('[data-view=accounts] input');
  find.value = 'OPERATOR 17'; find.dispatchEvent(new Event('input')); done.found = shown();
  const box = [...document.querySelectorAll('[data-view=accounts] .box')].find(b => b.dataset.account && b.dataset.account.includes('/'));
  const path = box.dataset.account, wide = () => [...document.querySelectorAll('[data-view=accounts] .box')].find(b => b.dataset.account === path).style.width;
  box.click(); done.enlarged = wide();
  [...document.querySelectorAll('[data-view=accounts] .box')].find(b => b.dataset.account === path).click(); done.back = wide() !== '100%';
  const svg = document.querySelector('.timeline svg');
  svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
  done.tip = document.getElementById('tip').textContent;
  document.body.dataset.done = JSON.stringify(done);
});</script>"""


# Of a page of very many accounts: how many elements there are, and what is said of those that have none.
MANY = """<script>addEventListener('load', () => {
  const elements = () => document.getElementsByTagName('*').length, rows = () => document.querySelectorAll('.accounts tbody tr').length;
  const note = () => document.querySelector('[data-view] [role=status]').textContent, more = () => [...document.querySelectorAll('.more')].map(r => r.textContent);
  const look = () => ({elements: elements(), rows: rows(), note: note(), more: more()});
  const press = text => [...document.querySelectorAll('.tools button')].find(b => b.textContent === text).click();
  const find = document.querySelector('input'), type = text => { find.value = text; find.dispatchEvent(new Event('input')); return look(); };
  const done = {first: look(), boxes: document.querySelectorAll('.box').length};
  document.querySelector('.more button').click(); done.more = look();
  [...document.querySelectorAll('button.fold')][1].click(); done.unfolded = look();
  press('unfold all'); done.all = look();
  done.found = type('OPERATOR'); done.none = type('nobody'); done.path = type('query / oper'); done.back = type('');
  document.body.dataset.done = JSON.stringify(done);
  document.querySelectorAll('script').forEach(s => s.remove());
});</script>"""
# Follows each link of a report: its text, the account that it leads to, and whether that one's table is seen.
LINKS = """<script>addEventListener('load', () => {
  const done = [...document.querySelectorAll('section.report a')].map(link => {
    link.click();
    const rows = [...document.querySelectorAll('tr.found')].filter(r => r.getClientRects().length);
    const top = rows.length ? rows[0].closest('section') : null, box = top && [...top.querySelectorAll('.box')].find(b => b.dataset.account === rows[0].dataset.account && b.getClientRects().length);
    const before = link.previousSibling.textContent, after = link.nextSibling.textContent;
    rows.forEach(r => r.classList.remove('found'));
    return [before + '[' + link.textContent + ']' + after, rows.map(r => r.dataset.account), top ? top.querySelector('h2').textContent : '', box ? box.style.width : ''];
  });
  document.body.dataset.done = JSON.stringify(done);
  document.body.dataset.text = document.querySelector('section.report pre').textContent;
});</script>"""


def as_bytes(n):
    """As text_writer::bytes()."""
    if n < 1024 or (n < 1 << 20 and n % 1024):
        return f"{n} byte" + ("" if n == 1 else "s")
    unit, scale = 0, 1024
    while n // scale >= 1024 and unit < 5:
        unit, scale = unit + 1, scale * 1024
    whole, rest = n // scale, (n % scale // (scale // 1024) * 100 + 512) // 1024
    if rest == 100:
        whole, rest = whole + 1, 0
    return f"{whole}" + (f".{rest:02}" if n % scale else "") + UNITS[unit]


class Page(html.parser.HTMLParser):
    """Reports by id; tables as (id of the report, class of the table, rows); a row is (key, [(value, text)])."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.reports, self.kinds, self.missing, self.tables, self.boxes, self.pres, self.body = {}, {}, {}, [], [], [], {}
        self.rects, self.lines = [], []  # (id of the report, attributes)
        self.cut, self.failed, self.texts, self.notes = None, 0, [], []  # texts: of headings, facts and legends; notes: of tables
        self.path, self.cell, self.sources = [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == "body":
            self.body = a
        if a.get("id") == "cut":
            self.cut = "hidden" not in a
        if tag in ("meta", "input", "br", "link"):
            return
        self.path.append((tag, a))
        self.failed += a.get("class") == "failed"
        if tag in ("h2", "dt", "dd", "li"):
            self.texts.append("")
        if a.get("role") == "status":
            self.notes.append("")
        if "data-source" in a:
            self.sources.append((len(self.path), a["data-source"], a.get("data-view")))
        if tag == "script" and "data-kind" in a:
            self.reports[a["id"]], self.kinds[a["id"]] = "", a["data-kind"]
        elif tag == "table":
            self.tables.append((self.sources[-1][1], a.get("class"), []))
        elif tag == "tr":
            if any(t == "tbody" for t, _ in self.path):
                self.tables[-1][2].append([a.get("data-account", ""), []])
        elif tag == "td" and "data-value" in a:
            self.cell = [a["data-value"], ""]
            self.tables[-1][2][-1][1].append(self.cell)
        elif tag == "th" and a.get("scope") == "row" and not self.tables[-1][2][-1][0]:
            self.cell = ["key", ""]
        elif tag == "rect":
            self.rects.append((self.sources[-1][1], a))
        elif tag == "path":
            self.lines.append((self.sources[-1][1], a))
        elif tag == "pre":
            self.pres.append("")
        elif "box" in a.get("class", "").split():
            self.boxes.append(a)

    def handle_data(self, data):
        tag, a = self.path[-1] if self.path else ("", {})
        if tag == "script" and "data-kind" in a:
            self.reports[a["id"]] += data
        elif tag == "pre":
            self.pres[-1] += data
        elif self.cell is not None:
            self.cell[1] += data
        elif any(t in ("h2", "dt", "dd", "li") for t, _ in self.path):
            self.texts[-1] += data
        elif a.get("role") == "status":
            self.notes[-1] += data

    def handle_endtag(self, tag):
        while self.path and self.path.pop()[0] != tag:
            pass
        if tag in ("td", "th") and self.cell is not None:
            if self.cell[0] == "key":
                self.tables[-1][2][-1][0] = self.cell[1]
            self.cell = None
        while self.sources and self.sources[-1][0] > len(self.path):
            self.sources.pop()


def number(n):
    return n, f"{n:,}"


def size(n):
    return n, as_bytes(n) if n else "0"


def account_rows(a, path="", beyond=None):
    """Charges beyond a limit have a column where there are any. The page's JSON leaves out what is 0, or no limit."""
    if beyond is None:
        beyond = any_beyond(a)
    a = {"limit": 2**64 - 1, **dict.fromkeys(("used", "own", "peak", "reservation", "spilled", "waiting", "refused", "beyond"), 0), **a}
    path = f"{path} / {a['name']}" if path else a["name"]
    limit = (a["limit"], "none" if a["limit"] == 2**64 - 1 else as_bytes(a["limit"]))
    yield path, [size(a["used"]), size(a["own"]), size(a["peak"]), limit, size(a["reservation"]), size(a["spilled"]),
                 number(a["waiting"]), number(a["refused"])] + ([number(a["beyond"])] if beyond else [])
    for child in a["children"]:
        yield from account_rows(child, path, beyond)


def any_beyond(a):
    return a.get("beyond", 0) > 0 or any(any_beyond(child) for child in a["children"])


def type_rows(r):
    types = collections.defaultdict(lambda: [0, 0, 0, 0])
    for when, at in (("now", 0), ("at_peak", 2)):
        for t in r.get(when, {}).get("types", []):
            types[t["type"]][at] += t["rows"]
            types[t["type"]][at + 1] += t["bytes"]
    largest = sorted(types.items(), key=lambda t: -max(t[1][1], t[1][3]))[:20]
    for name, (rows, held, peak_rows, peak) in largest:
        yield name, [number(rows), size(held)] + ([number(peak_rows), size(peak)] if "at_peak" in r else [])


def expected(page):
    """Of each table: its rows, in any order."""
    kind_text = {"untouched": "never used", "free": "free", "free_dirty": "free, may hold memory", "slots": "rows",
                 "huge": "huge rows", "other": "of another owner"}
    for at, text in page.reports.items():
        r, kind = json.loads(text), page.kinds[at]
        if kind in ("accounts", "peak") and r:
            yield at, "accounts", list(account_rows(r))
        elif kind == "timeline" and (r["samples"] or r["marks"]):
            names = {"charged": "charged", "resident": "resident", "promised": "promised", "spilled": "spilled so far"}
            yield at, "most", [(text, [size(max((s.get(n, 0) for s in r["samples"]), default=0))]) for n, text in names.items()
                               if n == "charged" or any(s.get(n, 0) if n == "promised" else n in s for s in r["samples"])]
            if "accounts" in r:
                others = max(s["charged"] - sum(s["accounts"]) for s in r["samples"])
                yield at, "by-account", [(a["name"], [size(a["most"])]) for a in r["accounts"]] + ([("other accounts", [size(others)])] if others else [])
            marks = collections.Counter()
            for m in r["marks"]:
                marks[m["kind"]] += m["count"]
            if marks:
                yield at, "marks", [(k, [number(n)]) for k, n in marks.items()]
        elif kind == "rows":
            if list(type_rows(r)):
                yield at, "types", list(type_rows(r))
            if r["heaps"]:
                yield at, "heaps", [(h["name"], [number(h[n]) for n in ("slot_bytes", "live_rows", "cached_rows", "pages")]
                                     + [size(h["bytes"])]) for h in r["heaps"]]
        elif kind == "pages":
            pages = collections.Counter()
            for run in r["runs"]:
                pages[run["kind"]] += run["pages"]
            yield at.removesuffix("-pages"), "page-kinds", [(kind_text[k], [number(n), size(n * r["page_bytes"])])
                                                            for k, n in pages.items() if n]
        elif kind == "chunks" and r["classes"]:
            yield at, "classes", [(as_bytes(c["bytes"]), [number(c["live"]), size(c["live"] * c["bytes"]), number(c["cached"]),
                                                          size(c["cached"] * c["bytes"]), number(c["allocations"])]) for c in r["classes"]]


def check_drawings(file, page):
    """Maps of pages have each page in use once, as what it is; timelines a step for each sample, a tick for each mark."""
    for at, text in page.reports.items():
        r, kind = json.loads(text), page.kinds[at]
        if kind == "pages":
            kinds = [run["kind"] for run in r["runs"] for _ in range(run["pages"])]
            cells = [a for source, a in page.rects if source == at.removesuffix("-pages") and "data-pages" in a]
            seen, used = set(), len(kinds) - kinds.count("untouched")  # a cell may be several pages where many are used
            for a in cells:
                first, last = map(int, a["data-pages"].split())
                of = set(kinds[first:last + 1])
                must(a["class"] in of, f"{file}: pages {first} to {last} are {of}, not {a['class']}")
                must(len(of) == 1 or used > 2048, f"{file}: pages {first} to {last} are drawn as one, and are {of}")
                must(seen.isdisjoint(range(first, last + 1)), f"{file}: pages {first} to {last} are drawn once")
                seen.update(range(first, last + 1))
            missing = [p for p, k in enumerate(kinds) if k != "untouched" and p not in seen]
            must(not missing, f"{file}: pages {missing[:9]} are drawn")
        elif kind == "timeline" and (r["samples"] or r["marks"]):
            steps = [a["d"].count("H") for source, a in page.lines if source == at and a["class"] == "line charged"]
            must(steps == ([len(r["samples"])] if r["samples"] else []), f"{file}: {len(r['samples'])} samples are {steps} steps")
            stack = [a["d"] for source, a in page.lines if source == at and a["class"] == "stack"]
            must([d.count("H") - 1 for d in stack] == [len(r["samples"])] * (len(r["accounts"]) + 1 if "accounts" in r else 0), f"{file}: a step of each account for each sample")
            if stack:  # the top of each area, from what is charged to the largest account
                charged = next(a["d"] for source, a in page.lines if source == at and a["class"] == "line charged")
                must(stack[0].startswith(charged), f"{file}: the accounts together are what is charged")
                tops = [[float(y) for y in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", d)][:-1] for d in stack]
                scale = (248 - min(tops[0])) / max(s["charged"] for s in r["samples"])
                for i, top in enumerate(reversed(tops)):
                    wanted = [248 - scale * (s["charged"] if i == len(r["accounts"]) else sum(s["accounts"][:i + 1])) for s in r["samples"]]
                    must(all(abs(a - b) < .11 for a, b in zip(top, wanted)), f"{file}: the area of account {i}")
            ticks = collections.Counter(a["class"].split()[1] for source, a in page.rects if source == at)
            must(ticks == collections.Counter(m["kind"] for m in r["marks"]), f"{file}: ticks {ticks}")


def drawn(browser, file, script=UNFOLD):
    """The page after its script and this one have run. Exits where the console has a message."""
    with tempfile.TemporaryDirectory() as profile:
        page = pathlib.Path(profile) / "page.html"
        page.write_bytes(file.read_bytes() + script.encode())
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", page.as_uri()],
                              capture_output=True, text=True, check=False, timeout=120)
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    if done.returncode or told:
        sys.exit(f"{file}: exit code {done.returncode}, on the console:\n" + "\n".join(told or done.stderr.splitlines()[-5:]))
    return Page(done.stdout)


def must(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


def check(file, page):
    """Each report has its tables, each table its numbers. Returns how many numbers."""
    numbers = 0
    found = {(at, which): rows for at, which, rows in page.tables}
    wanted = {(at, which): rows for at, which, rows in expected(page)}
    must(set(found) == set(wanted), f"{file}: tables {sorted(set(wanted) ^ set(found))} are drawn and in the JSON")
    for table, rows in wanted.items():
        of_json = sorted((key, [(float(v), t) for v, t in cells]) for key, cells in rows)
        of_page = sorted((key, [(float(v), t) for v, t in cells]) for key, cells in found[table])
        for a, b in zip(of_json, of_page):
            must(a == b, f"{file}: {table} shows what the JSON says: {a}, not {b}")
        must(len(of_json) == len(of_page), f"{file}: {table} has {len(of_json)} rows, not {len(of_page)}")
        numbers += sum(len(cells) for _, cells in of_page)
    check_drawings(file, page)
    must(page.cut is False and not page.failed, f"{file}: it is whole, and each part is drawn")
    for box in page.boxes:
        style = dict(part.split(":") for part in box["style"].split(";") if part)
        left, width = (float(style[n].strip(" %")) for n in ("left", "width"))
        must(0 <= left and left + width <= 100.01, f"{file}: the box of {box.get('data-account')} is inside: {box['style']}")
    return numbers


def own_pages(browser):
    include = os.environ.get("ALLOT_INCLUDE", str(HERE.parents[1] / "include"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-pthread", f"-I{include}", str(HERE / "pages.cpp"),
                        "-o", str(folder / "pages")], check=True)
        subprocess.run([str(folder / "pages"), str(folder)], check=True)
        for name, accounts in (("small", 2), ("large", 400)):
            page = drawn(browser, folder / f"{name}.html")
            print(f"{name}.html: {check(name, page)} numbers")
            for at, which, rows in page.tables:
                must(which != "accounts" or len(rows) == accounts + 3, f"{name}: {accounts} accounts and three, not {len(rows)}")
            must(bool(page.boxes), f"{name}: a flame graph")
        must(page.pres == ["out of memory: 1 < 2 & </pre>\n"], f"the report is text: {page.pres}")
        must(sum(k == "timeline" for k in page.kinds.values()) == 1, "one timeline")

        stack = drawn(browser, folder / "stack.html")
        print(f"stack.html: {check('stack', stack)} numbers")
        seen = [text for text in stack.texts if "operator" in text or text == "other accounts"]
        must(len(seen) == 9 and seen[0] == "other accounts" and seen[-1] == "\u2068query 7 / operator <11>\u2069", f"a legend of eight accounts and the others, as they are stacked: {seen}")

        empty = drawn(browser, folder / "empty.html")
        must(not empty.tables and empty.cut is False, "an empty page is whole, and has no table")
        roots = drawn(browser, folder / "roots.html")
        print(f"roots.html: {check('roots', roots)} numbers")
        same = "\ufffd" + "x" * 200 + "\u240a"
        must(roots.texts[:2] == ["Memory over time: small", "charged"] and "limit 4.88 KiB" not in roots.texts and "limit 5000 bytes" in roots.texts,
             f"a timeline has the name and limit of its account: {roots.texts}")
        of_roots = [roots.texts[i:i + 7] for i, text in enumerate(roots.texts) if text.startswith("Accounts of")]
        must(of_roots == [["Accounts of " + same, "limit", "4.00 EiB", "peak", "8.00 PiB", "used now", "7 bytes"],
                          ["Accounts of " + same, "limit", "1 MiB", "peak", "4000 bytes", "used now", "4000 bytes"]], f"each root has its facts: {of_roots}")
        must("never used" not in roots.texts, f"a map that is not there has no legend: {roots.texts}")
        for wide in (400, 320):
            narrow = folder / "narrow.html"
            text = json.dumps((folder / "roots.html").read_text()).replace("<", "\\u003c")
            narrow.write_text(NARROW % (wide, text))
            done = json.loads(drawn(browser, narrow).body["data-done"])
            must(done["fits"] and all(done["numbers"] + done["labels"] + done["scale"]) and len(done["numbers"]) == 5, f"a page of {wide} pixels: {done}")

        deep = drawn(browser, folder / "deep.html")
        must(deep.cut is False and not deep.failed, "10,000 levels and 150,000 samples are drawn")
        must([len(rows) for _, which, rows in deep.tables if which == "accounts"] == [2000] and 100 < len(deep.boxes) < 200, "2000 levels have a row, and 101 a box")
        must("2,000 of 10,000 accounts are shown. The others are below a ▸, or left out where it says so." in deep.notes, f"what has no row is said: {deep.notes}")
        must([a["d"].count("H") for _, a in deep.lines if a["class"] == "line charged"] == [150_000], "each sample is drawn")

        broken = folder / "broken.html"
        broken.write_bytes((folder / "small.html").read_bytes().replace(b'"classes":[', b'"classes":[null,'))
        broken = drawn(browser, broken)
        must(broken.cut is False and broken.failed == 1 and broken.boxes and broken.lines, "a part that cannot be drawn says so, and the others are drawn")

        cut = drawn(browser, folder / "cut.html", "")
        must(cut.cut is True and not cut.tables, "a cut page says so")

        done = json.loads(drawn(browser, folder / "many.html", MANY).body["data-done"])
        for step, rows in (("first", 502), ("more", 1001), ("unfolded", 1502), ("all", 2000), ("found", 550), ("none", 0), ("path", 550), ("back", 2000)):
            must(done[step]["rows"] <= rows, f"many accounts, {step}: at most {rows} rows, not {done[step]['rows']}")
            must(done[step]["elements"] < 60_000, f"many accounts, {step}: {done[step]['elements']} elements")
        must(done["first"]["rows"] == 502 and done["first"]["elements"] < 20_000 and 0 < done["boxes"] < 3000, f"many accounts, first: {done['first']}")
        must(done["first"]["note"].startswith("501 of 100,001 accounts are shown."), f"many accounts, what is said: {done['first']['note']}")
        must(len(done["first"]["more"]) == 1 and done["first"]["more"][0].startswith("show 500 moreof 500 smaller accounts that use "), f"what is left out: {done['first']['more']}")
        must(done["more"]["rows"] == 1001 and not done["more"]["more"], f"more rows: {done['more']}")
        must(done["unfolded"]["rows"] == 1502 and done["unfolded"]["more"][0].startswith("show 500 moreof 59,5"), f"an account of 60,000: {done['unfolded']}")
        must(done["all"]["rows"] > 1000 and done["all"]["note"] and done["back"]["rows"] == done["all"]["rows"], f"as many as there may be: {done['all']}")
        must(done["found"]["note"].startswith("500 of 99,000 accounts that were found are shown"), f"found: {done['found']}")
        must(done["path"]["note"].startswith("500 of 99,000 accounts") and done["none"]["note"].startswith("0 accounts found"), f"found: {done['path']}")

        long, odd = "€" + "x" * 41 + "...", "a: 1 <b> / \u240a\u2421 \ufffd"
        whole_odd = "a: 1 <b> / \n\x7f \u202e"
        reads = drawn(browser, folder / "refused.html", LINKS)
        links = json.loads(reads.body["data-done"])
        report = (folder / "refused.html").read_text().split("<pre>\n")[1].split("</pre>")[0]
        must(reads.body["data-text"] == html.unescape(report), "links change no text of a report")
        below = {f"{long} / ... / {long}": f"{long} / {long} / {long}", "query 2 / ... / build / table": "query 2 / join / stage / build / table",
                 f"query 1 / {odd}": f"query 1 / {whole_odd}"}  # where a path is not all names
        leads = [line[line.index("[") + 1:line.rindex("]")] for line, *_ in links]
        must(leads == ["query 1", "engine", "engine", f"{long} / ... / {long}", "query 2 / ... / build / table", f"query 1 / {odd}", f"{long} / {long}", "query 2 / join",
                       "query 1 / join"], f"lines that lead to accounts: {leads}")
        for path, (_, accounts, title, box) in zip(leads, links):
            to = "engine" if path == "engine" else "engine / " + below.get(path, path)
            must((accounts, title, box) == ([to], "Accounts of engine", "100%"), f"{path} leads to {accounts}, {title}, {box}")
        part = [(line, accounts, title) for line, accounts, title, _ in json.loads(drawn(browser, folder / "part.html", LINKS).body["data-done"])]
        whole = "€" + "x" * 60  # here, not in a copy at the peak
        must([p[1:] for p in part] == [([f"{whole} / {whole} / {whole}"], "Accounts of " + long), (["join / stage / build / table"], "Accounts of query 2 / join"),
                                       ([f"{whole} / {whole}"], "Accounts of " + long), (["join"], "Accounts of query 2 / join")],
             f"lines lead to accounts of a part of the tree: {part}")

        done = json.loads(drawn(browser, folder / "large.html", CLICKS).body["data-done"])
        top = [a for a, _ in account_rows(json.loads(page.reports[next(k for k, v in page.kinds.items() if v == "accounts")])) if a.count(" / ") < 2]
        must(done["first"] is False and done["second"] is True, f"the peak is shown first, then the other: {done}")
        must(done["all"] == 403 and done["folded"] == len(top) and done["closed"] == 1 and done["open"] == 403, f"accounts fold: {done}")
        must(done["enlarged"] == "100%" and done["back"], f"a box is enlarged, and goes back: {done}")
        must(0 < done["found"] < 30, f"a name is found: {done}")
        must("charged " in done["tip"], f"keys move through the samples: {done}")


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: no chromium (Debian: apt-get install chromium), so no page was drawn")
        sys.exit(77)
    for file in sys.argv[1:]:
        print(f"{file}: {check(file, drawn(browser, pathlib.Path(file)))} numbers")
    if len(sys.argv) == 1:
        own_pages(browser)


if __name__ == "__main__":
    main()
