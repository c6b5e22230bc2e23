// As much of Catch2's face as the tests use, for bugs/run.py: it compiles in no time and stands alone, so a test can be
// compiled many times over, each time with another bug. A failed check ends the program with exit code 1.
#pragma once

#include <support/on_thread.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace mini {

struct stop {};
struct test {
    std::string name;
    void (*run)();
};
inline std::vector<test>& tests() {
    static std::vector<test> all;
    return all;
}
inline int failures = 0;
inline bool check(bool good, const char* what, const char* file, int line) {
    if (!good && ++failures < 10) std::printf("%s:%d: %s\n", file, line, what);
    return good;
}
struct add {
    add(const char* name, const char* tags, void (*run)()) { // one that is hidden runs only when it is asked for
        if (std::string_view(tags).find("[.]") == std::string_view::npos) tests().push_back({name, run});
    }
    add(const char* name, void (*run)()) { tests().push_back({name, run}); }
};
// A test with sections, none inside another, runs once for each.
inline int section_run = 0, sections_seen = 0;
inline bool section() { return sections_seen++ == section_run; }
template <class... Ts> struct list {};
template <class Run, class... Ts> bool add_each(const char* name, list<Ts...>) {
    (tests().push_back({name, &Run::template run<Ts>}), ...);
    return true;
}
template <class Run, class... Ts> bool add_each(const char* name, list<std::tuple<Ts...>>) {
    return add_each<Run>(name, list<Ts...>{});
}
struct contains {
    std::string part;
    bool wanted = true;
    bool operator()(const std::string& text) const { return (text.find(part) != std::string::npos) == wanted; }
    contains operator!() const { return {part, !wanted}; }
};
struct both {
    contains first, second;
    bool operator()(const std::string& text) const { return first(text) && second(text); }
};
inline both operator&&(contains first, contains second) { return {std::move(first), std::move(second)}; }

} // namespace mini

inline mini::contains ContainsSubstring(std::string part) { return {std::move(part)}; }

#define MINI_JOIN_(a, b) a##b
#define MINI_JOIN(a, b) MINI_JOIN_(a, b)
#define MINI_TEST(n, ...)                                                                                              \
    static void MINI_JOIN(mini_run_, n)();                                                                             \
    static const mini::add MINI_JOIN(mini_add_, n){__VA_ARGS__, &MINI_JOIN(mini_run_, n)};                             \
    static void MINI_JOIN(mini_run_, n)()
#define TEST_CASE(...) MINI_TEST(__COUNTER__, __VA_ARGS__)
#define MINI_METHOD(n, fixture, ...)                                                                                   \
    namespace {                                                                                                        \
    struct MINI_JOIN(mini_case_, n) : fixture {                                                                        \
        void body();                                                                                                   \
    };                                                                                                                 \
    }                                                                                                                  \
    static const mini::add MINI_JOIN(mini_add_, n){__VA_ARGS__, [] { MINI_JOIN(mini_case_, n){}.body(); }};            \
    void MINI_JOIN(mini_case_, n)::body()
#define TEST_CASE_METHOD(fixture, ...) MINI_METHOD(__COUNTER__, fixture, __VA_ARGS__)
#define MINI_TEMPLATE(n, name, ...)                                                                                    \
    template <class TestType> static void MINI_JOIN(mini_run_, n)();                                                   \
    namespace {                                                                                                        \
    struct MINI_JOIN(mini_each_, n) {                                                                                  \
        template <class T> static void run() { MINI_JOIN(mini_run_, n)<T>(); }                                         \
    };                                                                                                                 \
    }                                                                                                                  \
    static const bool MINI_JOIN(mini_add_, n) =                                                                        \
        mini::add_each<MINI_JOIN(mini_each_, n)>(name, mini::list<__VA_ARGS__>{});                                     \
    template <class TestType> static void MINI_JOIN(mini_run_, n)()
#define TEMPLATE_TEST_CASE(name, tags, ...) MINI_TEMPLATE(__COUNTER__, name, __VA_ARGS__)
#define TEMPLATE_LIST_TEST_CASE(name, tags, ...) MINI_TEMPLATE(__COUNTER__, name, __VA_ARGS__)

#define CHECK(...) mini::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_FALSE(...) mini::check(!static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define REQUIRE(...)                                                                                                   \
    do {                                                                                                               \
        if (!CHECK(__VA_ARGS__)) throw mini::stop{};                                                                   \
    } while (false)
#define CHECK_THAT(text, matcher) mini::check((matcher)(text), #text " " #matcher, __FILE__, __LINE__)
#define CHECK_THROWS_AS(expression, type)                                                                              \
    do {                                                                                                               \
        bool mini_thrown = false;                                                                                      \
        try {                                                                                                          \
            static_cast<void>(expression);                                                                             \
        } catch (const type&) {                                                                                        \
            mini_thrown = true;                                                                                        \
        }                                                                                                              \
        mini::check(mini_thrown, #expression " throws " #type, __FILE__, __LINE__);                                    \
    } while (false)
#define CHECK_NOTHROW(...)                                                                                             \
    do {                                                                                                               \
        bool mini_thrown = false;                                                                                      \
        try {                                                                                                          \
            static_cast<void>(__VA_ARGS__);                                                                            \
        } catch (...) {                                                                                                \
            mini_thrown = true;                                                                                        \
        }                                                                                                              \
        mini::check(!mini_thrown, #__VA_ARGS__ " throws nothing", __FILE__, __LINE__);                                 \
    } while (false)
#define STATIC_REQUIRE(...) CHECK(__VA_ARGS__) // so that a bug turns it red, and not the compiler
#define STATIC_REQUIRE_FALSE(...) CHECK_FALSE(__VA_ARGS__)
#define SECTION(...) if (mini::section())
#define INFO(...) static_cast<void>(0)
#define UNSCOPED_INFO(...) static_cast<void>(0)
#define CAPTURE(...) static_cast<void>(0)
#define SUCCEED(...) static_cast<void>(0)
#define FAIL_CHECK(...) mini::check(false, (std::ostringstream{} << __VA_ARGS__).str().c_str(), __FILE__, __LINE__)
#define FAIL(...)                                                                                                      \
    do {                                                                                                               \
        FAIL_CHECK(__VA_ARGS__);                                                                                       \
        throw mini::stop{};                                                                                            \
    } while (false)
#define SKIP(...) return

int main() {
    for (const mini::test& t : mini::tests()) {
        const int before = mini::failures;
        try {
            mini::section_run = 0;
            do {
                mini::sections_seen = 0;
                t.run();
            } while (++mini::section_run < mini::sections_seen);
        } catch (const mini::stop&) {
        } catch (...) {
            mini::check(false, "an exception nobody expected", "", 0);
        }
        if (mini::failures != before) std::printf("failed: %s\n", t.name.c_str());
        if (mini::failures != before) return 1;
    }
    return 0;
}
