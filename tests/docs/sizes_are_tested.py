#!/usr/bin/env python3
"""Sizes that a page or a header states are those that tests/static holds: a size that changes there must change here, too."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sizes = (root / "tests/static/account/sizes.cpp").read_text()
STATED = { # type in the test: (file, text with the number)
    "account": [("docs/accounts.md", r"An account is (\d+) bytes"), ("include/allot/account/account.hpp", r"Cost: (\d+) bytes per account"),
                ("include/allot/tree/account_node.hpp", r"Cost: (\d+) bytes")],
    "detail::tree_node": [("include/allot/tree/tree_node.hpp", r"Cost: (\d+) bytes")],
    "detail::level_totals": [("include/allot/tree/level_totals.hpp", r"Cost: (\d+) bytes")],
    "detail::leaf_credit": [("include/allot/tree/leaf_credit.hpp", r"Cost: (\d+) bytes")],
    "detail::account_lifetime": [("include/allot/tree/account_lifetime.hpp", r"Cost: (\d+) bytes")],
    "detail::observers": [("include/allot/tree/observers.hpp", r"Cost: (\d+) bytes")],
    "detail::reclaimers": [("include/allot/request/reclaimers.hpp", r"Cost: (\d+) bytes")],
    "detail::open_counts": [("include/allot/tree/open_counts.hpp", r"Cost: (\d+) bytes")],
    "account_item": [("include/allot/tree/account_item.hpp", r"Cost: (\d+) bytes")],
    "account_reservation": [("include/allot/account/account_reservation.hpp", r"Cost: (\d+) bytes")],
    "detail::queued_reservation": [("include/allot/account/queued_reservation.hpp", r"Cost: (\d+) bytes")],
    "detail::shared_level": [("include/allot/request/shared_level.hpp", r"Cost: (\d+) bytes a level")],
    "tenant": [("include/allot/request/tenant.hpp", r"Cost: (\d+) bytes")],
}

wrong = []
for of, places in STATED.items():
    tested = re.search(rf"sizeof\({of}\) == (?:\(ALLOT_CHECKED \? \d+ : )?(\d+)", sizes)
    if not tested:
        wrong.append(f"tests/static/account/sizes.cpp does not hold sizeof({of})")
        continue
    for name, text in places:
        stated = re.search(text, " ".join((root / name).read_text().replace("\n//", "\n").split()))
        if not stated or stated.group(1) != tested.group(1):
            wrong.append(f"{name}: {of} has {tested.group(1)} bytes, stated: {stated.group(1) if stated else 'nothing'}")
print("\n".join(wrong) or "each stated size is that of the test")
sys.exit(bool(wrong))
