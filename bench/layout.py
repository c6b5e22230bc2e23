"""Tables and numbers as Markdown, for table.py and summary.py."""


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def number(value):
    return "-" if value is None or value == float("inf") else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1e4 else f"{value:.0f}"


def machine_line(machine):
    facts = ", ".join(machine[k] for k in ("cpu", "memory", "kernel", "compiler", "date") if k in machine)
    return f"- Machine: {facts}; load before: {machine.get('load before', 'unknown')}. Peers: {machine.get('peers', 'none')}."


def with_quartiles(found):
    """The median of (low, median, high), and the quartiles where they differ."""
    low, median, high = found
    return number(median) + (f" [{number(low)}-{number(high)}]" if low != high else "")
