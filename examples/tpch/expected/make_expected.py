#!/usr/bin/env python3
"""Makes expected/sf*.json and expected/columns.sf*.txt: the answers of DuckDB to the queries of the tpch example.

    python3 -m venv venv && venv/bin/pip install duckdb==2.0.1 pyarrow==26.0.1 numpy tpchgen-cli==4.0.0
    venv/bin/python examples/tpch/expected/make_expected.py [SCALE...]

The data are made by tpchgen-cli in a folder that is removed afterwards. README.md says what the numbers are. The example
and this script share no code.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import numpy as np

TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
MASK = (1 << 64) - 1

# Money and decimals in hundredths, dates in days since 1970-01-01: views l, o, .. of the tables.
QUERIES = {
    "q1": """
        SELECT l_returnflag AS returnflag, l_linestatus AS linestatus, sum(l_quantity) AS sum_qty,
               sum(l_extendedprice) AS sum_base_price, sum(l_extendedprice * (100 - l_discount)) AS sum_disc_price,
               sum(l_extendedprice * (100 - l_discount) * (100 + l_tax)) AS sum_charge,
               sum(l_discount) AS sum_discount, count(*) AS count_order
        FROM v_lineitem WHERE l_shipdate <= days(DATE '1998-12-01') - 90
        GROUP BY ALL ORDER BY returnflag, linestatus""",
    "q3": """
        SELECT l_orderkey, sum(l_extendedprice * (100 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM v_customer, v_orders, v_lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < days(DATE '1995-03-15') AND l_shipdate > days(DATE '1995-03-15')
        GROUP BY l_orderkey, o_orderdate, o_shippriority
        ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    "q9": """
        SELECT n_name AS nation, year(DATE '1970-01-01' + o_orderdate::INTEGER) AS o_year,
               sum(l_extendedprice * (100 - l_discount) - ps_supplycost * l_quantity) AS sum_profit
        FROM v_part, v_supplier, v_lineitem, v_partsupp, v_orders, v_nation
        WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
          AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""",
    "q18": """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS sum_qty
        FROM v_customer, v_orders, v_lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM v_lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 30000)
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
}


# ---- checksums: modulo 2^64, by numpy's unsigned numbers, which wrap ----------------------------------------

def factor(i):
    z = ((i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return np.uint64((z ^ (z >> 31)) | 1)


WORDS = [factor(i) for i in range(32)]
COLUMNS = [factor(64 + i) for i in range(64)]
LENGTH, ORDER, PAIR = factor(32), factor(33), factor(34)


def mix(x):
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


def text_hashes(array):
    """Of a string array of Arrow: of all texts at once, word by word."""
    _, offsets, data = array.buffers()
    offsets = np.frombuffer(offsets, dtype=np.int32)[array.offset:array.offset + len(array) + 1].astype(np.int64)
    size = int(offsets[-1])
    data = (bytes(data)[:size] if data else b"") + bytes(8)
    at = np.ndarray(shape=(size + 1,), dtype="<u8", buffer=data, strides=(1,))  # the 8 bytes from each byte on
    begin, length = offsets[:-1], offsets[1:] - offsets[:-1]
    total = length.astype(np.uint64) * LENGTH
    for j in range((int(length.max(initial=0)) + 7) // 8):
        rest = np.clip(length - 8 * j, 0, 8)
        mask = np.where(rest == 8, np.uint64(MASK), (np.uint64(1) << (np.minimum(rest, 7) * 8).astype(np.uint64)) - np.uint64(1))
        total += (at[np.minimum(begin + 8 * j, size)] & mask) * WORDS[j % 32]
    return mix(total)


def words(column):
    """Numbers as they are, texts as their hashes."""
    if str(column.type) in ("string", "large_string"):
        return text_hashes(column)
    return np.asarray(column).astype(np.int64).view(np.uint64)


def row_hashes(columns):
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, k in zip(columns, COLUMNS):
        total += column * k
    return mix(total)


class OrderedSum:
    def __init__(self):
        self.sum, self.rows = np.uint64(0), 0

    def add(self, hashes):
        if len(hashes) == 0:
            return
        powers = np.full(len(hashes), ORDER, dtype=np.uint64)
        powers[0] = 1
        powers = np.cumprod(powers, dtype=np.uint64)[::-1]  # ORDER^(n - 1), .., ORDER, 1
        self.sum = self.sum * (powers[0] * ORDER) + np.sum(hashes * powers, dtype=np.uint64)
        self.rows += len(hashes)


def batches(db, query):
    for batch in db.sql(query).to_arrow_reader(100_000):
        yield [words(c) for c in batch.columns]


def hexadecimal(number):
    return f"{int(number):016x}"


# ---- the answers --------------------------------------------------------------------------------------------

def open_tables(folder, scratch):
    db = duckdb.connect()
    db.execute(f"SET threads = 1; SET memory_limit = '6GB'; SET temp_directory = '{scratch}'")
    db.execute("CREATE MACRO days(d) AS (d - DATE '1970-01-01')::BIGINT")
    for table in TABLES:
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet')")
        columns = []
        for name, kind in db.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall():
            value = {"DECIMAL(15,2)": f"(100 * {name})::BIGINT", "DATE": f"days({name})", "VARCHAR": name}
            columns.append(f"{value.get(kind, name + '::BIGINT')} AS {name}")
        db.execute(f"CREATE VIEW v_{table} AS SELECT {', '.join(columns)} FROM {table}")
    return db


def main():
    here = pathlib.Path(__file__).resolve().parent
    for scale in sys.argv[1:] or ["0.001", "0.01", "0.1", "1"]:
        with tempfile.TemporaryDirectory() as scratch:
            cli = pathlib.Path(sys.executable).parent / "tpchgen-cli"
            subprocess.run([cli, "parquet", "-q", "-s", scale, "-o", f"{scratch}/data"], check=True)
            db = open_tables(f"{scratch}/data", scratch)

            lines = []
            for table in TABLES:
                names = [row[0] for row in db.execute(f"DESCRIBE {table}").fetchall()]
                sums = [OrderedSum() for _ in names]
                for batch in batches(db, f"SELECT * FROM v_{table}"):
                    for total, column in zip(sums, batch):
                        total.add(mix(column))
                lines += [f"{table} {name} {total.rows} {hexadecimal(total.sum)}\n" for name, total in zip(names, sums)]
            (here / f"columns.sf{scale}.txt").write_text("".join(lines))

            answers = {"scale": float(scale)}
            for name, query in QUERIES.items():
                answer = db.execute(query)
                columns = [column[0] for column in answer.description]
                answers[name] = {"columns": columns, "rows": [
                    [value if isinstance(value, str) else int(value) for value in row] for row in answer.fetchall()]}

            total = OrderedSum()
            for batch in batches(db, "SELECT * FROM v_lineitem ORDER BY l_shipdate, l_orderkey, l_linenumber"):
                total.add(row_hashes(batch))
            answers["sort"] = {"rows": total.rows, "checksum": hexadecimal(total.sum)}

            rows, total = 0, np.uint64(0)
            for batch in batches(db, "SELECT l.*, o.* FROM v_lineitem l JOIN v_orders o ON l_orderkey = o_orderkey"):
                hashes = mix(row_hashes(batch[:16]) * PAIR + row_hashes(batch[16:]))
                rows, total = rows + len(hashes), total + np.sum(hashes, dtype=np.uint64)
            answers["join"] = {"rows": rows, "checksum": hexadecimal(total)}

            parts = []
            for name, answer in answers.items():
                if isinstance(answer, dict) and "columns" in answer:
                    body = ",\n    ".join(json.dumps(row) for row in answer["rows"])
                    answer = f'{{"columns": {json.dumps(answer["columns"])}, "rows": [\n    {body}]}}'
                else:
                    answer = json.dumps(answer)
                parts.append(f'  "{name}": {answer}')
            (here / f"sf{scale}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    np.seterr(over="ignore")
    main()
