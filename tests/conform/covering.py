#!/usr/bin/env python3
"""Writes sets.inc: the policy sets that the row-manager suite and the soak run over, in three lists.

    of_3  the triples: every choice of three answers to three questions of a row manager's set is in at least one set
    of_2  the pairs: the same for every choice of two answers
    of_1  the dozen: every answer is in at least one set, and the sets hold as many pairs as twelve sets can, greedily

docs/tests.md says which stage takes which list. The lists are made greedily by a fixed seed, so the file is the same on
every machine; then they are checked by counting.

    covering.py           writes sets.inc
    covering.py --check   fails when sets.inc is not what would be written; prints the counts
    covering.py --list    prints the sets
"""
import itertools
import pathlib
import sys

# question: {answer in a test's name: answer in C++}
QUESTIONS = {
    "page": {"mapped": "allot::page::mapped<>", "huge_pages": "allot::page::huge_pages<>",
             "borrowed": "allot::page::borrowed", "of": "allot::page::of<allot::arena<>>",
             "on_device": "allot::page::on_device<allot::device::simulated>"},
    "size": {"roxie": "allot::size::bucketed<allot::size::list::roxie>",
             "thor": "allot::size::bucketed<allot::size::list::thor>",
             "fine": "allot::size::bucketed<allot::size::list::fine>",
             "own": "allot::size::bucketed<own_list>",
             "packed": "allot::size::packed", "exact": "allot::size::exact", "in_spans": "allot::size::in_spans"},
    "slots": {"linked": "allot::slots::linked", "bitmap": "allot::slots::bitmap",
              "scanning": "allot::slots::scanning", "delayed": "allot::slots::delay_release"},
    "heap": {"shared": "allot::heap::shared", "unique": "allot::heap::unique",
             "per_thread": "allot::heap::per_thread", "shared_by": "allot::heap::shared_by<2>"},
    "refill": {"single": "allot::refill::single", "blocked": "allot::refill::blocked<16>"},
    "count": {"links": "allot::count::links", "links_out_of_band": "allot::count::links_out_of_band",
              "uncounted": "allot::count::none"},
    "ledger": {"counter": "allot::ledger::counter", "no_ledger": "allot::ledger::none", "tree": "allot::ledger::tree",
               "pool": "allot::ledger::pool"},
    "oom": {"null": "allot::oom::null", "raise": "allot::oom::raise"},
    "retain": {"never": "allot::retain::never", "on_call": "allot::retain::on_call",
               "on_pressure": "allot::retain::on_pressure"},
    "watch": {"watched": "allot::watch::counters", "unwatched": "allot::watch::none", "peaks": "allot::watch::peaks",
              "traced": "allot::watch::trace<allot::watch::trace_options{.events = 64, .every_nth_row = 7}>"},
    "guard": {"unguarded": "allot::guard::none", "coded": "allot::guard::all<allot::guard::encoded, allot::guard::canary>",
              "quarantined": "allot::guard::quarantine<32>", "zeroed": "allot::guard::zero"},
}
# Pairs of answers that make no legal set.
ILLEGAL = {frozenset([("page", "on_device"), answer]) for answer in [
    ("size", "in_spans"), ("slots", "linked"), ("slots", "scanning"), ("slots", "delayed"), ("count", "links"),
    ("guard", "coded"), ("guard", "quarantined"), ("guard", "zeroed")]}
DOZEN = 12
CANDIDATES = 40

ANSWERS = [[(question, answer) for answer in answers] for question, answers in QUESTIONS.items()]


class Lcg:
    """The same numbers on every machine and Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def legal(answers):
    return not any(frozenset(pair) in ILLEGAL for pair in itertools.combinations(answers, 2))


def wanted(strength):
    """All choices of `strength` answers to different questions that are legal."""
    return {choice for questions in itertools.combinations(ANSWERS, strength)
            for choice in itertools.product(*questions) if legal(choice)}


def covered(row, strength):
    return set(itertools.combinations(row, strength))


def candidate(missing, random):
    """A legal row that starts from a missing choice; each further question takes the answer that covers most."""
    start = missing[random.below(len(missing))]
    row = {question: (question, answer) for question, answer in start}
    order = [answers for answers in ANSWERS if answers[0][0] not in row]
    for i in range(len(order) - 1, 0, -1):
        j = random.below(i + 1)
        order[i], order[j] = order[j], order[i]
    open_choices = set(missing)
    strength = len(start)
    for answers in order:
        best, most = None, -1
        first = random.below(len(answers))
        for k in range(len(answers)):
            answer = answers[(first + k) % len(answers)]
            if not legal([*row.values(), answer]):
                continue
            rank = [a for questions in ANSWERS for a in questions if a == answer or row.get(a[0]) == a]
            gain = sum(choice in open_choices for choice in itertools.combinations(rank, strength) if answer in choice)
            if gain > most:
                best, most = answer, gain
        row[best[0]] = best
    return tuple(row[question] for question in QUESTIONS)


def cover(strength, most=None):
    """Sets that hold all choices of `strength` answers, or the first `most` of them."""
    random = Lcg(20261121 + strength)
    missing = wanted(strength)
    rows = []
    while missing and len(rows) != most:
        ordered = sorted(missing)
        best = max((candidate(ordered, random) for _ in range(CANDIDATES)),
                   key=lambda row: len(covered(row, strength) & missing))
        rows.append(best)
        missing -= covered(best, strength)
    # Neighbours share most of the heap's code, so that a translation unit compiles it once.
    key = ["slots", "count", "ledger", "size", "page"]
    names = list(QUESTIONS)
    return sorted(rows, key=lambda row: ([row[names.index(k)] for k in key], row))


def verified(rows, strength):
    seen = set().union(*(covered(row, strength) for row in rows))
    assert seen >= wanted(strength) and all(legal(row) for row in rows)
    return len(wanted(strength))


def lines(rows, strength):
    for i, row in enumerate(rows):
        text = " ".join(answer for _, answer in row)
        answers = ", ".join(QUESTIONS[question][answer] for question, answer in row)
        yield f'ALLOT_ROW_SET(of_{strength}_{i:03}, "{text}", {answers})'


def main(arguments):
    rows = {3: cover(3), 2: cover(2), 1: cover(2, DOZEN)}
    triples, pairs = verified(rows[3], 3), verified(rows[2], 2)
    verified(rows[1], 1)
    held = len(set().union(*(covered(row, 2) for row in rows[1])))
    counts = (f"{len(rows[3])} sets hold all {triples} choices of three answers, {len(rows[2])} sets all {pairs} choices of two, "
              f"{len(rows[1])} sets every answer and {held} choices of two.")
    text = "\n".join([
        "// Generated by covering.py: the sets of the row-manager suite. tests/sets.cmake makes files of them.",
        "// " + counts,
        *(line for strength in rows for line in lines(rows[strength], strength)), ""])
    target = pathlib.Path(__file__).resolve().with_name("sets.inc")
    print(counts)
    if "--list" in arguments:
        for row in rows[3]:
            print(" ", " ".join(answer for _, answer in row))
    elif "--check" in arguments:
        if not target.exists() or target.read_text() != text:
            sys.exit("sets.inc is not current: run tests/conform/covering.py and commit it")
    else:
        target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
