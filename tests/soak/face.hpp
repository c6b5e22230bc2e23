// A row manager, a heap and a local handle with their set forgotten, so that what is done with them is compiled once.
//
// Invariant: a call is one call of the library. A refusal is null here, whether the set throws or not, and was an
// error there. Threads: those of what stands behind.
#pragma once

#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace soak {

// What the set answers, as far as it changes what may be asked.
struct features {
    bool counted = false;     // rows can be linked, and have types
    bool charges = false;     // has a limit of its own
    bool by_thread = false;   // keeps something for each thread that used it
    bool wipes = false;       // new rows are zeros
    bool gives_back = false;  // a trim returns memory to the system
    bool host_rows = true;    // the host may touch them
    std::ptrdiff_t apart = 0; // from a row to where its bytes are written: 0, but for rows of a device
};

// A local handle; one of a heap ignores bytes and type.
class hand {
  public:
    virtual ~hand() = default;
    virtual void* allocate(std::size_t bytes, const allot::row_type& type, bool may_throw) = 0;
    virtual void release(const void* row) = 0;
    virtual void release(const void* row, std::size_t bytes) = 0;
    virtual void link(const void* row) = 0;
    virtual void flush() = 0;
};

class heap_face {
  public:
    virtual ~heap_face() = default;
    virtual void* allocate(bool may_throw) = 0;
    virtual void release(const void* row) = 0;
    virtual void link(const void* row) = 0;
    virtual std::unique_ptr<hand> local() = 0;
    virtual bool one_thread() const = 0; // the handle is for one thread
    virtual bool can_release_all() const = 0;
    virtual std::size_t release_all() = 0; // pages
    virtual std::size_t live_rows() const = 0;
};
inline constexpr unsigned heap_kinds = 6;

// What a manager and its reports tell at a quiet point.
struct sums {
    std::size_t live_rows = 0; // live_rows()
    std::size_t by_usage = 0;  // the same by usage(visitor)
    std::size_t by_pages = 0;  // bytes of the pages that visit_pages tells
    std::size_t taken = 0;     // of the arena
    bool valid = false;
    allot::row_stats stats;
    allot::type_histogram types;
};

class manager_face {
  public:
    virtual ~manager_face() = default;
    virtual features about() const = 0;

    virtual void* allocate(std::size_t bytes, const allot::row_type& type, bool may_throw) = 0;
    virtual void release(const void* row) = 0;
    virtual void release(const void* row, std::size_t bytes) = 0;
    virtual void link(const void* row) = 0;
    virtual std::size_t capacity(const void* row) = 0;
    virtual std::unique_ptr<hand> local() = 0;
    virtual std::unique_ptr<heap_face> heap(unsigned kind, std::size_t bytes, const allot::row_type& type) = 0;
    virtual bool objects(std::uint64_t value) = 0; // row_ptrs of an object, copied and moved; false: refused

    virtual std::size_t release_empty_pages() = 0;
    virtual std::size_t trim() = 0;
    virtual void set_limit(std::size_t bytes) = 0;
    virtual void report(unsigned kind, std::vector<char>& buffer) = 0; // any thread; looks at what was written
    virtual std::size_t charged() const = 0;
    virtual std::size_t limit() const = 0;
    virtual sums add_up() const = 0; // at a quiet point
};

// Rows that a manager told as left at its end.
struct leak_count {
    std::size_t rows = 0;
};

} // namespace soak
