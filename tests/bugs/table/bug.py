"""What a planted bug is made of."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    test: str  # that goes red, below tests/
    changes: tuple  # of (what is there, what is there with the bug)
    within: str | None  # the function or class around each change, where its tokens alone are not unique
    law: int  # of docs/house.md, section 4, that it breaks
    smoke: bool  # it is planted in every run of the tests


def bug(test, *texts, law, within=None, smoke=False):
    return Bug(test, tuple(zip(texts[::2], texts[1::2], strict=True)), within, law, smoke)


def wait(every, long):
    """Makes a race likely, inside its window: one caller in `every` yields `long` times. Seldom and short where the step is
    taken very often."""
    return f"""{{
        static std::atomic<unsigned> turn{{0}};
        if (turn.fetch_add(1) % {every} == 0)
            for (int i = 0; i < {long}; ++i) ::sched_yield();
    }}"""
