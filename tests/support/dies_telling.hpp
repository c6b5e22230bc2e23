// A misuse of a fixture ends the process and names what it is about.
#pragma once

#include <support/catch.hpp>
#include <support/death.hpp>

#include <initializer_list>

template <class Fixture, class Body> void dies_telling(Body body, std::initializer_list<const char*> texts) {
    const death end = death_of([&] {
        Fixture f;
        body(f);
    });
    INFO(end.said);
    CHECK(end.aborted());
    for (const char* const text : texts) CHECK_THAT(end.said, ContainsSubstring(text));
}
