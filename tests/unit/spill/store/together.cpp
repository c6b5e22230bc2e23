// Small objects that leave together are written by few calls, each by itself readable, and refused or failed alone.
#include <support/catch.hpp>

#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using handle = allot::stored<allot::buffer>;

namespace {

struct small_objects {
    account engine{name{"engine"}}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_files files;
    allot::store store{engine, files};
    std::vector<handle> all;

    explicit small_objects(std::initializer_list<std::string_view> directories,
                           const allot::spill_file_options& how = {})
        : files(disk, directories, how) {
        constexpr std::size_t sizes[] = {1, 4095, 4096, 4097, 65'536, 65'537, 100, 12'345};
        for (std::size_t i = 0; i != 200; ++i) {
            allot::buffer b = memory.allocate(engine, sizes[i % 8]);
            std::memset(b.data(), static_cast<int>(i + 1), b.size());
            all.push_back(store.put(std::move(b)));
        }
    }
    bool hold() const {
        for (std::size_t i = 0; i != all.size(); ++i) {
            const auto data = all[i].pin();
            for (const std::byte b : data->bytes())
                if (b != static_cast<std::byte>(i + 1)) return false;
        }
        return true;
    }
    std::size_t away() const {
        std::size_t n = 0;
        for (const handle& h : all) n += h.is_away();
        return n;
    }
};

} // namespace

TEST_CASE("small objects are written together", "[spill]") {
    small_objects s({"/tmp"});
    s.store.spill(SIZE_MAX);
    CHECK(s.away() == 200);
    CHECK(s.files.stats().write_calls < 60); // 25 of them are too large to be written with others
    CHECK(s.files.stats().extents == 200);
    CHECK(s.disk.used() == s.files.stats().file_bytes);
    CHECK(s.hold());
    for (std::size_t i = 0; i < 200; i += 2)
        s.all[i].pin_to_change()->set<unsigned char>(0, static_cast<unsigned char>(i + 1));
    s.store.spill(SIZE_MAX); // into space that was in use before
    CHECK((s.away() == 200 && s.hold() && s.files.valid()));
    s.all.clear();
    CHECK((s.disk.used() == 0 && s.files.stats().extents == 0 && s.engine.used() == 0));
}

TEST_CASE("small objects are written together into several directories, and each extent by itself", "[spill]") {
    small_objects several({"/tmp", "/var/tmp"});
    several.store.spill(SIZE_MAX);
    CHECK((several.away() == 200 && several.hold() && several.files.valid()));
    small_objects pieces({"/tmp"}, allot::spill_file_options{.extent_bytes = 8_KiB}); // larger ones are several extents
    pieces.store.spill(SIZE_MAX);
    CHECK((pieces.away() == 200 && pieces.hold() && pieces.files.stats().extents > 200));
}

TEST_CASE("of small objects that leave together those leave that the account has room for", "[spill]") {
    small_objects s({"/tmp"});
    s.disk.set_limit(400_KiB);
    s.store.spill(SIZE_MAX);
    CHECK((s.away() > 20 && s.away() < 200));
    CHECK((s.disk.peak() <= 400_KiB && s.store.stats().failures != 0));
    CHECK(s.hold());
    s.all.clear();
    CHECK((s.disk.used() == 0 && s.engine.used() == 0 && s.files.valid()));
}

TEST_CASE("the extents of an object are values; files that did not open keep nothing, and say why", "[spill]") {
    small_objects s({"/tmp"});
    std::vector<allot::extent_file> extents = s.files.extents_of(s.all[3].at_home());
    CHECK((extents.size() == 1 && s.all[3].is_away())); // it was written for that
    s.all.clear();
    std::byte bytes[4097];
    CHECK(extents[0].read(bytes));
    CHECK(bytes[4096] == std::byte{4});
    extents.clear();

    account engine{name{"engine"}}, disk{name{"disk"}};
    allot::spill_files none{disk, "/no such directory", std::nothrow};
    CHECK(none.status().error == ENOENT);
    allot::store store{engine, none};
    handle a = store.put(s.memory.allocate(engine, 100)), b = store.put(s.memory.allocate(engine, 100));
    allot::home_status why;
    CHECK((!a.spill(&why) && why.error == ENOENT));
    CHECK((store.spill(SIZE_MAX) == 0 && !b.is_away()));
    CHECK(store.stats().last_failure.error == ENOENT);
}
