// One HTML file that shows where the memory went. It needs no network and no other file.
//
//     allot::html_page page{"flights.html"};         // or a sink: page{to_socket}
//     page.peak(fullest).accounts(root).timeline(line, root).rows(orders).chunks(blocks);
//     if (const std::error_code wrong = page.finish()) std::fprintf(stderr, "%s\n", wrong.message().c_str());
//
// The file has the JSON of the other reports (accounts.hpp, rows.hpp, page_usage.hpp, chunks.hpp, memory_timeline.hpp)
// in <script type="application/json"> elements, and a fixed style and script that draw it. So it shows the numbers that
// they show. Any part may be left out. The title says which program wrote it, on which host and when.
//
// Invariant: JSON is never cut. Each report is written as it is made, through two buffers of 16 KiB. A page that was not
// finished, or of which a write failed, says at its top that it is not whole, and shows the parts before.
// Cost: 33 KiB in the object, which is then often on the stack; 47 KiB of style and script in the file. With a path the C
// library allocates a stream; with a sink nothing is allocated. So it can be used when memory is short.
// Threads: one at a time; what is shown may change meanwhile, as the reports say. peak() and timeline(): not.
// Source: the "memory flame graph and timeline in one offline file" of memray (2022) and heaptrack (2014).
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/report/accounts.hpp>
#include <allot/report/chunks.hpp>
#include <allot/report/html_script.hpp>
#include <allot/report/html_script_accounts.hpp>
#include <allot/report/html_script_timeline.hpp>
#include <allot/report/html_stream.hpp>
#include <allot/report/html_style.hpp>
#include <allot/report/memory_timeline.hpp>
#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>
#include <allot/sys/this_run.hpp>
#include <allot/version.hpp>

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

class html_page {
  public:
    /// Writes into this file; what was in it is lost. Where it cannot be opened, error() says why, and nothing is done.
    explicit html_page(const char* path, std::string_view title = "allot") noexcept : file_{std::fopen(path, "w")} {
        if (file_ == nullptr) error_ = last_error();
        else std::setvbuf(file_, nullptr, _IONBF, 0); // it has a buffer
        write_ = [](void* self, std::string_view text) noexcept { return static_cast<html_page*>(self)->put(text); };
        begin(title);
    }
    /// Calls to(text) with parts of the page, each at most 16 KiB.
    /// Requires: `to` outlives this object, whose destructor may call it, and throws nothing; it returns nothing, or
    /// false where it failed: then it is not called again. It opens and closes no account of a tree that is shown, and
    /// allocates no row or block of an object that is shown, since it is called while these are visited.
    template <class Sink>
        requires std::invocable<Sink&, std::string_view>
    explicit html_page(Sink& to, std::string_view title = "allot") noexcept
        : sink_{const_cast<void*>(static_cast<const void*>(std::addressof(to)))} {
        write_ = [](void* self, std::string_view text) noexcept {
            auto& page = *static_cast<html_page*>(self);
            auto& sink = *static_cast<Sink*>(page.sink_);
            if constexpr (std::convertible_to<std::invoke_result_t<Sink&, std::string_view>, bool>) {
                if (!sink(text)) page.error_ = std::make_error_code(std::errc::io_error);
            } else {
                sink(text);
            }
            return !page.error_;
        };
        begin(title);
    }
    html_page(const html_page&) = delete;
    html_page& operator=(const html_page&) = delete;
    /// Writes what was shown, and closes the file. Without finish() the page says that it is not whole.
    ~html_page() {
        if (is_finished_) return;
        out_.flush();
        if (file_ != nullptr) std::fclose(file_);
    }

    /// Shows this account and all below as they are now. No account of the tree is opened or closed while it writes.
    /// Threads: any that is not inside a visit of the tree.
    html_page& accounts(const account& root) noexcept {
        return data("accounts", [&](text_writer& out) { write_accounts_json(out, root, account_numbers::known); });
    }
    /// Shows the tree at its peak. Given before or after accounts() of the same root, it is shown beside it: of the
    /// same tree, whatever the names are.
    html_page& peak(const account_peak& at) noexcept {
        return data(
            "peak", [&](text_writer& out) { write_accounts_json(out, at, account_numbers::known); }, at.missing());
    }
    /// Shows what was sampled, without a limit.
    html_page& timeline(const memory_timeline& line) noexcept {
        return data("timeline", [&](text_writer& out) { write_timeline_json(out, line); });
    }
    /// Shows what was sampled of this account, with its path and limit.
    html_page& timeline(const memory_timeline& line, const account& of) noexcept {
        const detail::account_path path = of.path();
        const timeline_subject subject{path.text(), of.limit()};
        return data("timeline", [&](text_writer& out) { write_timeline_json(out, line, &subject); });
    }
    /// Shows a row manager: heaps, row types now and at the peak, and the map of its pages.
    template <class Rows> html_page& rows(const Rows& of) noexcept {
        data("rows", [&](text_writer& out) { write_report_json(out, of); });
        return data("pages", [&](text_writer& out) { write_page_usage_json(out, of); });
    }
    /// Shows a chunk arena and its classes.
    template <class Set> html_page& chunks(const chunk_arena<Set>& of) noexcept {
        return data("chunks", [&](text_writer& out) { write_report_json(out, of); });
    }
    /// Shows the report of an out_of_memory, at the top; more than one in their order.
    html_page& out_of_memory(std::string_view report) noexcept {
        if (error_ || is_finished_) return *this;
        out_.html("<section class=\"report\"><h2>Out of memory</h2>\n<pre>\n").text(report).html("</pre></section>\n");
        return *this;
    }

    /// Ends the page. Returns: the first error of a call so far; none: the page is whole. Later calls do nothing.
    [[nodiscard]] std::error_code finish() noexcept {
        if (is_finished_) return error_;
        out_.html("<template id=\"whole\"></template>\n</body>\n</html>\n").flush(); // takes nothing after an error
        if (file_ != nullptr && std::fclose(file_) != 0 && !error_) error_ = last_error();
        file_ = nullptr;
        is_finished_ = true;
        return error_;
    }
    /// The first error so far.
    std::error_code error() const noexcept { return error_; }

  private:
    static std::error_code last_error() noexcept { return {errno != 0 ? errno : EIO, std::generic_category()}; }
    bool put(std::string_view text) noexcept {
        if (file_ == nullptr || error_) return false;
        errno = 0;
        if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = last_error();
        return !error_;
    }
    ALLOT_OUTLINE void begin(std::string_view title) noexcept {
        if (error_) return;
        char run[512];
        text_writer this_run{run};
        detail::sys::write_this_run(this_run);
        out_.html("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
            .text(title)
            .html(": ")
            .text(this_run.view())
            .html("</title>\n<style>")
            .html(detail::html_style)
            .html("</style>\n<script>")
            .html(detail::html_script)
            .html(detail::html_script_accounts)
            .html(detail::html_script_timeline)
            .html("</script>\n</head>\n<body>\n<h1>")
            .text(title)
            .html("</h1>\n<p class=\"quiet\">")
            .text(this_run.view())
            .html("</p>\n<p id=\"cut\">This page is not whole: the program that wrote it did not finish it, or a write "
                  "failed. Parts are missing.</p>\n<noscript><p>This page is drawn by a script, and scripts are off."
                  "</p></noscript>\n<main></main>\n<div id=\"tip\" role=\"status\" hidden></div>\n");
    }
    template <class Write> html_page& data(std::string_view kind, Write write, std::size_t missing = 0) noexcept {
        if (error_ || is_finished_) return *this;
        char tag[160];
        text_writer open{tag};
        // The pages of a row manager have its number.
        const bool is_second = kind == "pages";
        if (!is_second) ++reports_;
        open.put("<script type=\"application/json\" id=\"report-").number(reports_).put(is_second ? "-pages\"" : "\"");
        open.put(" data-kind=\"").put(kind).put('"');
        if (missing != 0) open.put(" data-missing=\"").number(missing).put('"');
        open.put('>');
        out_.html(open.view()).json(write).html("</script>\n");
        return *this;
    }

    bool (*write_)(void*, std::string_view) noexcept = nullptr;
    void* sink_ = nullptr;
    std::FILE* file_ = nullptr;
    std::error_code error_;
    unsigned reports_ = 0;
    bool is_finished_ = false;
    detail::html_stream out_{
        {[](void* self, std::string_view text) noexcept { return static_cast<html_page*>(self)->write_(self, text); },
         this}};
};

} // namespace allot::inline ALLOT_ABI
