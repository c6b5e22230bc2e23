// Numbers for texts of which there are few: the ways of shipping, flags. A row keeps the number.
#pragma once

#include "../data/checksum.hpp"
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tpch {

/// Threads: any.
class text_codes {
  public:
    /// Throws: std::runtime_error for the 256th text.
    std::uint8_t code_of(std::string_view text) {
        for (unsigned i = 0, n = known_.load(std::memory_order_acquire); i != n; ++i)
            if (texts_[i] == text) return static_cast<std::uint8_t>(i);
        return add(text);
    }
    const std::string& text(std::uint8_t code) const { return texts_[code]; }
    /// The hash of the text: checksum.hpp.
    std::int64_t hash(std::uint8_t code) const { return hashes_[code]; }

  private:
    std::uint8_t add(std::string_view text) {
        const std::lock_guard hold(lock_);
        const unsigned n = known_.load(std::memory_order_relaxed);
        for (unsigned i = 0; i != n; ++i)
            if (texts_[i] == text) return static_cast<std::uint8_t>(i);
        if (n == texts_.size())
            throw std::runtime_error("tpch: a column of few texts has more than 255: " + std::string(text));
        texts_[n] = text;
        hashes_[n] = static_cast<std::int64_t>(hash_of(text));
        known_.store(n + 1, std::memory_order_release);
        return static_cast<std::uint8_t>(n);
    }

    std::mutex lock_;
    std::atomic<unsigned> known_{0};
    std::array<std::string, 255> texts_;
    std::array<std::int64_t, 255> hashes_{};
};

/// The codes of one column while it is read: remembers those of the last texts. Threads: one.
class code_reader {
  public:
    explicit code_reader(text_codes& of) : of_(of) {}
    std::uint8_t operator()(std::string_view text) {
        const std::size_t n = text.size();
        one& last =
            last_[n == 0 ? 0
                         : (n * 7 + static_cast<unsigned char>(text[0]) + 3 * static_cast<unsigned char>(text[n - 1])) %
                               last_.size()];
        if (last.text != text) last = {of_.text(of_.code_of(text)), of_.code_of(text)};
        return last.code;
    }

  private:
    struct one {
        std::string_view text{"\0none", 5};
        std::uint8_t code = 0;
    };
    text_codes& of_;
    std::array<one, 64> last_{};
};

} // namespace tpch
