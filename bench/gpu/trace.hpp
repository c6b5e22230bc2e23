// A trace of requests to a device allocator, one operation per line:
//
//   a ID BYTES ALIGN STREAM    allocate
//   f ID STREAM                deallocate, ordered by this stream
//   w STREAM OTHER             later work of STREAM is ordered after all work of OTHER so far
//
// Lines that start with # are comments. Traces are written by tools/gpu/traces.py, and read here and by
// torch_replay.py. IDs count from 0; each is freed at most once, and a trace frees all that it allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu {

struct operation {
    enum kind { allocate, deallocate, wait } what;
    std::size_t id;
    std::size_t bytes, align;
    unsigned stream, other;
};

struct trace {
    std::string name;
    std::vector<operation> operations;
    std::size_t ids = 0, peak_live = 0, peak_at = 0; // the operation after which the most bytes were live
    unsigned streams = 1;
};

inline trace read_trace(const std::string& path) {
    trace t;
    const auto name = path.find_last_of('/') + 1;
    t.name = path.substr(name, path.find_last_of('.') - name);
    std::ifstream in{path};
    if (!in) throw std::runtime_error("no trace at " + path);
    std::vector<std::size_t> live;
    std::size_t now = 0, number = 0;
    for (std::string text; std::getline(in, text);) {
        ++number;
        if (text.empty() || text[0] == '#') continue;
        std::istringstream line{text};
        char what = 0;
        operation o{};
        line >> what;
        if (what == 'a') line >> o.id >> o.bytes >> o.align >> o.stream;
        else if (what == 'f') line >> o.id >> o.stream;
        else if (what == 'w') line >> o.stream >> o.other;
        if (!line || (what != 'a' && what != 'f' && what != 'w') ||
            (what == 'f' && (o.id >= live.size() || live[o.id] == 0)) ||
            (what == 'a' && (o.id != live.size() || o.bytes == 0)))
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + text);
        o.what = what == 'a' ? operation::allocate : what == 'f' ? operation::deallocate : operation::wait;
        t.streams = std::max({t.streams, o.stream + 1, o.other + 1});
        if (what == 'a') {
            live.push_back(o.bytes);
            now += o.bytes;
        } else if (what == 'f') {
            now -= live[o.id];
            live[o.id] = 0;
        }
        if (now > t.peak_live) {
            t.peak_live = now;
            t.peak_at = t.operations.size();
        }
        t.operations.push_back(o);
    }
    t.ids = live.size();
    if (now != 0) throw std::runtime_error(path + ": not all is freed");
    return t;
}

} // namespace gpu
