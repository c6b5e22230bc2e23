// A small, strict JSON reader for tests: throws std::runtime_error on anything that is not JSON.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

struct json {
    std::string text; // of a string, and "true", "false", "null"
    double number = 0;
    std::vector<json> items;
    std::map<std::string, json> members;

    bool has(const std::string& name) const { return members.count(name) != 0; }
    const json& operator[](const std::string& name) const {
        const auto at = members.find(name);
        if (at == members.end()) throw std::runtime_error("no member " + name);
        return at->second;
    }
    static json parse(std::string_view all) {
        reader in{all};
        json value = in.value();
        in.space();
        if (!in.left.empty())
            throw std::runtime_error("something behind the JSON: " + std::string(in.left.substr(0, 40)));
        return value;
    }

  private:
    struct reader {
        std::string_view left;

        void space() {
            while (!left.empty() && std::isspace(static_cast<unsigned char>(left[0]))) left.remove_prefix(1);
        }
        bool take(char c) {
            space();
            if (left.empty() || left[0] != c) return false;
            left.remove_prefix(1);
            return true;
        }
        void need(char c) {
            if (!take(c))
                throw std::runtime_error(std::string("expected ") + c + " at " + std::string(left.substr(0, 40)));
        }
        std::string string() {
            need('"');
            std::string s;
            for (;;) {
                if (left.empty() || static_cast<unsigned char>(left[0]) < 0x20)
                    throw std::runtime_error("a string does not end");
                const char c = left[0];
                left.remove_prefix(1);
                if (c == '"') return s;
                if (c != '\\') {
                    s += c;
                    continue;
                }
                const char kind = left.empty() ? '\0' : left[0];
                left.remove_prefix(left.empty() ? 0 : 1);
                if (kind == 'u') {
                    s += static_cast<char>(std::strtol(std::string(left.substr(0, 4)).c_str(), nullptr, 16));
                    left.remove_prefix(4);
                } else if (kind == '"' || kind == '\\') s += kind;
                else throw std::runtime_error("an unknown escape");
            }
        }
        json value() {
            space();
            json v;
            if (left.empty()) throw std::runtime_error("a value is missing");
            if (left[0] == '"') {
                v.text = string();
            } else if (take('{')) {
                while (!take('}')) {
                    if (!v.members.empty()) need(',');
                    const std::string name = string();
                    need(':');
                    if (!v.members.emplace(name, value()).second) throw std::runtime_error("twice: " + name);
                }
            } else if (take('[')) {
                while (!take(']')) {
                    if (!v.items.empty()) need(',');
                    v.items.push_back(value());
                }
            } else {
                const std::size_t n = left.find_first_of(",]} \n");
                v.text = std::string(left.substr(0, n));
                left.remove_prefix(v.text.size());
                char* end = nullptr;
                v.number = std::strtod(v.text.c_str(), &end);
                if (v.text != "true" && v.text != "false" && (end == v.text.c_str() || *end != '\0'))
                    throw std::runtime_error("no value: " + v.text);
            }
            return v;
        }
    };
};

} // namespace support
