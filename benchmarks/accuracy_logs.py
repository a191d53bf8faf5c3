"""Accuracy against start-up logs of real engines: planned beside printed, by quantity and kind.

By hand: ``python benchmarks/accuracy_logs.py --logs FILE.yaml [--page docs/accuracy.md]``. The file
has the schema of the collected observations: ``cases``, each with ``model``, ``engine``, settings,
``observed``, ``check``, ``score_on`` and ``log_trust``. Every planned figure is a metric of the
product over facts of the catalog. Exit status 0 only where every aim holds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accuracy_cases import Cases, Prepared, Row, UnscorableError, engine_of, release
from accuracy_constants import CONSTANTS, without
from accuracy_score import AIMS, MEDIAN_ONLY, POOL, SCORED_AS, Score, scores

from planner import yamlfile
from planner.errors import InputError, Problem, Span

MEASURES = frozenset(SCORED_AS.values())


@dataclass(frozen=True)
class Result:
    """Every score of a file, and what could not be scored: ``(row, quantity, reason)``."""

    rows: int
    scores: tuple[Score, ...]
    skipped: tuple[tuple[str, str, str], ...]
    assumed: tuple[tuple[str, int], ...]
    releases: tuple[tuple[str, str], ...]
    fresh: tuple[Score, ...] = ()

    def of(self, quantity: str, kind: str = "") -> list[Score]:
        """Scores of one quantity, of all kinds or one."""
        return [s for s in self.scores if s.quantity == quantity and kind in ("", s.kind)]

    def holds(self, quantity: str) -> bool:
        """Whether the aim of a quantity holds; rows whose log is in doubt are not held to it."""
        found = [s for s in self.of(quantity) if not s.excused]
        if quantity in MEDIAN_ONLY:
            errors = [abs(s.error) for s in found]
            return not errors or statistics.median(errors) < AIMS[quantity]
        return all(s.met for s in found)

    @property
    def good(self) -> bool:
        """Whether every aim holds, on at least one score."""
        return bool(self.scores) and all(self.holds(quantity) for quantity in AIMS)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of observations.

    Raises:
        InputError: no YAML, or no list of mappings under ``cases``.
    """
    data = yamlfile.read(path).data
    rows = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(Problem(Span(str(path)), "cases", "a list of mappings", "none"))
    return [{"id": f"row {n}", "kind": "unspecified", "model": "not stated", **row}
            for n, row in enumerate(rows, 1)]  # fmt: skip


def score(rows: Sequence[Row], cases: Cases | None = None) -> Result:
    """Score every row that may be scored."""
    cases = cases or Cases()
    found: list[Score] = []
    skipped: list[tuple[str, str, str]] = []
    assumed: Counter[str] = Counter()
    releases: dict[str, str] = {}
    fresh: list[Score] = []
    for row in rows:
        name, trust = str(row["id"]), str(row.get("log_trust"))
        wanted = [q for q in row.get("score_on") or () if q in MEASURES]
        number = release(row)
        releases[name] = engine_of(row) + (
            "" if number is None else " " + ".".join(map(str, number))
        )
        if trust != "ok" or not wanted:
            why = f"trust: {trust}" if trust != "ok" else "the row allows none of the quantities"
            skipped.append((name, "all", why))
            continue
        try:
            prepared = cases.prepare(row)
        except UnscorableError as why:
            skipped.append((name, "all", str(why)))
            continue
        assumed.update(prepared.assumed)
        for one in scores(prepared):
            if isinstance(one, Score):
                found.append(one)
                if one.quantity == POOL:
                    assumed[f"engine entry {prepared.engine}: overhead"] += 1
                    fresh.append(_unseen(prepared, one))
            else:
                skipped.append((name, *one))
    return Result(len(rows), tuple(found), tuple(skipped), tuple(sorted(assumed.items())),
                  tuple(sorted(releases.items())), tuple(fresh))  # fmt: skip


def _unseen(prepared: Prepared, one: Score) -> Score:
    """The same score with every figure that rests on the row's own source left out."""
    planned = prepared.value("kv_pool", **without(prepared))
    return one if planned is None else replace(one, planned=planned)


# ---- words ---------------------------------------------------------------------------------------


def _row(name: str, found: Sequence[Score]) -> list[str]:
    errors = sorted(abs(s.error) for s in found)
    ninety = errors[min(len(errors) - 1, round(0.9 * (len(errors) - 1)))]
    met = sum(s.met for s in found)
    middle = statistics.median(errors)
    return [name, str(len(found)), str(met), *(f"{e:.3%}" for e in (middle, ninety, errors[-1]))]


def lines(result: Result) -> Iterator[str]:
    """The report as Markdown: tables, misses worst first, what could not be scored, a summary."""
    releases = dict(result.releases)
    for quantity, aim in AIMS.items():
        found = result.of(quantity)
        if not found:
            continue
        yield f"## {quantity[0].upper()}{quantity[1:]}"
        yield ""
        yield from _table(("kind", "n", "met", "median", "p90", "worst"), _by(found, "kind"))
        yield from _table(
            ("engine", "n", "met", "median", "p90", "worst"),
            [_row(name, some) for name, some in _grouped(found, lambda s: releases[s.row])],
        )
        misses = [s for s in found if not s.met]
        if misses:
            words = "median aim" if quantity in MEDIAN_ONLY else "aim"
            yield f"Beyond {aim:.1%} ({words}), worst first:"
            yield ""
            for one in sorted(misses, key=lambda s: -abs(s.error)):
                yield f"- {one.row} ({one.kind}): {one.error:+.2%}; {one.reason or 'no reason'}"
            yield ""
    if result.fresh:
        yield from _constants(result)
    yield "## Not scored"
    yield ""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, quantity, why in result.skipped:
        reasons[quantity, why].append(name)
    for (quantity, why), names in sorted(reasons.items()):
        yield f"- {quantity}: {why} ({len(names)}: {', '.join(names)})"
    yield ""
    yield "## Summary"
    yield ""
    yield f"- rows {result.rows}, scores {len(result.scores)}"
    for quantity in AIMS:
        if found := result.of(quantity):
            name, n, met, *errors = _row(quantity, found)
            state = "holds" if result.holds(quantity) else "misses"
            if state == "holds" and any(s.excused for s in found):
                state = "holds but for the rows in doubt"
            numbers = ", ".join(map(" ".join, zip(("median", "p90", "worst"), errors, strict=True)))
            doubts = sum(s.excused for s in found)
            told = f", {doubts} in doubt" if doubts else ""
            yield f"- {name}: n {n}, met {met}{told}, {numbers}: {state}"
    if result.assumed:
        listed = "; ".join(f"{words} ({count} rows)" for words, count in result.assumed)
        yield f"- assumed where a row states nothing: {listed}"


def _constants(result: Result) -> Iterator[str]:
    """The figures that rest on logs, and the pools planned without the row's own source."""
    yield "## Figures that rest on logs"
    yield ""
    yield from _table(
        ("figure", "releases", "value", "unit", "rests on", "without it", "why"),
        [[c.field, c.releases, f"{c.value:g}", c.unit, c.source, f"{c.without:g}", c.why]
         for c in CONSTANTS],
    )  # fmt: skip
    yield "KV pools as planned, and without the figures that rest on the source of the row:"
    yield ""
    head = ("pool", "n", "met", "median", "p90", "worst")
    seen = result.of(POOL)
    yield from _table(head, [_row("as planned", seen), _row("own source left out", result.fresh)])


def _by(found: Sequence[Score], name: str) -> list[list[str]]:
    rows = [_row(word, some) for word, some in _grouped(found, lambda s: getattr(s, name))]
    return [*rows, _row("all", found)] if len(rows) > 1 else rows


def _grouped(found: Sequence[Score], key: Callable[[Score], str]) -> list[tuple[str, list[Score]]]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in found:
        groups[key(one)].append(one)
    return sorted(groups.items(), key=lambda item: -max(abs(s.error) for s in item[1]))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


HEAD = """# Accuracy against start-up logs

Generated by `python benchmarks/accuracy_logs.py --logs FILE.yaml --page docs/accuracy.md`; do
not edit. Each row is one start of a real engine. Planned figures are metrics of this product
over facts of its catalog; no figure was fitted to a single row, and those that rest on logs are
listed with the pools planned without them. Errors are relative to the printed figure. A row is
met where the planned figure lies within the aim, allowing for the printed digits (two
decimals). In doubt are rows whose log or unstated setting explains the miss, as the line says:
their errors count in the tables, and the aim is not held against them. Names of models, cards
and formats are looked up in the catalog; what it does not have is listed under "Not scored".

Five readings of the rows are ours and were settled while looking at these rows: prefix caching of
states is on by default after vLLM 0.26 (pull request 50991), off before; one batch of tokens is in
flight before 0.33; a KV dtype with a question mark or "inferred" counts as not stated; a row that
states no release has that of its date; a name says the quantisation where nothing else does. A
pool of one rank beside the least tokens of all is the explanation of the collection, not a proven
one.
"""


def main(path: Path, page: Path | None = None) -> bool:
    """Print the report of a file, write it as a page where asked; whether every aim holds."""
    result = score(read_rows(path))
    text = "\n".join(lines(result))
    print(text)
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"{HEAD}\n{text}\n", "utf-8", newline="\n")
    return result.good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    sys.exit(0 if main(asked.logs, asked.page) else 1)
