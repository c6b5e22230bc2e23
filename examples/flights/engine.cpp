#include "engine.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace flights {

memory_use engine::measure(std::string when) const {
    memory_use use;
    use.when = std::move(when);
    use.limit = account.limit();
    use.promised = account.promised();
    use.charged = account.used() - std::min(account.used(), use.promised);
    use.committed = pages.stats().committed;
    use.resident = pages.resident();
    use.peak = account.peak();
    const std::lock_guard held{lock_};
    for (const table_memory_base* t : tables_) t->add_to(use);
    std::sort(use.heaps.begin(), use.heaps.end(),
              [](const heap_line& a, const heap_line& b) { return a.bytes > b.bytes; });
    return use;
}

std::optional<refusal> refused_by_operator(const allot::out_of_memory& e) {
    const allot::charge_status& why = e.why();
    const auto* const its = std::find(operator_names.begin(), operator_names.end(), std::string_view(why.name));
    if (why.by != allot::refuser::account || its == operator_names.end()) return std::nullopt;
    char line[256];
    allot::text_writer out{line};
    out.put("out of memory: operator ").put(why.name).put(" is refused ").bytes(why.requested);
    out.put(": it uses ").bytes(why.used).put(" of ").bytes(why.limit).newline();
    return refusal{*its, why.requested, why.used, why.limit, std::string(out.view()) + std::string(e.report())};
}

} // namespace flights
