// What buffers cost, and what they are not: copies, moves that throw, templates over their memory.
#include <allot/buffers.hpp>

#include <type_traits>

namespace {

static_assert(sizeof(allot::buffer) == 24);
static_assert(sizeof(allot::detail::buffer_ledger) == 32);
static_assert(sizeof(allot::detail::buffer_block) == 104);
static_assert(sizeof(allot::buffer_memory) == 16);
static_assert(sizeof(allot::value_vector<double>) == 64 && sizeof(allot::value_vector<char>) == 64);
static_assert(sizeof(allot::bytes_vector) == 104);
static_assert(!std::is_copy_constructible_v<allot::buffer> && std::is_nothrow_move_constructible_v<allot::buffer>);
static_assert(std::is_nothrow_move_assignable_v<allot::value_vector<int>> &&
              !std::is_copy_constructible_v<allot::bytes_vector>);

struct no_memory {
    void* try_allocate(std::size_t, std::size_t);
};
struct with_pages {
    void* try_allocate(std::size_t, std::size_t);
    void deallocate(void*);
};
static_assert(!allot::block_memory<no_memory> && !allot::block_memory<int> && allot::block_memory<with_pages> &&
              allot::block_memory<allot::heap_memory>);
static_assert(allot::plain_number<double> && !allot::plain_number<long double> && !allot::plain_number<int*> &&
              !allot::plain_number<const int>);

} // namespace
