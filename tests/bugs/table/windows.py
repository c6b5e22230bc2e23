"""What makes a race that is put back likely: a wait inside its window."""


def wait(every, long):
    """A caller in so many waits so long: seldom and short where the step is taken very often."""
    return f"""{{
            static std::atomic<unsigned> turn{{0}};
            if (turn.fetch_add(1) % {every} == 0)
                for (int i = 0; i < {long}; ++i) yield();
        }}"""


# For a header that knows no yield().
YIELDS = "#include <allot/sync/full_fence.hpp>\n", "#include <allot/sync/full_fence.hpp>\n#include <allot/sync/pause.hpp>\n"
