// Two row managers on one arena: each has its own limit, and pages that one returns can be used by the other.
#include <allot/page/arena.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <vector>

using namespace allot::literals;

using pages = allot::arena<>;
struct on_pages : allot::policies<allot::page::of<pages>> {};

static std::size_t fill(allot::row_manager<on_pages>& rows, std::vector<void*>& held) {
    while (void* row = rows.try_allocate(1000)) held.push_back(row);
    return held.size();
}

int main() {
    pages arena{allot::limit{16_MiB}, allot::page_bytes{256_KiB}, allot::name{"all pages"}};
    allot::row_manager<on_pages> reader{arena, allot::limit{12_MiB}, allot::name{"reader"}};
    allot::row_manager<on_pages> writer{arena, allot::limit{12_MiB}, allot::name{"writer"}};

    std::vector<void*> read, written;
    std::printf("reader: %zu rows, at its limit\n", fill(reader, read));
    const std::size_t before = fill(writer, written);
    std::printf("writer: %zu rows, at the limit of the arena\n", before);

    // The free function finds arena and row by the address.
    for (void* row : read) allot::release(row);
    reader.release_empty_pages();

    const std::size_t after = fill(writer, written);
    std::printf("writer: %zu rows, after the reader returned its pages\n", after);
    for (void* row : written) writer.release(row);
    return before < after && reader.live_rows() + writer.live_rows() == 0 ? 0 : 1;
}
