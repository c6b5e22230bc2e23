"""The results of a run: results.json and results.md, written after each step, so that a run that is cut short keeps them."""
import json
import os


class Results:
    def __init__(self, folder, title, facts, made_up=False):
        self.folder, self.title, self.made_up = folder, title, made_up
        self.data = {"title": title, "made_up": made_up, "facts": facts, "steps": [], "limits": [], "replays": [], "registers": []}
        folder.mkdir(parents=True, exist_ok=True)
        self.flush()

    def step(self, name, outcome, seconds, note=""):
        """outcome: passed, failed, skipped or cut."""
        self.data["steps"].append({"step": name, "outcome": outcome, "seconds": round(seconds, 1), "note": note})
        self.flush()

    def measurement(self, measurement):
        self.data["replays" if "trace" in measurement else "limits"].append(measurement)
        self.flush()

    def registers(self, rows):
        self.data["registers"] = [dict(zip(("source", "kernel", "sm", "registers", "ceiling"), r)) for r in rows]
        self.flush()

    def flush(self):
        for name, text in (("results.json", json.dumps(self.data, indent=1) + "\n"), ("results.md", markdown(self.data))):
            part = self.folder / (name + ".part")
            part.write_text(text, encoding="utf-8")
            os.replace(part, self.folder / name)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in row) + " |" for row in rows] + [""]


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markdown(data):
    lines = [f"# {data['title']}", ""]
    if data["made_up"]:
        lines += ["**MADE UP: no number below was measured. They test the writer of this page.**", ""]
    facts = dict(data["facts"])
    for gpu in facts.pop("gpus", []):
        lines.append("- GPU: " + ", ".join(f"{k} {v}" if k != "name" else v for k, v in gpu.items()))
    lines += [f"- {key}: {value}" for key, value in facts.items()] + [""]
    lines += ["## Steps", ""]
    lines += table(("step", "outcome", "s", "note"), [(s["step"], s["outcome"], s["seconds"], s["note"]) for s in data["steps"]])
    if data["limits"]:
        lines += ["## Physical limits", ""]
        lines += table(("what", "value", "unit"), [(f["limit"], number(f["value"]), f["unit"]) if "value" in f else (f["limit"], "-", f["missing"])
                                                   for f in data["limits"]])
    if data["replays"]:
        lines += ["## Traces", "", "Host time per call in ns, in the last round of each trace. held / live: device memory in use when the most bytes "
                  "are live, over those bytes. Round 0 allocates all memory from the device. torch is called through Python.", ""]
        last, first = {}, {}
        for r in data["replays"]:
            first.setdefault((r["trace"], r["subject"]), r)
            last[r["trace"], r["subject"]] = r
        for trace in dict.fromkeys(key[0] for key in last):
            lines += [f"### {trace}", ""]
            rows = []
            for (of, subject), r in last.items():
                if of == trace:
                    held = r["held_at_peak_bytes"] / r["peak_live_bytes"] if r["peak_live_bytes"] else 0
                    cut = "" if r["operations"] == r["of"] else f", cut at {r['operations']} of {r['of']}"
                    rows.append((subject + cut, *(number(r[f"{call}_{q}_ns"]) for call in ("allocate", "deallocate") for q in ("p50", "p99", "max")),
                                 f"{r['wall_ms']:.1f}", f"{first[of, subject]['wall_ms']:.1f}", f"{held:.2f}", r["failed"]))
            lines += table(("subject", "allocate p50", "p99", "max", "deallocate p50", "p99", "max", "ms, last round", "ms, round 0",
                            "held / live", "failed"), rows)
    if data["registers"]:
        lines += ["## Registers", ""]
        lines += table(("source", "kernel", "sm", "registers", "ceiling"),
                       [(r["source"], r["kernel"], r["sm"], r["registers"], r["ceiling"]) for r in data["registers"]])
    return "\n".join(lines).rstrip() + "\n"
