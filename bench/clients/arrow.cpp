// Arrow reads two tables of TPC-H, groups, joins and sorts them, twice, with its own pools or with allot's.
//
//     allot_client_arrow --data DIR [--set system|mimalloc|jemalloc|allot] [--limit BYTES]
#include <clients/client.hpp>

#include <allot/adapt/arrow_pool.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>

#include <arrow/acero/api.h>
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace ac = arrow::acero;
namespace cp = arrow::compute;
using table = std::shared_ptr<arrow::Table>;

// The set of docs/arrow.md.
struct arrow_blocks
    : allot::policies<allot::ledger::tree, allot::heap::per_thread, allot::page::mapped<{.transparent_huge = false}>> {
};

struct options : bench::client_options {
    std::string data;
    void more(CLI::App& app) override {
        app.add_option("--data", data, "Folder with lineitem.parquet and orders.parquet")->required();
    }
};

template <class T> T must(arrow::Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.status().ToString());
    return std::move(*result);
}
void must(const arrow::Status& good) {
    if (!good.ok()) throw std::runtime_error(good.ToString());
}

class load {
  public:
    load(std::string data, arrow::MemoryPool& pool) : data_(std::move(data)), pool_(pool) {}

    // Rows of each result, so that a wrong one is seen.
    std::vector<std::int64_t> run() {
        const table lines =
            read("lineitem", {"l_orderkey", "l_quantity", "l_extendedprice", "l_returnflag", "l_linestatus"});
        const table orders = read("orders", {"o_orderkey", "o_custkey", "o_orderpriority"});
        std::vector<std::int64_t> rows{lines->num_rows(), orders->num_rows()};
        rows.push_back(grouped(lines, {"l_returnflag", "l_linestatus"})->num_rows());
        rows.push_back(grouped(lines, {"l_orderkey"})->num_rows());
        rows.push_back(joined(lines, orders)->num_rows());
        rows.push_back(sorted(lines)->num_rows());
        return rows;
    }

  private:
    table read(const std::string& name, const std::vector<std::string>& columns) {
        parquet::arrow::FileReaderBuilder builder;
        must(builder.OpenFile(data_ + "/" + name + ".parquet", false, parquet::ReaderProperties(&pool_)));
        parquet::ArrowReaderProperties how;
        how.set_use_threads(true);
        const auto reader = must(builder.memory_pool(&pool_)->properties(how)->Build());
        std::vector<int> at;
        for (const std::string& c : columns)
            at.push_back(reader->parquet_reader()->metadata()->schema()->ColumnIndex(c));
        table all = must(reader->ReadTable(at));
        for (int c = 0; c != all->num_columns(); ++c) // hash joins take no views
            if (all->field(c)->type()->id() == arrow::Type::STRING_VIEW) {
                cp::ExecContext in{&pool_};
                const arrow::Datum text = must(cp::Cast(all->column(c), arrow::utf8(), cp::CastOptions::Safe(), &in));
                all = must(all->SetColumn(c, arrow::field(all->field(c)->name(), arrow::utf8()), text.chunked_array()));
            }
        return all;
    }
    static ac::Declaration from(const table& t) { return {"table_source", ac::TableSourceNodeOptions{t, 1 << 15}}; }
    table run(ac::Declaration what) { return must(ac::DeclarationToTable(std::move(what), true, &pool_)); }
    table grouped(const table& t, const std::vector<std::string>& keys) {
        std::vector<arrow::FieldRef> by(keys.begin(), keys.end());
        return run(ac::Declaration::Sequence(
            {from(t),
             {"aggregate", ac::AggregateNodeOptions{{{"hash_sum", nullptr, "l_quantity", "quantity"},
                                                     {"hash_mean", nullptr, "l_extendedprice", "price"}},
                                                    by}}}));
    }
    table joined(const table& lines, const table& orders) {
        return run({"hashjoin",
                    {from(lines), from(orders)},
                    ac::HashJoinNodeOptions{ac::JoinType::INNER, {"l_orderkey"}, {"o_orderkey"}}});
    }
    table sorted(const table& t) {
        return run(ac::Declaration::Sequence(
            {from(t), {"order_by", ac::OrderByNodeOptions{cp::Ordering{{cp::SortKey{"l_extendedprice"}}}}}}));
    }

    std::string data_;
    arrow::MemoryPool& pool_;
};

int measure(const options& with, arrow::MemoryPool& pool, auto held) {
    must(cp::Initialize());
    load work(with.data, pool);
    bench::client_run all;
    std::vector<double> passes;
    std::string outcome = "done";
    std::vector<std::int64_t> rows;
    try {
        for (int pass = 0; pass != 2; ++pass) {
            const double start = all.cpu();
            rows = work.run();
            passes.push_back(all.cpu() - start);
        }
    } catch (const std::exception& e) {
        outcome = e.what();
    }
    all.stop();
    // Arrow's threads free what they hold a little later.
    for (int i = 0; i != 1000 && pool.bytes_allocated() != 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    all.print("arrow", with, outcome, static_cast<std::size_t>(pool.max_memory()), held(),
              {{"passes_cpu_s", passes}, {"rows", rows}, {"left_bytes", pool.bytes_allocated()}});
    return outcome == "done" ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    options with;
    with.set = "allot";
    if (int code = 0; !with.parse("Arrow's memory", {"system", "mimalloc", "jemalloc", "allot"}, argc, argv, code))
        return code;
    if (with.set == "allot") {
        allot::account all{allot::name{"arrow"}, allot::limit{with.limit != 0 ? with.limit : SIZE_MAX}};
        allot::chunk_arena<arrow_blocks> blocks{all};
        allot::adapt::arrow_pool pool{blocks};
        return measure(with, pool, [&] { return all.peak(); });
    }
    arrow::MemoryPool* pool = arrow::system_memory_pool();
    arrow::Status there = arrow::Status::OK();
    if (with.set == "mimalloc") there = arrow::mimalloc_memory_pool(&pool);
    if (with.set == "jemalloc") there = arrow::jemalloc_memory_pool(&pool);
    if (!there.ok()) {
        std::fprintf(stderr, "this Arrow has no %s\n", with.set.c_str());
        return 3;
    }
    std::optional<arrow::CappedMemoryPool> capped;
    if (with.limit != 0) pool = &capped.emplace(pool, static_cast<std::int64_t>(with.limit));
    return measure(with, *pool, [] { return std::size_t{0}; });
}
