#!/usr/bin/env python3
"""Runs queries in DuckDB, all at once, and prints a line of JSON. bench/tpch.py starts it for each run.

    bench/tpch_duckdb.py --data DIR --query q9,q18 --memory 119MB --threads 2 --spill DIR

The SQL of Q1 to Q18 is that of examples/tpch/expected/make_expected.py. The clock begins when the views exist and a row was read, as
that of the example does.
"""
import argparse
import importlib.util
import json
import pathlib
import resource
import threading
import time

import duckdb
import pyarrow  # for the rows of sort; imported before the clock begins

HERE = pathlib.Path(__file__).resolve().parent


def queries(db):
    spec = importlib.util.spec_from_file_location("make_expected", HERE.parent / "examples/tpch/expected/make_expected.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    columns = ", ".join(f"{table}.{row[0]}" for table in ("lineitem", "orders") for row in db.execute(f"DESCRIBE {table}").fetchall())
    return module.QUERIES | {
        "sort": "SELECT * FROM lineitem ORDER BY l_shipdate, l_orderkey, l_linenumber",
        "join": f"SELECT count(*), sum(hash({columns})) FROM lineitem JOIN orders ON l_orderkey = o_orderkey"}


def open_tables(o):
    db = duckdb.connect()
    db.execute(f"SET threads = {o.threads}; SET memory_limit = '{o.memory}'; SET temp_directory = '{o.spill}'")
    db.execute("SET preserve_insertion_order = false")
    db.execute("CREATE MACRO days(d) AS (d - DATE '1970-01-01')::BIGINT")
    for path in sorted(o.data.glob("*.parquet")):
        table = path.stem
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{path}')")
        columns = []
        for name, kind in db.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall():
            value = {"DECIMAL(15,2)": f"(100 * {name})::BIGINT", "DATE": f"days({name})", "VARCHAR": name}
            columns.append(f"{value.get(kind, name + '::BIGINT')} AS {name}")
        db.execute(f"CREATE VIEW v_{table} AS SELECT {', '.join(columns)} FROM {table}")
    db.execute("SELECT * FROM lineitem LIMIT 1").fetchall()
    return db


class Query:
    def __init__(self, db, place, name, sql, spill):
        self.name, self.sql, self.cursor = name, sql, db.cursor()
        self.profile = pathlib.Path(f"{spill}/profile{place}.json")
        self.cursor.execute("SET enable_profiling = 'json'")
        self.cursor.execute(f"SET profiling_output = '{self.profile}'")
        self.rows, self.seconds, self.error = 0, 0, ""

    def run(self):
        began = time.monotonic()
        try:
            if self.name == "sort":
                for batch in self.cursor.sql(self.sql).to_arrow_reader(100_000):
                    self.rows += batch.num_rows
            else:
                self.rows = len(self.cursor.execute(self.sql).fetchall())
        except Exception as e:
            self.error = str(e).strip().splitlines()[0]
        self.seconds = time.monotonic() - began

    def written(self):
        """Of a query that died there is no profile."""
        try:
            return json.loads(self.profile.read_text())["system"]["total_bytes_spilled"]
        except (OSError, ValueError, KeyError):
            return 0


def status(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024


def processor_seconds():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--query", required=True)
    parser.add_argument("--memory", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spill", required=True)
    o = parser.parse_args()
    db = open_tables(o)
    sql = queries(db)
    all_of_them = [Query(db, place, name, sql[name], o.spill) for place, name in enumerate(o.query.split(","))]
    threads = [threading.Thread(target=one.run) for one in all_of_them]
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    start, processor, began = status("VmRSS"), processor_seconds(), time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds, processor = time.monotonic() - began, processor_seconds() - processor
    print(json.dumps({"seconds": seconds, "processor_seconds": processor, "resident": status("VmHWM") - start,
                      "written": sum(one.written() for one in all_of_them),
                      "queries": [{"query": one.name, "seconds": one.seconds, "rows": one.rows, "error": one.error} for one in all_of_them]}))


if __name__ == "__main__":
    main()
