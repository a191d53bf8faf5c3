"""How fast table bodies are written, ours beside the libraries, in one run.

    python benchmarks/workbook.py                     all parts
    python benchmarks/workbook.py --rows 5000         a smaller table
    python benchmarks/workbook.py --only speed        or: memory, level

Every writer runs in a process of its own; the figures are CPU seconds (user and system) of writing,
without imports and without making up the data, and the peak of resident memory. Times depend on the
machine, ratios much less. The table has 30 columns: 15 of doubles, 15 of formulas of about 60
characters; "values" says whether the formulas carry their results.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HALF = 15
Table = list[NDArray[np.float64]]

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def table(rows: int) -> Table:
    """30 columns of doubles of many sizes, the same on every machine: no repeats, no whole ones."""
    steps = np.arange(1, rows + 1, dtype=np.float64)
    return [np.sqrt(steps * (column + 2)) * 10.0 ** (column % 9) for column in range(2 * HALF)]


def formula(column: int) -> str:
    """Formula text of column 15 to 29, with ``{r}`` for the row."""
    a, b, c, d = (chr(65 + (column + step) % HALF) for step in range(4))
    return f"({a}{{r}}*{b}{{r}}+Inputs!$C$5)/MAX(1,{c}{{r}})+{d}{{r}}*Inputs!$C$6/Inputs!$C$7"


def write_ours(path: Path, data: Table, level: int | None = None) -> None:
    import io

    import openpyxl

    from reports.workbook.package import LEVEL, Package, insert_rows_xml, set_core
    from reports.workbook.rows import Body, Column, RowTemplate

    book = openpyxl.Workbook()
    book.worksheets[0].title = "Plan"
    buffer = io.BytesIO()
    book.save(buffer)
    package = Package.read(buffer.getvalue())
    columns = [Column("input", values) for values in data[:HALF]]
    for number, values in enumerate(data[HALF:], HALF):
        template = RowTemplate.from_formula(formula(number))
        columns.append(Column("formula", values, template=template))
    sheet = package.get("xl/worksheets/sheet1.xml")
    body = Body(columns, 1, len(data[0]))
    package.set_stream("xl/worksheets/sheet1.xml", lambda: insert_rows_xml(sheet, [body]))
    set_core(package, "2026-01-01")
    package.write(path, LEVEL if level is None else level)


def write_xlsxwriter(path: Path, data: Table, overridden: bool, constant_memory: bool) -> None:
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

    class Plain(Worksheet):  # type: ignore[misc]
        """A sheet without the search for newer functions in each formula."""

        def _prepare_formula(self, text: str, expand_future_functions: bool = False) -> str:
            return text.removeprefix("=")

    book = Workbook(str(path), {"constant_memory": constant_memory})
    sheet = book.add_worksheet("Plan", Plain if overridden else Worksheet)
    texts = [formula(number) for number in range(HALF, 2 * HALF)]
    for row, values in enumerate(python_rows(data)):
        for column in range(HALF):
            sheet.write_number(row, column, values[column])
        for column, text in enumerate(texts, HALF):
            done = "=" + text.replace("{r}", str(row + 1))
            sheet.write_formula(row, column, done, None, values[column])
    book.close()


def write_openpyxl(path: Path, data: Table) -> None:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Plan")
    texts = ["=" + formula(number) for number in range(HALF, 2 * HALF)]
    for row, values in enumerate(python_rows(data), 1):
        done = [text.replace("{r}", str(row)) for text in texts]
        sheet.append([*values[:HALF], *done])
    book.save(path)


def python_rows(data: Table) -> Iterable[tuple[float, ...]]:
    """Rows of Python floats, the form in which the libraries take numbers; made in blocks."""
    for start in range(0, len(data[0]), 1000):
        yield from zip(*(v[start : start + 1000].tolist() for v in data), strict=True)


WRITERS: dict[str, tuple[str, Callable[[Path, Table], None]]] = {
    "ours": ("yes", write_ours),
    "xlsxwriter": ("yes", lambda p, d: write_xlsxwriter(p, d, False, False)),
    "xlsxwriter, formula pass overridden": (
        "yes", lambda p, d: write_xlsxwriter(p, d, True, False)),
    "the same, constant memory": ("yes", lambda p, d: write_xlsxwriter(p, d, True, True)),
    "openpyxl write-only": ("no", write_openpyxl),
}  # fmt: skip
AIMS = {
    "xlsxwriter": 0.12,
    "xlsxwriter, formula pass overridden": 0.45,
    "openpyxl write-only": 0.35,
}


def child(name: str, rows: int, level: int | None) -> None:
    """Run one writer here and print its figures as JSON."""
    data = table(rows)
    with tempfile.TemporaryDirectory() as folder:
        warm_up(name, Path(folder))
        path = Path(folder) / "out.xlsx"
        before = peak_mb()
        start = time.process_time()
        if level is None:
            WRITERS[name][1](path, data)
        else:
            write_ours(path, data, level)
        seconds = time.process_time() - start
        size = path.stat().st_size / 1e6
    print(json.dumps({"cpu": seconds, "peak": peak_mb(), "before": before, "size": size}))


def warm_up(name: str, folder: Path) -> None:
    """Import what the writer needs, so that the times are of writing."""
    WRITERS[name][1](folder / "warm.xlsx", table(2))


def peak_mb() -> float:
    """Peak of resident memory of this process, MB (2**20 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def measured(name: str, rows: int, runs: int, level: int | None = None) -> dict[str, float]:
    """Median CPU seconds of some runs, highest peak."""
    command = [sys.executable, __file__, "--child", name, "--rows", str(rows)]
    command += [] if level is None else ["--level", str(level)]
    results = [json.loads(subprocess.check_output(command)) for _ in range(runs)]
    middle = sorted(results, key=lambda result: result["cpu"])[len(results) // 2]
    return {**middle, "peak": max(result["peak"] for result in results)}


def speed(rows: int, runs: int) -> Iterator[str]:
    yield f"Speed, {rows:,} rows x {2 * HALF} columns"
    heads = ("values", 7), ("CPU s", 8), ("peak MB", 9), ("file MB", 9), ("ours/it", 9), ("aim", 7)
    yield f"{'writer':38}" + "".join(f"{head:>{width}}" for head, width in heads)
    ours = 0.0
    for name, (values, _) in WRITERS.items():
        found = measured(name, rows, runs if name == "ours" else max(1, runs // 3))
        ours = ours or found["cpu"]
        aim = f"{AIMS[name]:.2f}" if name in AIMS else ""
        yield (
            f"{name:38}{values:>7}{found['cpu']:8.2f}{found['peak']:9.0f}{found['size']:9.1f}"
            f"{ours / found['cpu']:9.3f}{aim:>7}"
        )


def memory(rows: int, runs: int) -> Iterator[str]:
    del runs
    yield "Memory of ours: growth while writing, beyond the arrays that are the input"
    yield f"{'rows':>9}{'CPU s':>8}{'input MB':>10}{'before MB':>11}{'peak MB':>9}{'growth MB':>11}"
    for count in (rows, 10 * rows):
        found = measured("ours", count, 1)
        inputs = count * 2 * HALF * 8 / 2**20
        growth = found["peak"] - found["before"]
        yield (
            f"{count:9,}{found['cpu']:8.2f}{inputs:10.1f}{found['before']:11.1f}"
            f"{found['peak']:9.1f}{growth:11.1f}"
        )


def level(rows: int, runs: int) -> Iterator[str]:
    yield f"Packing level of ours, {rows:,} rows: time against size"
    yield f"{'level':>6}{'CPU s':>8}{'file MB':>9}{'CPU, 6 = 1':>12}{'size, 6 = 1':>12}"
    found = {number: measured("ours", rows, max(1, runs // 3), number) for number in range(1, 10)}
    for number, one in found.items():
        cpu, size = one["cpu"] / found[6]["cpu"], one["size"] / found[6]["size"]
        yield f"{number:6}{one['cpu']:8.2f}{one['size']:9.1f}{cpu:12.2f}{size:12.2f}"


PARTS = {"speed": speed, "memory": memory, "level": level}


def installed(name: str) -> str:
    """Version of a package; openpyxl is faster where lxml is there, so that one is told, too."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of writing table bodies.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3, help="runs of ours; others a third of it")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be repeated")
    parser.add_argument("--child", choices=WRITERS, help=argparse.SUPPRESS)
    parser.add_argument("--level", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.rows, options.level)
        return
    packages = ", ".join(
        f"{name} {installed(name)}" for name in ("numpy", "openpyxl", "lxml", "xlsxwriter")
    )
    print(f"Python {platform.python_version()}, {packages}, zlib {zlib.ZLIB_RUNTIME_VERSION}")
    for name in options.only or PARTS:
        print()
        for line in PARTS[name](options.rows, options.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
