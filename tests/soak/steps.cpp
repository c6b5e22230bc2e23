// A burst: what one worker does with one manager, in a mood.
#include <soak/stage.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace soak {

class steps {
  public:
    steps(stage& on, pocket& mine, dice& random, counts& done) : s_(on), p_(mine), d_(random), done_(done) {
        grows_ = d_.between(20, 70);
        order_ = static_cast<order>(d_.below(3));
    }
    void run() {
        for (std::size_t n = d_.between(20, 300); n != 0; --n) one();
        here.step = "charged";
        const std::size_t now = s_.face_->charged();
        expect(now <= s_.face_->limit(), "more charged than the limit");
        s_.charged_.store(now, std::memory_order_relaxed);
    }

  private:
    enum class order { random, first, last };

    void one() {
        const std::size_t choice = d_.below(100);
        if (choice < grows_) return d_.one_in(2) ? allocate() : allocate_from_heap();
        if (choice < 86) return release();
        if (choice < 90) return link();
        if (choice < 93) return give();
        if (choice < 96) return take();
        if (choice < 98) return rewrite();
        switch (d_.below(16)) {
        case 0:
        case 1: return heap_of_mine();
        case 2: return heap_of_all();
        case 3: return reclaim();
        case 4: return objects();
        case 5: return constants();
        case 6: return release_all();
        case 7: return absurd();
        case 8:
        case 9:
        case 10: return crowd();
        default:
            here.step = "local handle";
            if (p_.local == nullptr) p_.local = s_.face_->local();
            else if (d_.one_in(2)) p_.local->flush();
            else p_.local.reset();
        }
    }
    kind any_kind(std::size_t bytes) {
        auto k = static_cast<kind>(d_.below(s_.about_.counted ? kinds : sealed));
        if (!s_.about_.host_rows && (k == sealed || k == ending)) k = linked; // the host cannot do more with it
        return has_head(k) && bytes <= sizeof(row_head) ? bytes_only : k;
    }
    void refused() {
        done_.add(did::refuse);
        for (std::size_t n = p_.rows.size() / 4; n != 0; --n) release();
    }
    // The row is there, or was refused.
    bool got(record& row, std::deque<record>& into) {
        if (row.at == nullptr) {
            refused();
            return false;
        }
        row.bytes = row.asked;
        if (d_.one_in(3)) {
            row.bytes = s_.face_->capacity(row.at);
            expect(row.bytes >= row.asked, "a row has less than was asked for", row.at);
        }
        s_.begin(row, s_.about_.wipes);
        into.push_back(row);
        return true;
    }
    void allocate() {
        record row;
        row.asked = d_.row_bytes();
        row.of = any_kind(row.asked);
        const auto& type = row_types[row.of];
        const bool may_throw = d_.one_in(2);
        void* at = nullptr;
        if (p_.local != nullptr && d_.one_in(2)) {
            here.step = "allocate, local";
            at = p_.local->allocate(row.asked, type, may_throw);
        } else {
            here.step = "allocate";
            at = s_.face_->allocate(row.asked, type, may_throw);
        }
        row.at = static_cast<unsigned char*>(at);
        if (got(row, p_.rows)) done_.add(did::allocate);
    }
    void allocate_from_heap() {
        std::shared_ptr<kept_heap> shared;
        kept_heap* heap = nullptr;
        if (!p_.heaps.empty() && d_.one_in(2)) heap = &p_.heaps[d_.below(p_.heaps.size())];
        else {
            const std::lock_guard hold(s_.lock_);
            shared = s_.heaps_[d_.below(s_.heaps_.size())];
            heap = shared.get();
        }
        if (heap == nullptr) return allocate();
        for (std::size_t n = d_.between(1, 12); n != 0; --n) {
            record row;
            row.asked = heap->bytes;
            row.of = heap->of;
            here.step = heap->local != nullptr ? "allocate, heap's local" : "allocate, heap";
            const bool may_throw = d_.one_in(2);
            row.at = static_cast<unsigned char*>(heap->local != nullptr
                                                     ? heap->local->allocate(0, row_types[row.of], may_throw)
                                                     : heap->face->allocate(may_throw));
            if (!got(row, heap->confined ? heap->rows : p_.rows)) return;
            done_.add(did::from_heap);
        }
    }
    record pick(std::deque<record>& from) {
        std::size_t at = order_ == order::first ? 0 : order_ == order::last ? from.size() - 1 : d_.below(from.size());
        const record row = from[at];
        if (order_ == order::first) from.pop_front();
        else {
            std::swap(from[at], from.back());
            from.pop_back();
        }
        return row;
    }
    void release() {
        if (p_.rows.empty()) return;
        here.step = "release";
        const record row = pick(p_.rows);
        look_at_row(row, "a row was changed before its release");
        s_.drop(row);
        release_by_any(row);
        done_.add(did::release);
    }
    void release_by_any(const record& row) {
        switch (d_.below(8)) {
        case 0:
        case 1:
        case 2:
            if (p_.local != nullptr) return p_.local->release(row.at);
            break;
        case 3:
            if (p_.local != nullptr) return p_.local->release(row.at, row.asked);
            break;
        case 4:
        case 5:
            if (!p_.heaps.empty()) {
                kept_heap& heap = p_.heaps[d_.below(p_.heaps.size())];
                return heap.local != nullptr && d_.one_in(2) ? heap.local->release(row.at) : heap.face->release(row.at);
            }
            break;
        default: break;
        }
        s_.release(row, d_.below(3));
    }
    void link() {
        if (p_.rows.empty() || !s_.about_.counted) return;
        here.step = "link";
        record& row = p_.rows[d_.below(p_.rows.size())];
        if (has_head(row.of)) head_of(row).holders.fetch_add(1);
        switch (d_.below(3)) {
        case 0: s_.face_->link(row.at); break;
        case 1: allot::link(row.at); break;
        default: p_.local != nullptr ? p_.local->link(row.at) : s_.face_->link(row.at);
        }
        expect(allot::is_shared(row.at), "a row that was just linked is not shared", row.at);
        done_.add(did::link);
        if (has_head(row.of)) {
            const record copy = row;
            return p_.rows.push_back(copy);
        }
        const record copy = row; // nobody else knows it
        release_by_any(copy);
        expect(!allot::is_shared(copy.at), "a row of one holder is shared", copy.at);
    }
    // All threads that are here link and release one row, whose last holder may be any of them.
    void crowd() {
        if (!s_.about_.counted) return;
        here.step = "crowd";
        for (std::size_t n = d_.between(10, 100); n != 0; --n) {
            record row;
            {
                const std::lock_guard hold(s_.lock_);
                row = s_.crowded_;
                if (row.at != nullptr && d_.one_in(3)) s_.crowded_ = {};
                else if (row.at != nullptr) {
                    head_of(row).holders.fetch_add(1);
                    allot::link(row.at);
                    done_.add(did::link);
                }
            }
            if (row.at != nullptr) {
                look_at_row(row, "a row was changed in a crowd");
                s_.drop(row);
                release_by_any(row);
                done_.add(did::release);
                continue;
            }
            row.asked = d_.between(sizeof(row_head), 200);
            row.of = !s_.about_.host_rows || d_.one_in(2) ? linked : ending;
            row.at = static_cast<unsigned char*>(s_.face_->allocate(row.asked, row_types[row.of], false));
            std::deque<record> fresh;
            if (!got(row, fresh)) return;
            done_.add(did::allocate);
            const std::lock_guard hold(s_.lock_);
            if (s_.crowded_.at == nullptr) s_.crowded_ = fresh.front();
            else s_.exchange_.push_back(fresh.front());
        }
    }
    void rewrite() {
        if (p_.rows.empty()) return;
        here.step = "rewrite";
        record& row = p_.rows[d_.below(p_.rows.size())];
        if (has_head(row.of)) return;
        look_at_row(row, "a row was changed by a stranger");
        row.number = s_.numbers_.fetch_add(1, std::memory_order_relaxed);
        write_row(row);
        if (row.of == sealed) allot::seal(row.at);
        done_.add(did::rewrite);
    }
    void give() {
        here.step = "hand over";
        std::vector<record> out;
        for (std::size_t n = std::min(p_.rows.size(), d_.between(1, 60)); n != 0; --n) {
            out.push_back(pick(p_.rows));
            look_at_row(out.back(), "a row was changed before it was handed over");
        }
        const std::lock_guard hold(s_.lock_);
        for (const record& row : out) s_.exchange_.push_back(row);
        done_.add(did::give, out.size());
    }
    void take() {
        here.step = "take over";
        std::vector<record> in;
        {
            const std::lock_guard hold(s_.lock_);
            for (std::size_t n = std::min(s_.exchange_.size(), d_.between(1, 80)); n != 0; --n)
                in.push_back(pick(s_.exchange_));
        }
        for (const record& row : in) {
            look_at_row(row, "a row was changed on its way to another thread");
            expect(!s_.about_.host_rows || !d_.one_in(4) || allot::check(row.at), "a row's check", row.at);
            p_.rows.push_back(row);
        }
        done_.add(did::take, in.size());
    }
    // Few sizes, so that heaps meet their like.
    bool open(kept_heap& heap, unsigned which) {
        static constexpr std::size_t sizes[] = {1, 4, 24, 33, 48, 64, 100, 200, 520, 1001, 4000, 9000};
        heap.bytes = sizes[d_.below(std::size(sizes))];
        heap.of = any_kind(heap.bytes);
        heap.face = s_.face_->heap(which, heap.bytes, row_types[heap.of]);
        if (heap.face == nullptr) done_.add(did::refuse);
        else done_.add(did::heap);
        return heap.face != nullptr;
    }
    void heap_of_mine() {
        here.step = "heap of one thread";
        if (p_.heaps.size() >= 3 || (!p_.heaps.empty() && d_.one_in(3))) {
            kept_heap& last = p_.heaps.back();
            for (const record& row : last.rows) p_.rows.push_back(row);
            p_.heaps.pop_back();
            return;
        }
        kept_heap heap;
        if (!open(heap, static_cast<unsigned>(d_.below(heap_kinds)))) return;
        heap.confined = heap.face->can_release_all() && d_.one_in(2);
        if (d_.one_in(2)) heap.local = heap.face->local();
        p_.heaps.push_back(std::move(heap));
    }
    void heap_of_all() {
        here.step = "heap of all threads";
        auto heap = std::make_shared<kept_heap>();
        std::shared_ptr<kept_heap> old; // ends without the lock
        if (!d_.one_in(4) && (!open(*heap, static_cast<unsigned>(d_.below(heap_kinds))) || heap->face->one_thread()))
            return;
        if (heap->face == nullptr) heap = nullptr;
        const std::lock_guard hold(s_.lock_);
        old = std::exchange(s_.heaps_[d_.below(s_.heaps_.size())], std::move(heap));
    }
    void release_all() {
        for (kept_heap& heap : p_.heaps) {
            if (!heap.confined || heap.rows.empty()) continue;
            here.step = "release_all";
            heap.local.reset();
            for (const record& row : heap.rows) {
                look_at_row(row, "a row was changed before release_all");
                s_.drop(row);
            }
            heap.rows.clear();
            heap.face->release_all();
            expect(heap.face->live_rows() == 0, "rows after release_all");
            done_.add(did::release_all);
        }
    }
    void reclaim() {
        here.step = "trim";
        if (d_.one_in(2)) s_.face_->trim();
        else s_.face_->release_empty_pages();
        done_.add(did::reclaim);
    }
    void objects() {
        here.step = "row_ptr";
        done_.add(s_.face_->objects(d_.next()) ? did::object : did::refuse);
    }
    void constants() {
        here.step = "constants";
        static const char constant[] = "constant";
        s_.face_->release(constant);
        s_.face_->link(constant);
        if (p_.local != nullptr) p_.local->release(constant);
        allot::release(constant);
        expect(allot::is_shared(constant), "a constant may be changed");
    }
    void absurd() {
        here.step = "refusal";
        expect(s_.face_->allocate(std::size_t{1} << 40, row_types[0], true) == nullptr, "a row of 1 TiB");
        expect(s_.face_->heap(0, 40000000, row_types[0]) == nullptr, "a heap of rows larger than a page");
        done_.add(did::refuse, 2);
    }

    stage& s_;
    pocket& p_;
    dice& d_;
    counts& done_;
    std::size_t grows_ = 0;
    order order_ = order::random;
};

bool stage::burst(unsigned worker, dice& random, counts& done) {
    if (!gate_.enter()) return false;
    here.set = set_.text;
    const bool good = !ended();
    if (good) {
        auto& mine = pockets_[worker];
        if (mine == nullptr) mine = std::make_unique<pocket>();
        steps(*this, *mine, random, done).run();
    }
    gate_.leave();
    return good;
}

void stage::look_on(dice& random, std::vector<char>& buffer, counts& done) {
    if (!gate_.enter()) return;
    here.set = set_.text;
    here.step = "report";
    if (!ended()) {
        face_->report(static_cast<unsigned>(random.below(6)), buffer);
        for (int looks = about_.charges ? 2000 : 1; looks != 0; --looks) // it may be wrong for a moment only
            expect(face_->charged() <= face_->limit(), "more charged than the limit");
        done.add(did::report);
    }
    gate_.leave();
}

void stage::leave(unsigned worker) {
    gate_.enter_surely();
    here.set = set_.text;
    here.step = "a thread's end";
    if (auto& mine = pockets_[worker]; mine != nullptr) {
        {
            const std::lock_guard hold(lock_);
            for (const record& row : mine->rows) exchange_.push_back(row);
            for (const kept_heap& heap : mine->heaps)
                for (const record& row : heap.rows) exchange_.push_back(row);
        }
        mine.reset();
    }
    gate_.leave();
}

} // namespace soak
