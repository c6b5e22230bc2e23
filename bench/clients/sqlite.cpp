// SQLite with its own memory, glibc's, or with allot's: a database in memory, and a mixed load of a file.
//
//     allot_client_sqlite [--set default|allot|allot_memory] [--limit BYTES] [--scale N]
//
// One thread. In memory: inserts, indexes, joins, sorts, updates and deletes of three tables, and statements that are
// prepared for one use. Then a file in WAL mode: four reads to a write, with a cache of 4 MiB that is less than the
// file. `allot_memory` leaves the pages to SQLite's own cache. `asked_bytes`: SQLite's own peak count, and the pages.
#include <clients/client.hpp>

#include <allot/adapt/sqlite.hpp>
#include <allot/adapt/sqlite_pages.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <stdlib.h>

namespace {

using rows_type = allot::row_manager<allot::use::containers>;

struct no_memory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class database {
  public:
    // Calls `look` while statements run.
    database(const std::string& path, std::function<void()>& look) {
        must(sqlite3_open(path.c_str(), &db_));
        constexpr auto call = [](void* look_at) { return (*static_cast<std::function<void()>*>(look_at))(), 0; };
        sqlite3_progress_handler(db_, 10'000, call, &look);
    }
    ~database() { sqlite3_close(db_); }
    database(const database&) = delete;
    database& operator=(const database&) = delete;

    void run(const std::string& sql) { must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr)); }
    void must(int code) const {
        if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM) throw no_memory("SQLITE_NOMEM");
        if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
            throw std::runtime_error(db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code));
    }
    sqlite3* get() const { return db_; }

  private:
    sqlite3* db_ = nullptr;
};

class statement {
  public:
    statement(database& db, const std::string& sql) : db_(db) {
        db.must(sqlite3_prepare_v2(db.get(), sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr));
    }
    ~statement() { sqlite3_finalize(statement_); }
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;

    // Binds the values, and returns the sum of all columns of all rows: of texts their length.
    template <class... Values> std::uint64_t run(const Values&... values) {
        int place = 0;
        (bind(++place, values), ...);
        std::uint64_t sum = 0;
        int code = 0;
        while ((code = sqlite3_step(statement_)) == SQLITE_ROW)
            for (int i = 0; i != sqlite3_column_count(statement_); ++i)
                sum += sqlite3_column_type(statement_, i) == SQLITE_TEXT
                           ? static_cast<std::uint64_t>(sqlite3_column_bytes(statement_, i))
                           : static_cast<std::uint64_t>(sqlite3_column_int64(statement_, i));
        sqlite3_reset(statement_);
        db_.must(code);
        return sum;
    }

  private:
    void bind(int place, std::uint64_t value) {
        db_.must(sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(value)));
    }
    void bind(int place, const std::string& value) {
        db_.must(sqlite3_bind_text(statement_, place, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
    }
    database& db_;
    sqlite3_stmt* statement_ = nullptr;
};

class load {
  public:
    load(double scale, std::function<void()> look) : scale_(scale), look_(std::move(look)) {}

    std::uint64_t in_memory() {
        database db{":memory:", look_};
        std::uint64_t sum = 0;
        const std::uint64_t customers = n(5'000), orders = n(40'000);
        db.run("create table customer(id integer primary key, name text, region int);"
               "create table orders(id integer primary key, customer int, day int, note text);"
               "create table item(orders int, part int, price int, comment text)");
        db.run("begin");
        {
            statement customer{db, "insert into customer values(?, ?, ?)"};
            for (std::uint64_t i = 0; i != customers; ++i) customer.run(i, text(30), random_() % 25);
            statement order{db, "insert into orders values(?, ?, ?, ?)"};
            statement item{db, "insert into item values(?, ?, ?, ?)"};
            for (std::uint64_t i = 0; i != orders; ++i) {
                order.run(i, random_() % customers, random_() % 2'000, text(60));
                for (std::uint64_t j = random_() % 7; j != 0; --j)
                    item.run(i, random_() % 5'000, random_() % 10'000, text(40));
            }
        }
        db.run("commit");
        db.run("create index order_customer on orders(customer, day); create index item_order on item(orders);"
               "create index item_comment on item(comment)");
        for (std::uint64_t region = 0; region != 25; ++region)
            sum += statement{db,
                             "select c.name, count(*), sum(i.price) from customer c join orders o on o.customer = c.id "
                             "join item i on i.orders = o.id where c.region = ? group by c.id order by 3 desc limit 20"}
                       .run(region);
        sum += statement{db, "select part, count(distinct orders), max(comment) from item group by part order by 2, 1"}
                   .run();
        // Statements for one use, as of a program that makes its own text.
        for (std::uint64_t i = 0; i != n(15'000); ++i)
            sum += statement{db, "select o.note, i.price, i.comment from orders o left join item i on i.orders = o.id "
                                 "where o.id = " +
                                     std::to_string(random_() % orders) + " and i.price > " +
                                     std::to_string(random_() % 5'000)}
                       .run();
        db.run("begin");
        {
            statement change{db, "update item set price = price + 1, comment = ? where orders = ?"};
            statement remove{db, "delete from item where orders = ?"};
            statement add{db, "insert into item values(?, ?, ?, ?)"};
            for (std::uint64_t i = 0; i != n(20'000); ++i) {
                const std::uint64_t at = random_() % orders;
                if (i % 4 == 0) remove.run(at), add.run(at, random_() % 5'000, i % 10'000, text(200));
                else change.run(text(60), at);
            }
        }
        db.run("commit");
        sum +=
            statement{db, "select comment, orders from item order by substr(comment, 4), orders limit 1000 offset 5000"}
                .run();
        sum += statement{db, "select sum(price), count(*), sum(length(comment)) from item"}.run();
        return sum;
    }

    std::uint64_t in_a_file(const std::string& path) {
        database db{path, look_};
        std::uint64_t sum = 0;
        db.run("pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -4096;"
               "create table event(id integer primary key, source int, body text); create index by_source on "
               "event(source)");
        const std::uint64_t events = n(60'000);
        db.run("begin");
        {
            statement add{db, "insert into event values(?, ?, ?)"};
            for (std::uint64_t i = 0; i != events; ++i) add.run(i, random_() % 3'000, text(250));
        }
        db.run("commit");
        statement read{db, "select body from event where id = ?"};
        statement of_source{db, "select count(*), sum(length(body)) from event where source = ?"};
        statement change{db, "update event set body = ? where id = ?"};
        for (std::uint64_t i = 0; i != n(1'000); ++i) {
            db.run("begin");
            for (int j = 0; j != 20; ++j) {
                if (j % 5 == 4) change.run(text(300), random_() % events);
                else if (j % 5 == 3) sum += of_source.run(random_() % 3'000);
                else sum += read.run(random_() % events);
            }
            db.run("commit");
        }
        return sum;
    }

  private:
    std::uint64_t n(std::uint64_t count) const {
        return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(count) * scale_));
    }
    std::string text(std::uint64_t most) {
        std::string s(1 + random_() % most, ' ');
        for (char& c : s) c = static_cast<char>('a' + random_() % 26);
        return s;
    }

    double scale_;
    std::function<void()> look_;
    std::minstd_rand random_{1};
};

int measure(const bench::client_options& with, std::function<void()> look, const std::function<std::size_t()>& asked,
            const std::function<std::size_t()>& held) {
    std::string folder = (std::filesystem::temp_directory_path() / "allot-sqlite-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr)
        throw std::runtime_error("cannot make a folder for the database: " + folder);
    std::string outcome = "done";
    std::uint64_t sum = 0;
    bench::client_run all;
    try {
        load work{with.scale, std::move(look)};
        sum = work.in_memory();
        sum += work.in_a_file(folder + "/events.db");
    } catch (const no_memory& e) {
        outcome = e.what();
    }
    all.stop();
    std::filesystem::remove_all(folder);
    all.print("sqlite", with, outcome, asked(), held(), {{"checksum", sum}});
    return outcome == "done" ? 0 : 1;
}
std::size_t highest_of_sqlite() { return static_cast<std::size_t>(sqlite3_memory_highwater(0)); }

int measure_allot(const bench::client_options& with) {
    rows_type rows{allot::name{"SQLite"}, allot::limit{with.limit != 0 ? with.limit : SIZE_MAX}};
    allot::adapt::sqlite_memory memory{rows};
    std::optional<allot::adapt::sqlite_pages<rows_type>> pages;
    if (with.set == "allot") pages.emplace(rows);
    std::size_t most = 0; // asked for at once, as seen while statements run
    const auto look = [&] {
        const std::size_t of_pages = pages ? pages->pages() * 4'312 : 0; // SQLite's page, and what it keeps of it
        most = std::max(most, static_cast<std::size_t>(sqlite3_memory_used()) + of_pages);
    };
    return measure(with, look, [&] { return std::max(most, highest_of_sqlite()); }, [&] { return rows.peak(); });
}

} // namespace

int main(int argc, char** argv) {
    bench::client_options with;
    with.set = "allot";
    if (int code = 0; !with.parse("SQLite's memory", {"default", "allot", "allot_memory"}, argc, argv, code))
        return code;
    try {
        if (with.set != "default") return measure_allot(with);
        if (with.limit != 0) sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(with.limit));
        return measure(with, [] {}, highest_of_sqlite, highest_of_sqlite);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "allot_client_sqlite: %s\n", e.what());
        return 2;
    }
}
