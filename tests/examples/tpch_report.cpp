// What the tpch example prints of memory: two numbers beside the limit, and nothing is cut where one exceeds it.
#include "report.hpp"
#include <cstdio>
#include <string>
#include <string_view>

static int failures = 0;
static void check(const std::string& text, std::string_view part, bool has = true) {
    if ((text.find(part) != text.npos) == has) return;
    ++failures;
    std::printf("%s: \"%.*s\" in\n%s\n", has ? "missing" : "wrong", int(part.size()), part.data(), text.c_str());
}

int main() {
    constexpr std::size_t mib = std::size_t{1} << 20;
    tpch::outcome o;
    o.limit = 32 * mib, o.by_account = 31 * mib, o.promised = 5 * mib, o.charged = 32 * mib;
    o.queries.resize(1);
    o.queries[0].name = "join";
    check(tpch::table_of(o),
          "resident at most 31.0 MiB of 32.0 MiB; promised to tasks 5120 KiB of 32.0 MiB, when both were 32.0 MiB\n");
    check(tpch::table_of(o), "BEYOND", false);

    tpch::outcome broken = o; // a breach shows, in both texts and in JSON
    broken.by_account = 33 * mib, broken.promised = 34 * mib, broken.charged = 36 * mib;
    check(tpch::table_of(broken), "resident at most 33.0 MiB of 32.0 MiB (BEYOND THE LIMIT); promised to tasks 34.0 "
                                  "MiB of 32.0 MiB (BEYOND THE LIMIT)");
    check(tpch::table_of(std::vector{o, broken}), "33.0 MiB (BEYOND THE LIMIT)");
    check(tpch::json_of(broken), "\"resident_by_account\":34603008");
    check(tpch::json_of(broken), "\"promised\":35651584");
    check(tpch::json_of(broken), "\"charged\":37748736");

    check(tpch::table_of(broken), "when both were 36.0 MiB (BEYOND THE LIMIT)\n");
    broken.account.lowered = true;
    check(tpch::table_of(broken), "33.0 MiB of 32.0 MiB (the limit was lowered)");

    tpch::outcome free = o; // without a limit
    free.limit = 4096 * mib, free.name = "no limit";
    const std::string all = tpch::table_of(std::vector{o, free});
    check(all, "no limit");
    check(all, "not checked, 0.00 s");
    return failures == 0 ? 0 : 1;
}
