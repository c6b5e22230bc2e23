// What tests of executors share: a limit of 1 MiB, an arbiter, and a store whose home a test watches.
#pragma once

#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_group.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace support {

struct task_engine {
    rescue ends{"an executor that waits for ever"};
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{std::size_t{1} << 20}, tasks};
    allot::account disk{allot::name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    hooked_home home{disk};
    allot::store data{engine, home, allot::name{"data"}};

    ~task_engine() { CHECK((engine.used() == 0 && disk.used() == 0)); }
    allot::stored<allot::buffer> put(allot::account& by, std::size_t bytes, int with = 0) {
        allot::buffer b = memory.allocate(by, bytes);
        std::memset(b.data(), with, bytes);
        return data.put(std::move(b));
    }
    allot::stored<allot::buffer> put_number(allot::account& by, std::uint64_t n, std::size_t bytes = sizeof(n)) {
        allot::buffer b = memory.allocate(by, bytes);
        b.set(0, n);
        return data.put(std::move(b));
    }
};

// What a group's wait() throws; empty: nothing.
inline std::string message_of(allot::task_group& g) {
    try {
        g.wait();
    } catch (const allot::task_error& e) {
        return e.what();
    }
    return "";
}

} // namespace support
