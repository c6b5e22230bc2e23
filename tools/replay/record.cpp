// allot_record: makes the recordings in recordings/.
//
//   allot_record flights FOLDER FILE     FOLDER: examples/data
//   allot_record sqlite ROWS FILE
#include "record.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

int main(int argc, char** argv) {
    const std::string_view what = argc == 4 ? argv[1] : "";
    if (what != "flights" && what != "sqlite") {
        std::fputs("usage: allot_record flights FOLDER FILE, or allot_record sqlite ROWS FILE\n", stderr);
        return 2;
    }
    try {
        allot::recording to{argv[3]};
        if (what == "flights") record::flights_rows(to, argv[2]);
        else record::sqlite(to, std::atoi(argv[2]));
        const int error = to.close();
        if (error != 0) std::fprintf(stderr, "allot_record: %s: %s\n", argv[3], std::strerror(error));
        return error != 0 ? 1 : 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "allot_record: %s\n", e.what());
        return 1;
    }
}
