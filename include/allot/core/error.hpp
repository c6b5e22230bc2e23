// Errors at run time: out_of_memory with its report; misuse, damage and leaks.
//
// Nothing here allocates: an out_of_memory contains its report, and the C++ runtime keeps emergency storage for
// exceptions. Misuse aborts in checked builds, with a message that names set, heap and row type; in other builds each
// call does what its documentation says (most do nothing).
// Threads: any. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/function_ref.hpp>
#include <allot/core/memory_error.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Thrown by oom::raise. what() is one line, with the refusal; report() is one page, with the largest users too.
class out_of_memory : public memory_error {
  public:
    static constexpr std::size_t line_bytes = 384;
    static constexpr std::size_t report_bytes = 3072;

    out_of_memory() noexcept { set("allot: out of memory", ""); }
    ALLOT_OUTLINE out_of_memory(std::string_view line, std::string_view page,
                                const charge_status& why = no_memory) noexcept
        : memory_error(why) {
        set(line, page);
    }

    /// Lets write(text_writer&) write the report in place, without a second buffer.
    template <class Write>
        requires std::is_invocable_v<Write&, text_writer&>
    out_of_memory(std::string_view line, Write&& write, const charge_status& why = no_memory) noexcept
        : out_of_memory(line, detail::function_ref<void(text_writer&)>{[&](text_writer& out) { write(out); }}, why) {}

    const char* what() const noexcept override { return line_; }
    const char* report() const noexcept { return report_; }

  private:
    static constexpr charge_status no_memory{.outcome = charge_outcome::no_memory};

    ALLOT_OUTLINE_COLD out_of_memory(std::string_view line, detail::function_ref<void(text_writer&)> write,
                                     const charge_status& why) noexcept
        : memory_error(why) {
        set(line, "");
        text_writer out{report_};
        write(out);
    }
    void set(std::string_view line, std::string_view page) noexcept {
        text_writer{line_}.put(line);
        text_writer{report_}.put(page);
    }

    char line_[line_bytes];
    char report_[report_bytes];
};

/// Throws `error`. In builds without exceptions writes its report to standard error and aborts.
[[noreturn]] ALLOT_COLD inline void raise(const out_of_memory& error) {
#if ALLOT_EXCEPTIONS
    throw error;
#else
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.report());
    std::abort();
#endif
}

/// Kinds of misuse and damage.
enum class misuse {
    double_release,        // the row or page is already released
    foreign_pointer,       // the address is not in this object's memory
    interior_pointer,      // the address is inside a row or block, not at its start
    size_too_large,        // larger than the address space, or than a row of the heap
    bad_alignment,         // not a power of two, or above the maximum (device blocks take any power)
    living_handle_of_heap, // release_all() while a local handle of the heap lives
    wrong_thread,          // a handle or account of one thread is used by another
    not_shared_arena,      // the row's page belongs to an arena that this manager does not use
    null_type,             // the row's type has no destructor, but the object needs one
    use_after_destruction, // used after the object that it belongs to was destroyed
    no_host_access,        // the host would write, seal or destroy a row in memory that it must not touch
    over_refunded,         // more bytes than were charged
    other_tree,            // an account of another tree
    out_of_bounds,         // bytes beyond a buffer's ends, values beyond a vector's, or more rows than an array has
    not_a_row,          // an address in a page where no row starts: freed before, never allocated, or inside a huge row
    use_after_release,  // a row was used after its last release
    living_handle,      // an object ends before a handle or client of it
    too_many_views,     // more buffers of an account, or views of one, than can be counted
    other_request,      // a block is released with bytes or an alignment that it was not requested with
    living_reclaimer,   // a reclaimer ends, or its account does, before it is removed
    living_array,       // a row_array ends, or its row_compactor does, before it is removed
    living_task_thread, // a task ends while a thread works for it
    task_thread_order,  // a task_thread ends before one that began after it on its thread
    scope_order,        // a retry_scope ends before one that began after it on its thread
    ended_elsewhere,    // a task_thread or retry_scope ends on another thread than it began on
    living_scope,       // a task_thread ends before a retry_scope, scoped_wait or no_rollback that began under it
    living_task,        // an arbiter ends before a task or resource of it
    living_group,       // an executor ends before a task_group of it
    waits_for_itself,   // a task waits for tasks of its own executor
    living_root,        // an arbiter ends before a root account that has it
    other_arbiter,      // a thread is to work for a task of another arbiter than its task_thread's
    inactive_scope,     // a task_thread joins a retry_scope that has no task, or has ended
    open_latch,         // a latch is counted down more often than its count
    pinned_halves,      // halves() of a stored object that is pinned
    moved_from,         // an empty handle of a stored object is pinned or taken
    living_pin,         // a stored object ends, or is taken, while it is pinned
    changed_while_read, // a stored object that pin() showed was changed: the change is lost
    not_storable,       // what is put into a store has memory that cannot be made again: a foreign block
    not_of_store,       // what is put into a store is not charged to its account, or one below it
    other_account,      // an object in a store was replaced by one that another account is charged for
    other_views,        // a buffer that is put into a store has a block with other views
    other_links,        // a row that is put into a store has other links than that of its array
    no_encoding,        // a row that is more than its bytes, of a type without encode, is put into a store
    // reported in every build, to the damage sink; no misuse
    received_row,   // a row in a packet is finalized or sealed
    too_many_links, // a row reached the maximum of links: it is never freed
    // damage, found by a guard or a row's checksum; reported in every build
    broken_link,         // a free slot was written: its link does not lead to a slot
    overrun,             // the bytes behind a row were written
    write_after_release, // a row was written after its last release
    broken_seal,         // a sealed row was changed
};

/// The text for a kind, as in reports: "released twice".
constexpr std::string_view text_of(misuse kind) noexcept {
    constexpr std::string_view texts[] = {
        "released twice",
        "a pointer that is not of this object's memory",
        "a pointer into the inside of a row or block",
        "a size larger than the address space, or than what this object can hold",
        "an alignment that is not a power of two, or above the maximum",
        "release_all() while a local handle of the heap lives: end it first",
        "a handle or account of one thread used by another thread",
        "a row of an arena that this manager does not use",
        "a row type without the destructor that the object needs",
        "used after its owner was destroyed",
        "a row in memory that the host must not touch",
        "more refunded than was charged",
        "an account of another tree",
        "beyond the bounds of a buffer, vector or row_array",
        "an address in a page where no row starts: freed before, never allocated, or inside a huge row",
        "a row was used after its last release",
        "a handle or client that outlives its manager or arena: end it first",
        "too many buffers of an account, or views of a buffer: they cannot be counted",
        "a block released with bytes or an alignment that it was not requested with",
        "a reclaimer that ends, or whose account ends, before it is removed",
        "a row_array that ends, or whose row_compactor ends, before it is removed",
        "a task ends while a thread works for it: end its task_thread first, or call end(task) on a pool's thread",
        "a task_thread ends before one that began after it on this thread: end the inner one first",
        "a retry_scope ends before one that began after it on this thread: end the inner one first",
        "a task_thread or retry_scope ends on a thread where it did not begin: end it where it began",
        "a task_thread ends before a retry_scope, scoped_wait or no_rollback that began under it: end that first",
        "an arbiter ends before a task or resource of it: end them first",
        "an executor ends before a group of its tasks: destroy the group first",
        "a task waits for tasks of its own executor, which may wait for it: return from its kernel first",
        "an arbiter ends before a root account that has it: end the account first",
        "a task of another arbiter than the task_thread's: begin a second task_thread for it",
        "a task_thread joins a retry_scope without a task, or that has ended: join one of a thread with a task_thread",
        "a latch is counted down more often than its count",
        "halves() of a stored object that is pinned: end its pins first",
        "an empty handle of a stored object is pinned or taken: use the one that it was moved to or put() returned",
        "a stored object ends, or is taken, while others pin it: end their pins first",
        "a stored object was changed that pin() showed: the change is lost; call pin_to_change()",
        "a foreign block is put into a store, which cannot make it again: copy it first",
        "what is put into a store is not charged to the store's account, or one below it",
        "an object in a store was replaced by one that another account is charged for",
        "a buffer whose block has other views is put into a store: release them first",
        "a row with other links than its array's is put into a store: release them first",
        "a row that is more than its bytes is put into a store: give its type encode and decode",
        "a row in a packet is finalized or sealed: copy it first",
        "too many links of a row: it will never be freed",
        "a free row was written: its link leads to no slot",
        "bytes behind a row were written",
        "a row was written after its release",
        "a sealed row was changed",
    };
    static_assert(std::size(texts) == static_cast<std::size_t>(misuse::broken_seal) + 1);
    return texts[static_cast<std::size_t>(kind)];
}

/// The facts of a misuse. Null and empty texts are left out of the message.
struct misuse_report {
    misuse kind;
    const char* set = nullptr;
    const char* heap = nullptr;
    const char* type = nullptr;
    const void* address = nullptr;
    const char* arena = nullptr;
    const char* manager = nullptr;
    const char* task = nullptr;
};

/// Writes "allot: misuse: released twice: 0x7f.. (set thor_rows, heap orders, row type order)".
inline void write(text_writer& out, const misuse_report& report) noexcept {
    out.put("allot: misuse: ").put(text_of(report.kind));
    if (report.address != nullptr) out.put(": ").pointer(report.address);
    const char* separator = " (";
    const auto part = [&](const char* what, const char* text) {
        if (text == nullptr || *text == '\0') return;
        out.put(separator).put(what).put(' ').put(text);
        separator = ", ";
    };
    part("set", report.set);
    part("manager", report.manager);
    part("arena", report.arena);
    part("heap", report.heap);
    part("row type", report.type);
    part("task", report.task);
    if (separator[0] == ',') out.put(')');
}

namespace detail {

inline void misuse_to_stderr(const misuse_report& report) noexcept {
    char buffer[1024];
    text_writer out{buffer};
    write(out, report);
    out.newline();
    std::fputs(out.c_str(), stderr);
}

/// Checked builds: writes the report to standard error and aborts. Other builds: returns, and the caller does what its
/// documentation says.
ALLOT_COLD inline void report_misuse([[maybe_unused]] const misuse_report& report) noexcept {
#if ALLOT_CHECKED
    detail::misuse_to_stderr(report);
    std::abort();
#endif
}

} // namespace detail

/// Reports damage to standard error in every build; checked builds then abort, except for too_many_links.
ALLOT_COLD inline void damage_to_stderr(void*, const misuse_report& report) noexcept {
    detail::misuse_to_stderr(report);
    if (ALLOT_CHECKED != 0 && report.kind != misuse::too_many_links) std::abort();
}

/// Receives the damage that a manager's guard or a row's checksum finds; by default standard error. With another sink
/// checked builds do not abort.
/// Threads: called on any thread, without a lock held; it may use the manager.
struct damage_sink {
    void (*write)(void* context, const misuse_report& report) noexcept = &damage_to_stderr;
    void* context = nullptr;
};

/// Receives the report of leaks when an object is destroyed; by default standard error.
struct leak_sink {
    void (*write)(void* context, std::string_view report) noexcept;
    void* context = nullptr;
};

namespace detail {

inline void leaks_to_stderr(void*, std::string_view report) noexcept {
    std::fwrite(report.data(), 1, report.size(), stderr);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
