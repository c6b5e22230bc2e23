"""Bugs of finding a free run: best fit, its sizes and its addresses."""

BUGS = {
    "fit_takes_what_it_meets_first": (
        "unit/fit/best_fit.cpp", "fit/size_tree.hpp", "best = fits ? t : best;", "if (fits) return t;"),
    "fit_orders_by_size_alone": (
        "unit/fit/best_fit_model.cpp", "fit/size_tree.hpp", "(a.units < units) | ((a.units == units) & (a.address < address))", "a.units < units"),
    "fit_skips_its_own_bin": (
        "unit/fit/best_fit.cpp", "fit/size_index.hpp",
        "if (const std::uint32_t x = tree::fitting(n, roots_[bin], units); x != 0) return x;\n        return first_from",
        "return first_from"),
    "fit_bin_not_forgotten": (
        "unit/fit/best_fit.cpp", "fit/size_index.hpp", "words_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);\n", ""),
    "fit_run_stays_in_a_shared_bin": (
        "unit/fit/best_fit_model.cpp", "fit/size_index.hpp", " && tree::is_alone(n, roots_[bin], x);", ";"),
    "fit_ranks_do_not_count": (
        "unit/fit/best_fit.cpp", "fit/size_tree.hpp", "x * 0x9E3779B1U;", "~x;"),
    "fit_joins_whatever_the_tags": (
        "unit/fit/best_fit_tags.cpp", "fit/keyed_runs.hpp", "other.is_free() && Tag::may_join(other.tag, tag) &&", "other.is_free() &&"),
    "fit_keeps_the_earlier_ticket": (
        "unit/fit/best_fit_tags.cpp", "fit/keyed_runs.hpp",
        "            tag = Tag::join(n[behind].tag, tag);\n", "            tag = n[behind].tag;\n"),
    "fit_rest_loses_its_tag": (
        "unit/fit/best_fit_tags.cpp", "fit/fit_space.hpp",
        "x, n[x].next, {0, 0}, node::live_mark, n[x].tag};", "x, n[x].next, {0, 0}, node::live_mark, Tag{}};"),
    "fit_joins_beyond_what_a_node_counts": (
        "unit/fit/best_fit.cpp", "fit/keyed_runs.hpp", " && units <= most_units - other.units;", ";"),
    "fit_changes_before_it_has_metadata": (
        "unit/fit/best_fit.cpp", "fit/best_fit.hpp",
        "if (!space_.prepare(1)) return false;\n        live_units_ -= nodes()[x].units - units;",
        "live_units_ -= nodes()[x].units - units;\n        if (!space_.prepare(1)) return false;"),
    "fit_aligned_run_without_room": (
        "unit/fit/best_fit_model.cpp", "fit/keyed_runs.hpp", "x = of.best(n, units + room);", "x = of.best(n, units + room / 2);"),
    "fit_unites_whatever_the_segment": (
        "unit/fit/best_fit.cpp", "fit/fit_space.hpp", "if (a.end != b.begin || a.segment != b.segment) return;", "if (a.end != b.begin) return;"),
    "fit_gathers_past_the_joined_run": (
        "unit/fit/best_fit_model.cpp", "fit/best_fit.hpp",
        "            return make_free(x, tag);\n", "            make_free(x, tag);\n            return x;\n"),
    "fit_any_takes_the_first_key": (
        "unit/fit/best_fit_model.cpp", "fit/best_fit.hpp",
        "if (x == 0 || (best != 0 && !is_before(n[x], n[best]))) continue;", "if (x == 0 || best != 0) continue;"),
    "fit_forgets_an_address_of_its_chain": (
        "unit/fit/best_fit_model.cpp", "fit/address_hash.hpp", "        *link = n[x].child[0];\n", "        *link = 0;\n"),
    "stream_rest_of_a_split_is_clean": (
        "traces/device_allocator.cpp", "fit/fit_space.hpp",
        "x, n[x].next, {0, 0}, node::live_mark, n[x].tag};", "x, n[x].next, {0, 0}, node::live_mark, Tag{}};"),
}
