// Tables in Parquet files, by the column readers of Arrow's Parquet library.
//
// A scan has one reader for each column. All of its memory that grows with the file (pages, dictionaries, buffers of
// the file) is of the query's pool. Values go from the page right into the chunk.
#include "files.hpp"
#include "parquet_texts.hpp"
#include <allot/adapt/arrow_pool.hpp>

#include <arrow/io/file.h>
#include <arrow/util/thread_pool.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace tpch {

const bool reads_parquet = true;

struct arrow_part {
    explicit arrow_part(any_blocks& blocks) : pool(blocks) {}
    allot::adapt::arrow_pool<any_blocks> pool;
};
query_memory::query_memory(const any_blocks& blocks) : blocks_(blocks), arrow_(std::make_unique<arrow_part>(blocks_)) {}
query_memory::~query_memory() = default;
std::size_t query_memory::arrow_bytes() const noexcept {
    return static_cast<std::size_t>(arrow_->pool.bytes_allocated());
}
std::size_t query_memory::most_arrow_bytes() const noexcept {
    return static_cast<std::size_t>(arrow_->pool.max_memory());
}

namespace {

using parquet::Type;

constexpr std::int64_t file_buffer_bytes = 16 * 1024; // of each column
constexpr std::size_t most_texts_at_once = 512;

[[noreturn]] void fail(const std::string& path, const std::string& where, const std::string& what) {
    throw std::runtime_error(path + ": " + where + (where.empty() ? "" : ": ") + what);
}

/// Does `work` with Arrow. What the pool threw goes on; another error names the file.
template <class Work>
auto with_arrow(allot::adapt::arrow_pool<any_blocks>& pool, const std::string& path, const std::string& where,
                Work work) {
    try {
        return work();
    } catch (const parquet::ParquetStatusException& e) {
        pool.rethrow_refusal(e.status());
        fail(path, where, e.what());
    } catch (const parquet::ParquetException& e) {
        pool.rethrow_verdict();
        fail(path, where, e.what());
    }
}

/// The pages of a column: the dictionary's by a reader of its own, which ends with the first page of data. A reader
/// keeps a buffer of its largest page, and the dictionary's is larger than the others by far.
class column_pages final : public parquet::PageReader {
  public:
    column_pages(std::shared_ptr<arrow::io::RandomAccessFile> file, const parquet::ColumnChunkMetaData& chunk,
                 parquet::ReaderProperties how, const parquet::ColumnDescriptor& about) {
        const std::int64_t data = chunk.data_page_offset();
        std::int64_t begin = data;
        if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0 && chunk.dictionary_page_offset() < data)
            begin = chunk.dictionary_page_offset();
        const auto open = [&](std::int64_t from, std::int64_t to) {
            return PageReader::Open(how.GetStream(file, from, to - from), chunk.num_values(), chunk.compression(), how,
                                    about);
        };
        if (begin != data) dictionary_ = open(begin, data);
        data_ = open(data, begin + chunk.total_compressed_size());
    }
    std::shared_ptr<parquet::Page> NextPage() override {
        if (dictionary_ != nullptr && !dictionary_is_read_) {
            dictionary_is_read_ = true;
            if (auto page = dictionary_->NextPage(); page != nullptr) return page;
        }
        dictionary_.reset();
        if (data_page_filter_) data_->set_data_page_filter(std::exchange(data_page_filter_, nullptr));
        return data_->NextPage();
    }
    void set_max_page_header_size(std::uint32_t size) override {
        if (dictionary_ != nullptr) dictionary_->set_max_page_header_size(size);
        data_->set_max_page_header_size(size);
    }

  private:
    std::unique_ptr<PageReader> dictionary_, data_;
    bool dictionary_is_read_ = false;
};

/// Values of one column, read in order.
class column_values {
  public:
    column_values(const parquet::ColumnDescriptor* about, const parquet::ColumnChunkMetaData& chunk,
                  std::unique_ptr<parquet::PageReader> pages, std::uint32_t first, arrow::MemoryPool& pool)
        : name_(about->name()), type_(about->physical_type()), are_together_(has_texts_together(chunk)),
          before_(first) {
        // Pages in front of the first row are not decompressed.
        if (first != 0)
            pages->set_data_page_filter([this](const parquet::DataPageStats& page) {
                const bool is_before = !started_ && page.num_values <= before_;
                if (is_before) before_ -= page.num_values;
                return is_before;
            });
        values_ = parquet::ColumnReader::Make(about, std::move(pages), &pool);
    }
    column_values(const column_values&) = delete;

    const std::string& name() const { return name_; }

    /// Reads `n` values into column `c`.
    void read(chunk& to, std::size_t c, std::size_t n, parquet::ByteArray* texts) {
        switch (type_) {
        case Type::INT32: return read_numbers<parquet::Int32Type>(to.ints_to(c), n);
        case Type::INT64: return read_numbers<parquet::Int64Type>(to.longs_to(c), n);
        default: return read_texts(to, c, n, texts);
        }
    }

  private:
    template <class Column> parquet::TypedColumnReader<Column>& start() {
        auto& values = static_cast<parquet::TypedColumnReader<Column>&>(*values_);
        if (started_) return values;
        const bool more = values.HasNext(); // leaves pages out
        started_ = true;
        if (more && before_ != 0) values.Skip(before_);
        return values;
    }
    template <class Column>
    static std::size_t read_some(parquet::TypedColumnReader<Column>& from, typename Column::c_type* to, std::size_t n) {
        std::int64_t got = 0;
        from.ReadBatch(static_cast<std::int64_t>(n), nullptr, nullptr, to, &got);
        if (got == 0) throw parquet::ParquetException("the column has fewer values than its part has rows");
        return static_cast<std::size_t>(got);
    }
    template <class Column> void read_numbers(typename Column::c_type* to, std::size_t n) {
        auto& values = start<Column>();
        for (std::size_t got = 0; got != n;) got += read_some(values, to + got, n - got);
    }
    void read_texts(chunk& to, std::size_t c, std::size_t n, parquet::ByteArray* texts) {
        auto& values = start<parquet::ByteArrayType>();
        std::uint32_t* const offsets = to.offsets_to(c);
        std::size_t used = 0;
        for (std::size_t row = 0; row != n;) {
            const std::size_t got = read_some(values, texts, std::min(n - row, most_texts_at_once));
            std::size_t bytes = 0;
            for (std::size_t i = 0; i != got; ++i) bytes += texts[i].len;
            copy_texts(texts, got, are_together_, to.text_to(c, used, bytes), used, offsets + row);
            used += bytes;
            row += got;
        }
        offsets[n] = static_cast<std::uint32_t>(used);
    }

    std::string name_;
    Type::type type_;
    bool are_together_; // of texts
    bool started_ = false;
    std::int64_t before_; // values to leave out
    std::shared_ptr<parquet::ColumnReader> values_;
};

class parquet_scan final : public scan {
  public:
    parquet_scan(const std::string& path, std::size_t part, std::uint32_t n, query_memory& memory)
        : path_(path), part_(part), left_(n), memory_(memory) {}

    void open(const std::shared_ptr<arrow::io::RandomAccessFile>& file, const parquet::FileMetaData& about,
              std::span<const int> columns, std::uint32_t first) {
        with_arrow(pool(), path_, "part " + std::to_string(part_), [&] {
            parquet::ReaderProperties how{&pool()};
            how.enable_buffered_stream();
            how.set_buffer_size(file_buffer_bytes);
            const auto rows = about.RowGroup(static_cast<int>(part_));
            for (const int c : columns) {
                const parquet::ColumnDescriptor* const d = about.schema()->Column(c);
                const auto chunk = rows->ColumnChunk(c);
                columns_.push_back(std::make_unique<column_values>(
                    d, *chunk, std::make_unique<column_pages>(file, *chunk, how, *d), first, pool()));
            }
        });
    }
    bool next(chunk& to) override {
        const std::size_t n = std::min<std::size_t>(left_, to.capacity());
        to.set_rows(0);
        if (n == 0) return false;
        for (std::size_t c = 0; c != columns_.size(); ++c)
            with_arrow(pool(), path_, columns_[c]->name() + ", part " + std::to_string(part_),
                       [&] { columns_[c]->read(to, c, n, texts_); });
        pool().rethrow_verdict();
        to.set_rows(n);
        left_ -= static_cast<std::uint32_t>(n);
        return true;
    }

  private:
    allot::adapt::arrow_pool<any_blocks>& pool() { return memory_.arrow().pool; }

    const std::string& path_;
    std::size_t part_;
    std::uint32_t left_;
    query_memory& memory_;
    std::vector<std::unique_ptr<column_values>> columns_;
    parquet::ByteArray texts_[most_texts_at_once];
};

class parquet_table final : public table {
  public:
    explicit parquet_table(const std::filesystem::path& path) : path_(path.string()) {
        static_cast<void>(arrow::SetCpuThreadPoolCapacity(1)); // no thread of Arrow's works for a scan
        auto opened = arrow::io::ReadableFile::Open(path_, arrow::system_memory_pool());
        if (!opened.ok()) fail(path_, "", opened.status().message());
        file_ = *opened;
        try {
            const parquet::ReaderProperties how{arrow::system_memory_pool()};
            about_ = parquet::ParquetFileReader::Open(file_, how)->metadata();
        } catch (const parquet::ParquetException& e) {
            fail(path_, "", e.what());
        }
        for (int g = 0; g != about_->num_row_groups(); ++g) {
            const std::int64_t n = about_->RowGroup(g)->num_rows();
            if (n < 0 || n > UINT32_MAX) fail(path_, "part " + std::to_string(g), "more than 2^32 rows");
            parts_.push_back(static_cast<std::uint32_t>(n));
        }
    }

    std::uint64_t rows() const override { return static_cast<std::uint64_t>(about_->num_rows()); }
    std::size_t parts() const override { return parts_.size(); }
    std::uint32_t rows_of(std::size_t part) const override { return parts_.at(part); }
    std::vector<const char*> columns() const override {
        std::vector<const char*> names;
        for (int c = 0; c != about_->num_columns(); ++c) names.push_back(about_->schema()->Column(c)->name().c_str());
        return names;
    }
    std::vector<column_type> types(std::span<const char* const> columns) const override {
        std::vector<column_type> types;
        for (const char* const name : columns) types.push_back(type_of(*about_->schema()->Column(index_of(name))));
        return types;
    }
    std::unique_ptr<scan> read(std::size_t part, std::uint32_t first, std::uint32_t n,
                               std::span<const char* const> columns, query_memory& memory) const override {
        std::vector<int> wanted;
        for (const char* const name : columns) {
            wanted.push_back(index_of(name));
            static_cast<void>(type_of(*about_->schema()->Column(wanted.back())));
        }
        if (first > rows_of(part) || n > rows_of(part) - first)
            fail(path_, "part " + std::to_string(part), "rows beyond its end were requested");
        auto made = std::make_unique<parquet_scan>(path_, part, n, memory);
        if (n != 0) made->open(file_, *about_, wanted, first);
        return made;
    }

  private:
    int index_of(const char* name) const {
        const int c = about_->schema()->ColumnIndex(std::string{name});
        if (c < 0) fail(path_, name, "there is no such column");
        return c;
    }
    column_type type_of(const parquet::ColumnDescriptor& c) const {
        if (c.max_definition_level() != 0 || c.max_repetition_level() != 0)
            fail(path_, c.name(), "values may be null or repeated; only required columns are read");
        if (const auto& meaning = c.logical_type(); meaning && meaning->is_decimal() && c.type_scale() != 2)
            fail(path_, c.name(), "decimals have " + std::to_string(c.type_scale()) + " digits after the point, not 2");
        switch (c.physical_type()) {
        case Type::INT32: return column_type::number32;
        case Type::INT64: return column_type::number64;
        case Type::BYTE_ARRAY: return column_type::text;
        default: fail(path_, c.name(), "values are neither INT32, INT64 nor BYTE_ARRAY");
        }
    }

    std::string path_;
    std::shared_ptr<arrow::io::ReadableFile> file_;
    std::shared_ptr<parquet::FileMetaData> about_;
    std::vector<std::uint32_t> parts_;
};

} // namespace

std::unique_ptr<table> open_parquet(const std::filesystem::path& file) { return std::make_unique<parquet_table>(file); }

} // namespace tpch
