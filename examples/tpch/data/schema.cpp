#include "schema.hpp"

namespace tpch {
namespace {

constexpr value_kind n4 = value_kind::number32, n8 = value_kind::number64, money = value_kind::decimal,
                     date = value_kind::date, text = value_kind::text;

constexpr column_schema customer[] = {{"c_custkey", n8},      {"c_name", text},   {"c_address", text},
                                      {"c_nationkey", n8},    {"c_phone", text},  {"c_acctbal", money},
                                      {"c_mktsegment", text}, {"c_comment", text}};
constexpr column_schema lineitem[] = {
    {"l_orderkey", n8},      {"l_partkey", n8},          {"l_suppkey", n8},     {"l_linenumber", n4},
    {"l_quantity", money},   {"l_extendedprice", money}, {"l_discount", money}, {"l_tax", money},
    {"l_returnflag", text},  {"l_linestatus", text},     {"l_shipdate", date},  {"l_commitdate", date},
    {"l_receiptdate", date}, {"l_shipinstruct", text},   {"l_shipmode", text},  {"l_comment", text}};
constexpr column_schema nation[] = {{"n_nationkey", n8}, {"n_name", text}, {"n_regionkey", n8}, {"n_comment", text}};
constexpr column_schema orders[] = {{"o_orderkey", n8},      {"o_custkey", n8},      {"o_orderstatus", text},
                                    {"o_totalprice", money}, {"o_orderdate", date},  {"o_orderpriority", text},
                                    {"o_clerk", text},       {"o_shippriority", n4}, {"o_comment", text}};
constexpr column_schema part[] = {{"p_partkey", n8},     {"p_name", text},         {"p_mfgr", text},
                                  {"p_brand", text},     {"p_type", text},         {"p_size", n4},
                                  {"p_container", text}, {"p_retailprice", money}, {"p_comment", text}};
constexpr column_schema partsupp[] = {
    {"ps_partkey", n8}, {"ps_suppkey", n8}, {"ps_availqty", n4}, {"ps_supplycost", money}, {"ps_comment", text}};
constexpr column_schema region[] = {{"r_regionkey", n8}, {"r_name", text}, {"r_comment", text}};
constexpr column_schema supplier[] = {{"s_suppkey", n8}, {"s_name", text},     {"s_address", text}, {"s_nationkey", n8},
                                      {"s_phone", text}, {"s_acctbal", money}, {"s_comment", text}};

} // namespace

std::span<const column_schema> schema_of(std::string_view table) {
    if (table == "customer") return customer;
    if (table == "lineitem") return lineitem;
    if (table == "nation") return nation;
    if (table == "orders") return orders;
    if (table == "part") return part;
    if (table == "partsupp") return partsupp;
    if (table == "region") return region;
    if (table == "supplier") return supplier;
    return {};
}

} // namespace tpch
