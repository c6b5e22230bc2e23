#include "engine.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace flights {

memory_use engine::measure(std::string when) const {
    memory_use use;
    use.when = std::move(when);
    use.limit = account.limit();
    use.charged = account.used();
    use.committed = pages.stats().committed;
    use.resident = pages.resident();
    use.peak = account.peak();
    for (const table_memory_base* t : tables_) t->add_to(use);
    std::sort(use.heaps.begin(), use.heaps.end(),
              [](const heap_line& a, const heap_line& b) { return a.bytes > b.bytes; });
    return use;
}

std::optional<refusal> engine::refused(const allot::out_of_memory& e) const {
    const std::lock_guard held{lock_};
    if (!last_.by_operator) return std::nullopt;
    const allot::charge_status& why = last_.why;
    char line[256];
    allot::text_writer out{line};
    out.put("out of memory: operator ").put(last_.by).put(" is refused ").bytes(why.requested);
    out.put(": it uses ").bytes(why.used).put(" of ").bytes(why.limit).newline();
    return refusal{last_.by, why.requested, why.used, why.limit, std::string(out.view()) + std::string(e.report())};
}

} // namespace flights
