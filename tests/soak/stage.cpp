// The model, and what must agree with it when nobody works.
#include <soak/stage.hpp>

#include <soak/faces.hpp>

#include <algorithm>
#include <utility>

namespace soak {

stage::stage(const soaked_set& set, std::uint64_t seed)
    : set_(set), face_(set.make(leaks_)), about_(face_->about()), room_(face_->limit()), numbers_(seed) {}

// A row that was just given: what it must be, and what is written into it.
void stage::begin(record& row, bool wiped) {
    row.apart = about_.apart;
    row.number = numbers_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t align = row_types[row.of].align;
    expect(align == 0 || reinterpret_cast<std::uintptr_t>(row.at) % align == 0, "a row is not aligned", row.at);
    if (wiped) look_for_zeros(row);
    if (has_head(row.of)) {
        auto* const head = ::new (static_cast<void*>(row.bytes_at()))
            row_head{{1}, 0, &destructors_, row_head::mark_of(row.bytes_at())};
        if (row.of == ending && row.number % 8 != 0) {
            head->finalized = 1;
            allot::finalize(row.at);
        }
    }
    write_row(row);
    if (row.of == sealed) allot::seal(row.at);
    rows_[row.of].fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(static_cast<std::int64_t>(row.asked), std::memory_order_relaxed);
}

void stage::drop(const record& row) {
    if (has_head(row.of)) {
        row_head& head = head_of(row);
        const bool finalized = head.finalized != 0;
        if (head.holders.fetch_sub(1) != 1) return;
        if (finalized) due_.fetch_add(1, std::memory_order_relaxed);
    }
    rows_[row.of].fetch_sub(1, std::memory_order_relaxed);
    bytes_.fetch_sub(static_cast<std::int64_t>(row.asked), std::memory_order_relaxed);
}

void stage::release(const record& row, std::size_t way) {
    if (way == 0) face_->release(row.at);
    else if (way == 1) face_->release(row.at, row.asked);
    else allot::release(row.at);
}

std::size_t stage::live() const {
    std::int64_t all = 0;
    for (const auto& n : rows_) all += n.load();
    return static_cast<std::size_t>(all);
}

template <class Visit> void stage::for_each_record(Visit visit) {
    if (crowded_.at != nullptr) visit(crowded_);
    for (const record& row : exchange_) visit(row);
    for (const auto& mine : pockets_) {
        if (mine == nullptr) continue;
        for (const record& row : mine->rows) visit(row);
        for (const kept_heap& heap : mine->heaps)
            for (const record& row : heap.rows) visit(row);
    }
}

// Each row is whole, apart from all others, and held as often as there are records.
void stage::look_at_all() {
    here.step = "quiet point, rows";
    std::vector<record> all;
    for_each_record([&](const record& row) { all.push_back(row); });
    std::sort(all.begin(), all.end(), [](const record& a, const record& b) { return a.at < b.at; });
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < all.size(); ++distinct) {
        const record& row = all[i];
        std::size_t links = 0;
        for (; i < all.size() && all[i].at == row.at; ++i) ++links;
        look_at_row(row, "a row was changed");
        expect(allot::capacity(row.at) >= row.bytes, "a row lost its capacity", row.at);
        expect(i == all.size() || row.at + row.bytes <= all[i].at, "two rows overlap", row.at);
        if (has_head(row.of)) expect(head_of(row).holders.load() == links, "the soak's own count of holders", row.at);
        else expect(links == 1, "two holders of one row", row.at);
        if (about_.counted)
            expect(allot::is_shared(row.at) == (links > 1), "is_shared and the number of holders", row.at);
    }
    expect_same(distinct, live(), "the soak's own count of rows");
}

void stage::agree() {
    here.step = "quiet point, sums";
    const sums now = face_->add_up();
    const auto bytes = static_cast<std::size_t>(bytes_.load());
    expect(now.valid, "valid()");
    expect_same(now.live_rows, live(), "live_rows()");
    expect_same(now.by_usage, live(), "live rows by usage");
    expect_same(now.stats.live_rows, live(), "live rows by figures");
    if (now.types.exact()) expect_same(now.types.rows(), live(), "live rows by type");
    expect(now.stats.live_bytes >= bytes && now.stats.charged >= bytes, "fewer bytes than the rows' own");
    expect_same(now.stats.charged, now.taken + now.stats.idle, "what is charged, by the pages taken and idle");
    expect_same(now.by_pages, now.taken, "pages visited, by the pages taken");
    expect(now.stats.charged <= now.stats.limit && now.stats.charged <= now.stats.peak, "charged, peak, limit");
    if (about_.counted && now.types.exact())
        for (unsigned k = 0; k < kinds; ++k) {
            std::size_t rows = 0;
            now.types.for_each([&](const allot::type_usage& u) { rows += u.type == &row_types[k] ? u.rows : 0; });
            expect_same(rows, static_cast<std::size_t>(rows_[k].load()), row_types[k].name);
        }
    expect_same(destructors_.load(), due_.load(), "destructors that ran, by the rows that ended");
}

// Every byte that can be had, then a refusal, and everything as before.
void stage::meet_the_limit(dice& random, counts& done) {
    here.step = "the limit";
    std::vector<record> all;
    const std::size_t usual = random.between(500, 20000);
    for (;;) {
        record row;
        row.asked = random.one_in(4) ? random.row_bytes() : usual;
        row.at = static_cast<unsigned char*>(face_->allocate(row.asked, row_types[row.of], random.one_in(8)));
        expect(face_->charged() <= face_->limit(), "more charged than the limit");
        if (row.at == nullptr) break;
        row.bytes = row.asked;
        begin(row, about_.wipes);
        all.push_back(row);
    }
    done.add(did::refuse);
    done.add(did::limit);
    agree();
    for (const record& row : all) look_at_row(row, "a row was changed at the limit");
    const std::size_t again = all.empty() ? 0 : all.back().asked;
    for (const record& row : all) {
        drop(row);
        face_->release(row.at);
    }
    if (again != 0) {
        void* const row = face_->allocate(again, row_types[bytes_only], true);
        expect(row != nullptr, "what was released at the limit cannot be had again");
        face_->release(row);
    }
    agree();
}

void stage::quiet(dice& random, counts& done) {
    gate_.close();
    here.set = set_.text;
    agree();
    look_at_all();
    if (random.one_in(4)) meet_the_limit(random, done);
    if (about_.charges && random.one_in(3)) {
        const std::size_t least = std::max(face_->charged(), room_ / 4);
        face_->set_limit(random.between(least, room_));
    }
    done.add(did::quiet);
    here.step = "";
    gate_.open();
}

// All handles and heaps are gone, and the links that were held are the caller's.
std::vector<record> stage::take_everything() {
    std::vector<record> all;
    for_each_record([&](const record& row) { all.push_back(row); });
    exchange_.clear();
    crowded_ = {};
    for (auto& mine : pockets_) mine.reset();
    for (auto& heap : heaps_) heap.reset();
    return all;
}

void stage::retire(dice& random, counts& done, bool no_threads) {
    gate_.close();
    here.set = set_.text;
    agree();
    look_at_all();
    here.step = "end";
    std::vector<record> all = take_everything();
    const std::size_t left = random.one_in(6) ? random.below(20) : 0;
    while (all.size() > left) {
        const std::size_t at = random.below(all.size());
        std::swap(all[at], all.back());
        look_at_row(all.back(), "a row was changed before the end");
        drop(all.back());
        release(all.back(), random.below(3));
        all.pop_back();
    }
    agree();
    if (const std::size_t rows = live(); rows == 0) {
        here.step = "end, nothing left";
        const std::size_t most = face_->add_up().stats.peak;
        face_->trim();
        agree();
        const auto now = face_->add_up().stats;
        if (!about_.by_thread || no_threads) {
            // Idle pages stay charged as long as they may hold memory: after a trim only where nothing is given back.
            expect(now.charged == now.idle && (now.idle == 0 || !about_.gives_back),
                   "pages are charged though no row is left");
            if (about_.gives_back && most >= (std::size_t{1} << 20))
                expect(now.resident <= most / 20, "memory stays resident though no row is left");
        }
        face_.reset();
        expect(leaks_.rows == 0, "rows were told as left that had been released");
    } else {
        here.step = "end, with rows left";
        face_.reset();
        expect(leaks_.rows == rows, "rows that were left are not told");
        done.add(did::leak, rows);
    }
    ended_ = true;
    here.step = "";
    gate_.open();
}

} // namespace soak
