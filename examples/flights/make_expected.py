#!/usr/bin/env python3
"""Makes expected/*.csv: the answers of DuckDB to the queries of the flights example, from the same CSV files.

    python3 -m venv venv && venv/bin/pip install duckdb==2.0.0
    venv/bin/python examples/flights/make_expected.py

With two directories as arguments it reads the tables from the first and writes the answers into the second. The files
in the repository were made by DuckDB 2.0.0. The example and this script share no code. Numbers with two decimals are
rounded from the same IEEE quotient, and ties are broken by further columns.
"""
import csv
import pathlib
import sys

import duckdb

ORDER = """dep_delay DESC NULLS LAST, year NULLS LAST, month NULLS LAST, day NULLS LAST, sched_dep_time NULLS LAST,
    carrier NULLS LAST, flight, origin NULLS LAST, dest NULLS LAST, tailnum NULLS LAST"""
DATE = "format('{:04d}-{:02d}-{:02d}', year, month, day)"

QUERIES = {
    "carriers": """
        SELECT f.carrier, a.name AS airline, count(*) AS flights, count(dep_delay) AS flown,
               format('{:.2f}', sum(dep_delay)::DOUBLE / count(dep_delay)) AS avg_delay
        FROM flights f LEFT JOIN airlines a ON a.carrier = f.carrier
        GROUP BY f.carrier, a.name
        ORDER BY sum(dep_delay)::DOUBLE / count(dep_delay) DESC NULLS LAST, f.carrier""",
    "months": """
        SELECT origin, year, month, count(*) AS flights, count(*) - count(dep_time) AS cancelled,
               format('{:.2f}', 100.0::DOUBLE * (count(*) - count(dep_time)) / count(*)) AS percent
        FROM flights GROUP BY origin, year, month ORDER BY origin, year, month""",
    "routes": """
        SELECT f.origin AS "from", o.name AS from_airport, f.dest AS "to", d.name AS to_airport,
               count(*) AS flights, sum(distance) AS miles
        FROM flights f LEFT JOIN airports o ON o.faa = f.origin LEFT JOIN airports d ON d.faa = f.dest
        GROUP BY f.origin, o.name, f.dest, d.name ORDER BY flights DESC, f.origin, f.dest LIMIT 20""",
    "delays": f"""
        SELECT f.dep_delay AS delay, {DATE.replace('year', 'f.year')} AS date, f.carrier, f.flight,
               f.origin AS "from", f.dest AS "to", f.tailnum, p.manufacturer, p.model
        FROM flights f LEFT JOIN planes p ON p.tailnum = f.tailnum
        WHERE f.dep_delay IS NOT NULL
        ORDER BY {ORDER.replace(' year', ' f.year').replace('tailnum', 'f.tailnum')} LIMIT 20""",
    "sorted": f"""
        WITH ordered AS (
            SELECT *, row_number() OVER (ORDER BY {ORDER}) AS rank, count(*) OVER () AS n FROM flights),
        summed AS (
            SELECT *, sum(rank::HUGEINT * (((coalesce(year, 0)::HUGEINT * 10000 + coalesce(month, 0) * 100
                      + coalesce(day, 0)) * 10000 + coalesce(sched_dep_time, 0)) * 10000
                      + coalesce(flight, 0) + coalesce(dep_delay, 0))) OVER (ORDER BY rank) AS total
            FROM ordered)
        SELECT rank, dep_delay AS delay, {DATE} AS date, sched_dep_time, carrier, flight, origin AS "from",
               dest AS "to", format('{{:016x}}', (total % 18446744073709551616::HUGEINT)::UBIGINT) AS checksum
        FROM summed WHERE list_contains([1 + (n - 1) * k // 4 for k in range(5)], rank) ORDER BY rank""",
}


def main() -> None:
    here = pathlib.Path(__file__).resolve().parent
    data = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "data"
    expected = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here / "expected"
    db = duckdb.connect()
    flights = next(data.glob("flights*.csv"))
    for table, path in {"flights": flights, **{t: data / f"{t}.csv" for t in ("airlines", "planes", "airports")}}.items():
        db.execute(f"""CREATE TABLE {table} AS SELECT * FROM read_csv('{path}', header = true, nullstr = ['', 'NA'],
                   allow_quoted_nulls = false, sample_size = -1)""")
    expected.mkdir(exist_ok=True)
    for name, query in QUERIES.items():
        answer = db.execute(query)
        with open(expected / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(column[0] for column in answer.description)
            out.writerows(answer.fetchall())


if __name__ == "__main__":
    main()
