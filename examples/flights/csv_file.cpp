#include "csv_file.hpp"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flights::csv {

file::file(const std::string& path, const block_memory& memory) : path_(path), pieces_(memory.pieces) {
    if (pieces_ != nullptr) own_ = memory.allocate();
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw input_error(path_ + ": " + std::strerror(errno));
    struct stat about{};
    const bool regular = ::fstat(file_, &about) == 0 && S_ISREG(about.st_mode);
    if (regular) size_ = static_cast<std::uint64_t>(about.st_size);
    if (regular || pieces_ == nullptr) return;
    ::close(file_);
    throw input_error(path_ + ": no regular file, so it cannot be read in every round");
}

file::~file() { ::close(file_); }

std::size_t file::read(char* at, std::size_t room) {
    if (pieces_ == nullptr) return read_from_system(at, room);
    if (used_ == piece_bytes_) {
        used_ = 0;
        piece_bytes_ = read_piece();
    }
    const std::size_t n = std::min(room, piece_bytes_ - used_);
    if (n != 0) std::memcpy(at, (kept_ ? kept_.bytes() : own_).data() + used_, n);
    used_ += n;
    return n;
}

/// Returns its bytes; 0: at the end of the file.
std::size_t file::read_piece() {
    const std::string name = path_ + '@' + std::to_string(at_);
    kept_ = {}; // it may leave for the next one
    kept_ = pieces_->find(name);
    std::size_t n = kept_.bytes().size();
    if (kept_ && ::lseek(file_, static_cast<off_t>(at_ + n), SEEK_SET) < 0)
        throw input_error(path_ + ": " + std::strerror(errno));
    if (!kept_) {
        auto* const to = reinterpret_cast<char*>(own_.data());
        for (std::size_t got = 1; got != 0 && n != block_bytes; n += got)
            got = read_from_system(to + n, block_bytes - n);
        if (n != 0) pieces_->keep(name, {own_.data(), n});
    }
    at_ += n;
    return n;
}

std::size_t file::read_from_system(char* at, std::size_t room) {
    for (;;) {
        const ssize_t n = ::read(file_, at, room);
        if (n >= 0) return static_cast<std::size_t>(n);
        if (errno != EINTR) throw input_error(path_ + ": " + std::strerror(errno));
    }
}

} // namespace flights::csv
