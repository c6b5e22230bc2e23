"""The page and the plot of tpch.py."""
import statistics

FULL, MB, MIB = 2000, 10**6, 2**20
QUERIES = ["q1", "q3", "q9", "q18", "join", "sort"]
SHOWN = {"q1": "Q1", "q3": "Q3", "q9": "Q9", "q18": "Q18", "join": "join", "sort": "sort"}
COLOURS = {"duckdb": "#e08214", "tpch": "#1f6fb4"}
DUCKDB_FLOORS = {"q1": 7.1, "q3": 20, "q9": 28, "q18": 25, "join": 47, "sort": 84}


def spelled(limit):
    return "2 GB" if limit == FULL else f"{limit:g} MB"


class Cell:
    """The runs of one engine with the same queries and limit: the medians of those that ended, of the better number of threads."""

    def __init__(self, data, query, limit, engine):
        self.runs = [r for r in data["runs"] if (r["query"], r["limit"], r["engine"]) == (query, limit, engine)]
        self.of = len(query.split(","))
        self.groups = {}
        for run in self.runs:
            self.groups.setdefault(run["threads"], []).append(run)
        self.errors = [e for run in self.runs for e in run["errors"]]

    @property
    def ended_runs(self):
        """Those of the numbers of threads with which most runs ended."""
        if not self.groups:
            return []
        ends = {t: [r for r in runs if r["ended"] == self.of and not r["errors"]] for t, runs in self.groups.items()}
        most = max(len(runs) for runs in ends.values())
        return [runs for runs in ends.values() if len(runs) == most and runs]

    def least(self, key):
        found = [statistics.median(r[key] for r in runs) for runs in self.ended_runs]
        return min(found) if found else None

    def ends(self):
        """How many queries ended, of how many, with the better number of threads."""
        counts = [(sum(r["ended"] for r in runs), len(runs) * self.of) for runs in self.groups.values()]
        return max(counts, default=(0, 0))

    def cpu_of_any(self):
        found = [r["processor_seconds"] for r in self.runs if "processor_seconds" in r]
        return statistics.median(found) if found else None


class Found:
    def __init__(self, data):
        self.data, self.cells = data, {}

    def __call__(self, query, limit, engine):
        key = (query, limit, engine)
        if key not in self.cells:
            self.cells[key] = Cell(self.data, *key)
        return self.cells[key]

    def cpu(self, query, limit, engine):
        return self(query, limit, engine).least("processor_seconds")

    def to_full(self, query, limit, engine):
        here, full = self.cpu(query, limit, engine), self.cpu(query, FULL, engine)
        return here / full if here and full else None

    def limits(self, query):
        return sorted({r["limit"] for r in self.data["runs"] if r["query"] == query}, reverse=True)

    def together(self):
        return sorted({(r["query"], r["limit"]) for r in self.data["runs"] if "," in r["query"]})


def number(value, digits=2, scale=1):
    return "-" if value is None else f"{value / scale:.{digits}f}"


def table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def cell_rows(found):
    for query in QUERIES:
        for limit in found.limits(query):
            row = [SHOWN[query], spelled(limit)]
            for engine in ("duckdb", "tpch"):
                cell = found(query, limit, engine)
                ended, of = cell.ends()
                if ended:
                    wall = number(cell.least("seconds")) + ("" if ended == of else f" ({ended} of {of} end)")
                    row += [wall, number(cell.least("processor_seconds")), number(found.to_full(query, limit, engine)),
                            number(cell.least("written"), 2, 1e9), number(cell.least("resident"), 0, MB)]
                else:
                    row += ["dies" if of else "-", "-", "-", "-", "-"]
            yield row


def deaths(found):
    """A row for each engine, cell and number of threads of which runs died."""
    for query, limit in [(q, l) for q in QUERIES for l in found.limits(q)]:
        for engine in ("duckdb", "tpch"):
            for threads, runs in sorted(found(query, limit, engine).groups.items()):
                died = [r for r in runs if r["errors"]]
                if died:
                    took = [r["seconds"] for r in died if "seconds" in r]
                    yield [SHOWN[query], spelled(limit), engine_name(engine), str(threads), f"{len(died)} of {len(runs)}",
                           number(statistics.median(took) if took else None), died[0]["errors"][0].replace("|", "/")[:160]]


def engine_name(engine):
    return {"duckdb": "DuckDB", "tpch": "tpch"}[engine]


def together_rows(found):
    for query, limit in found.together():
        for engine in ("duckdb", "tpch"):
            cell = found(query, limit, engine)
            if not cell.runs:
                continue
            ended, of = cell.ends()
            times = [r["seconds"] for r in cell.runs if "seconds" in r]
            written = [r["written"] for r in cell.runs if "written" in r]
            resident = [r["resident"] for r in cell.runs if "resident" in r]
            names = [e.split(":")[0] for e in cell.errors]
            died = ", ".join(f"{names.count(n)} {SHOWN.get(n, n)}" for n in sorted(set(names))) or "none"
            yield [query.replace(",", ", "), spelled(limit), engine_name(engine), f"{ended} of {of}", died,
                   number(statistics.median(times) if times else None), number(cell.cpu_of_any()),
                   number(statistics.median(written) if written else None, 2, 1e9), number(max(resident) if resident else None, 0, MB)]


def larger_rows(runs):
    for r in sorted(runs, key=lambda r: (r["query"], -r["limit"], r["engine"] == "tpch", r["threads"])):
        yield [SHOWN[r["query"]], spelled(round(r["limit"])), engine_name(r["engine"]), str(r["threads"]), number(r.get("seconds"), 1) if not r["errors"] else "dies",
               number(r.get("processor_seconds"), 1), number(r.get("written"), 2, 1e9), number(r.get("resident"), 0, MB)]


def least_rows(found):
    for query in QUERIES:
        row = [SHOWN[query]]
        for threads in (2, 1):
            one = next((l for l in found.data.get("least", []) if (l["query"], l["threads"]) == (query, threads)), None)
            row += [number(one and one["limit"], 1), number(one and one["resident"], 1, MB), number(one and one["processor_seconds"])]
        yield row + [f"{DUCKDB_FLOORS[query]:g}"]


# ---- the goals ----------------------------------------------------------------------------------------------

def verdict(value, most):
    return "no data" if value is None else "met" if value <= most else "**missed**"


def goal_rows(found):
    def at_most(what, value, most, unit="", digits=2):
        return [what, f"<= {most:g}{unit}", number(value, digits) + (unit if value is not None else ""), verdict(value, most)]

    def ends(what, pairs):
        counts = [found(q, l, "tpch").ends() for q, l in pairs]
        ended, of = sum(c[0] for c in counts), sum(c[1] for c in counts)
        return [what, "all", f"{ended} of {of}", "no data" if not of else "met" if ended == of else "**missed**"]

    def worst(values):
        return max(((v, name) for v, name in values if v is not None), default=(None, ""))

    alone = [(q, l) for q in QUERIES for l in found.limits(q)]
    yield ends("each query alone at each limit ends right", alone)
    for query, limit, most in (("join", 91, 2.0), ("join", 36, 2.5), ("sort", 312, 1.3), ("sort", 125, 1.4), ("q18", 33, 1.25)):
        yield at_most(f"{SHOWN[query]} at {limit} MB, CPU to that without limit", found.to_full(query, limit, "tpch"), most)
    ratios = [(found.cpu(q, l, "tpch") / found.cpu(q, l, "duckdb"), f"{SHOWN[q]} at {spelled(l)}")
              for q, l in alone if found.cpu(q, l, "duckdb") and found.cpu(q, l, "tpch")]
    limited, full = [r for r in ratios if "2 GB" not in r[1]], [r for r in ratios if "2 GB" in r[1]]
    for what, those in (("CPU to DuckDB's at the same limit, where it ends", limited), ("CPU to DuckDB's without limit", full)):
        value, name = worst(those)
        over = [n for v, n in those if v > 2]
        yield at_most(what + (f"; worst: {name}" if name else "") + (f"; over: {', '.join(over)}" if len(over) > 1 else ""), value, 2)
    four, one, one_full = found.cpu("join,join,join,join", 365, "tpch"), found.cpu("join", 365, "tpch"), found.cpu("join", FULL, "tpch")
    yield at_most("four joins at 365 MB, CPU to four times that of one alone at 365 MB" +
                  (f" ({four / (4 * one_full):.2f} of one without limit)" if four and one_full else ""), four / (4 * one) if four and one else None, 1.15)
    yield ends("Q9, Q18, Q9, Q18 at 119 MB", [("q9,q18,q9,q18", 119)])
    yield ends("Q9, Q18, join, sort at 185 MB", [("q9,q18,join,sort", 185)])
    for query, limit, most in (("sort", 125, 0.75), ("join", 91, 1.4)):
        value = found(query, limit, "tpch").least("written")
        yield at_most(f"{SHOWN[query]} at {limit} MB, written", value and value / 1e9, most, " GB")
    # Which share of what is allowed above the start was used.
    used = {}
    for r in found.data["runs"]:
        if r["engine"] == "tpch" and "resident" in r:
            name = f"{r['query'].replace(',', ', ')} at {spelled(r['limit'])}"
            used[name] = max(used.get(name, (0, "")), (r["resident"] / allowed(r["limit"] * MB), f"{name}: {r['resident'] / MB:.0f} MB"))
    over = [text for share, text in used.values() if share > 1]
    share, text = max(used.values(), default=(None, ""))
    yield at_most("resident less start, to the limit + 16 MiB (below 64 MiB: 1.25 limits + 8 MiB)"
                  + (f"; over: {'; '.join(over)}" if over else f"; most: {text}" if text else ""), share, 1)


def allowed(limit):
    return limit + 16 * MIB if limit >= 64 * MIB else 1.25 * limit + 8 * MIB


# ---- the page -----------------------------------------------------------------------------------------------

def what_it_shows(found):
    cells = [(q, l) for q in QUERIES for l in found.limits(q)]
    names = lambda those: ", ".join(f"{SHOWN[q]} at {spelled(l)}" for q, l in those)
    ends = [c for c in cells if found(*c, "tpch").ends()[1] and found(*c, "tpch").ends()[0] == found(*c, "tpch").ends()[1]]
    dies = [c for c in cells if found(*c, "duckdb").ends()[1] and not found(*c, "duckdb").ends()[0]]
    dearest = max(((v, c) for c in cells if c[1] != FULL and (v := found.to_full(*c, "tpch"))), default=None)
    shows = [f"**What it shows.** The example ends right in each run of {len(ends)} of {len(cells)} cells."]
    if dearest:
        shows.append(f"A small limit costs it time, not the answer: at most {dearest[0]:.2f} times its own CPU at 2 GB ({names([dearest[1]])}).")
    if dies:
        shows.append(f"DuckDB dies with either number of threads in {len(dies)}: {names(dies)}.")
    for query, limit in found.together():
        mine, other = found(query, limit, "tpch"), found(query, limit, "duckdb")
        if mine.runs and other.runs:
            shows.append(f"Of {query.replace(',', ', ')} at {spelled(limit)}, {mine.ends()[0]} of {mine.ends()[1]} queries end in tpch and {other.ends()[0]} of "
                         f"{other.ends()[1]} in DuckDB, with {number(mine.cpu_of_any())} and {number(other.cpu_of_any())} CPU s.")
    over = max(((r["resident"] / MB - r["limit"], r) for r in found.data["runs"] if r["engine"] == "duckdb" and r["limit"] < FULL and "resident" in r),
               key=lambda o: o[0], default=None)
    if over:
        shows.append(f"DuckDB's limit is no bound on its resident memory: {over[1]['query'].replace(',', ', ')} at {spelled(over[1]['limit'])} took "
                     f"{over[1]['resident'] / MB:.0f} MB more than at the start.")
    yield " ".join(shows)

    def ahead(key, digits, scale=1):
        both = [(c, found(*c, "tpch").least(key), found(*c, "duckdb").least(key)) for c in cells]
        return ", ".join(f"{names([c])} ({mine / scale:.{digits}f} to {other / scale:.{digits}f})" for c, mine, other in both
                         if mine is not None and other is not None and round(mine / scale, digits) > round(other / scale, digits))

    lines = ["**Where DuckDB is ahead.** ours to theirs:"]
    for what, key, scale in (("CPU seconds", "processor_seconds", 1), ("seconds", "seconds", 1), ("GB written", "written", 1e9), ("MB resident", "resident", MB)):
        found_here = ahead(key, 0 if scale == MB else 2, scale)
        lines.append(f"- {what}: {found_here or 'nowhere here'}.")
    yield "\n".join(lines)
    yield ("DuckDB answers any SQL, and plans each query itself. The example has six queries, each with a plan and row types that were written for it. It reads with Arrow. "
           "DuckDB's rows of `sort` become Arrow batches of 100,000 rows, which Python counts; the example computes the checksum of its rows.")


def text(data):
    found, machine = Found(data), data["machine"]
    counts = [len(runs) for cell in {(r["query"], r["limit"], r["engine"]) for r in data["runs"]} for runs in found(*cell).groups.values()]
    rounds = "no rounds" if not counts else f"{max(counts)} rounds" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)} rounds"
    lines = ["# Queries in too little memory, beside DuckDB\n",
             f"The example [tpch](../../examples/tpch) and DuckDB answer the same queries of TPC-H at scale 1 below the same limits. Both read the same Parquet "
             f"files (row groups of 2 MB) while the clock runs. Medians of {rounds}, both in turn, in an order that changes. MB is 10^6 bytes.\n",
             f"On {machine['date']}: {machine['cpu']}, {machine['threads']} threads, {machine['memory_gib']} GiB, Linux {machine['linux']}; "
             f"DuckDB {machine['duckdb']}, Arrow {machine['pyarrow']}"
             + (f", {machine['built']}" if machine["built"] else "") + f". Load when it began: {machine['load']}."
             + (" Other work ran beside it: compare CPU seconds; seconds are of a busy machine." if machine["load"] > machine["threads"] else "")
             + (f" {data['note']}" if "note" in data else "") + "\n",
             "- The limits: 2 GB, DuckDB's own peak, a quarter and a tenth of it, but never below 16 MB; for `join` and `sort` one more.\n"
             "- `tpch` has 2 threads. DuckDB has 2 and 1; each number is the better one of those that end. It runs in a new process each time, with "
             "`preserve_insertion_order = false` and a folder for its files.\n"
             "- CPU: processor seconds of the process while the query runs. \"to full\": CPU to that of the same engine at 2 GB. Written: bytes that went to files; of DuckDB its "
             "`total_bytes_spilled`. Resident: the peak less what the process had when the clock began.\n"
             "- `sort`: all 16 columns of lineitem by ship date, order and line, streamed. `join`: all columns of lineitem and orders; DuckDB sums their hashes. `tpch` also "
             "compares each answer with DuckDB's: checksums of all columns, and of their order.\n",
             "Command: [bench/tpch.py](../../bench/tpch.py). Numbers: [tpch.json](tpch.json).\n",
             "![CPU time over the limit](tpch.svg)\n"]
    lines += table(["query", "limit", "DuckDB: s", "CPU s", "to full", "GB written", "MB resident", "tpch: s", "CPU s", "to full", "GB written", "MB resident"],
                   cell_rows(found))
    died = list(deaths(found))
    lines += ["## Runs that died\n"] + (table(["query", "limit", "engine", "threads", "died", "after s", "first line of the error"], died) if died else ["None.\n"])
    lines += ["## Four at once\n",
              "DuckDB: four cursors in four threads of one process with one memory limit. tpch: `--tasks 4`. Both have 2 threads. Seconds and CPU are medians of all runs, "
              "also of those in which a query died.\n"]
    lines += table(["queries", "limit", "engine", "end", "died", "s", "CPU s", "GB written", "MB resident at most"], together_rows(found))
    if data.get("larger"):
        lines += [f"## Scale {data['larger_scale']}\n", f"Once, in turn: a quarter and a tenth of {data['larger_scale']} times DuckDB's peaks at scale 1. The answers were compared with DuckDB's of that scale.\n"]
        lines += table(["query", "limit", "engine", "threads", "s", "CPU s", "GB written", "MB resident"], larger_rows(data["larger"]))
    lines += ["## Least limits\n", "tpch: found by bisection, in steps of 6 %; three runs of three end right, each in 15 s. MB. The last column was measured before, with DuckDB 2.0.0 and row groups of 7 MiB.\n"]
    lines += table(["query", "2 threads", "resident", "CPU s", "1 thread", "resident", "CPU s", "DuckDB"], least_rows(found))
    lines += ["## Goals\n"] + table(["goal", "bound", "measured", ""], goal_rows(found))
    lines += [paragraph + "\n" for paragraph in what_it_shows(found)]
    return "\n".join(lines).rstrip() + "\n"


# ---- the plot -----------------------------------------------------------------------------------------------

def draw(data, path):
    try:
        import matplotlib
    except ImportError:
        print("without matplotlib there is no plot")
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "tpch"
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter
    found = Found(data)
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.6))
    for axis, query in zip(axes.flat, QUERIES):
        limits = found.limits(query)
        every = [v for l in limits for e in ("duckdb", "tpch") if (v := found.cpu(query, l, e))]
        if not every:
            continue
        bottom, top = min(every) / 1.7, max(every) * 1.5
        for engine, colour in COLOURS.items():
            points = [(l, v) for l in limits if (v := found.cpu(query, l, engine))]
            axis.plot([p[0] for p in points], [p[1] for p in points], "o-", color=colour, markersize=4, linewidth=1.2)
            dead = [l for l in limits if found(query, l, engine).ends()[1] and not found(query, l, engine).ended_runs]
            axis.plot(dead, [bottom * 1.15] * len(dead), "x", color=colour, markersize=7, markeredgewidth=1.8)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(bottom, top)
        axis.set_title(SHOWN[query], fontsize=10)
        axis.xaxis.set_major_locator(FixedLocator(limits))
        axis.xaxis.set_minor_locator(NullLocator())
        crowded = {small for small, large in zip(limits[1:], limits) if large < 1.4 * small}
        axis.set_xticklabels(["" if l in crowded else f"{l:g}" for l in limits], fontsize=7)
        axis.yaxis.set_major_locator(FixedLocator([t for t in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15) if bottom <= t <= top]))
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_minor_locator(NullLocator())
        axis.tick_params(axis="y", labelsize=7)
        axis.grid(alpha=0.25, linewidth=0.5)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    figure.legend([axes.flat[0].plot([], [], "o-", color=colour, markersize=4)[0] for colour in COLOURS.values()], [engine_name(e) for e in COLOURS],
                  loc="lower right", fontsize=8, ncols=2, frameon=False)
    figure.supxlabel("limit, MB (2000: no limit); a cross: no run ended", fontsize=8)
    figure.supylabel("CPU seconds", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
