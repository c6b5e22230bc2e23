// What the system and its containers say, from files of the test; and the real ones.
#include <support/catch.hpp>

#include <allot/sys/system_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using allot::system_memory;

namespace {

struct files {
    std::filesystem::path at;
    files() {
        std::string name = (std::filesystem::temp_directory_path() / "allot-system-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        at = name;
    }
    ~files() { std::filesystem::remove_all(at); }
    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((at / name).parent_path());
        std::ofstream(at / name) << text;
    }
    system_memory memory() const {
        return system_memory{{(at / "meminfo").string(), (at / "cgroup").string(), (at / "groups").string(),
                              (at / "pressure").string()}};
    }
};

} // namespace

TEST_CASE("the least of the system and all containers around the process is available", "[sys]") {
    const files f;
    CHECK((f.memory().available() == SIZE_MAX && f.memory().limit() == SIZE_MAX && f.memory().pressure() == 0));
    f.write("meminfo", "MemTotal:       8000 kB\nMemFree:         1 kB\nMemAvailable:    5000 kB\n");
    CHECK(f.memory().available() == 5000 * 1024);
    f.write("cgroup", "1:name=systemd:/x\n0::/a/b\n");
    f.write("groups/a/b/memory.max", "max\n");
    f.write("groups/a/b/memory.current", "100\n");
    f.write("groups/a/memory.max", "1000000\n");
    f.write("groups/a/memory.current", "400000\n");
    CHECK((f.memory().available() == 600'000 && f.memory().limit() == 1'000'000));
    f.write("groups/a/memory.stat", "anon 5\nfile 7\ninactive_file 150000\n");
    CHECK(f.memory().available() == 750'000);                     // the kernel drops these first
    f.write("groups/a/memory.stat", "inactive_file 999999999\n"); // read later: more than is used
    CHECK(f.memory().available() == 600'000);
    f.write("groups/a/b/memory.max", "300\n");
    CHECK((f.memory().available() == 200 && f.memory().limit() == 300));
    f.write("groups/a/b/memory.current", "301\n");
    CHECK(f.memory().available() == 0);
    f.write("groups/memory.max", "7\n");
    f.write("groups/memory.current", "0\n");
    f.write("cgroup", "0::/\n");
    CHECK(f.memory().available() == 7); // inside a container its group is the root
    f.write("pressure", "some avg10=12.34 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00\n");
    CHECK(f.memory().pressure() == 1234);
    f.write("pressure", "some avg10=x\n");
    f.write("meminfo", "MemAvailable: 99999999999999999999999999 kB\n");
    CHECK((f.memory().pressure() == 0 && f.memory().available() == 7));
}

TEST_CASE("the real system has some memory", "[sys]") {
    const system_memory machine;
    CHECK((machine.available() > 1'000'000 && machine.limit() > 1'000'000));
}

TEST_CASE("what is no path of a group is taken for the root", "[sys]") {
    const files f;
    f.write("groups/memory.max", "1000000\n");
    f.write("groups/memory.current", "400000\n");
    for (const char* const text : {"0::abc\n", "0::\n", "0::", "0::../x\n", "\n0::x/y", "0::/\n"}) {
        f.write("cgroup", text);
        CHECK(f.memory().available() == 600'000);
    }
}
