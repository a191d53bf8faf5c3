"""What declarations say of each other, beside their formulas: tables, variants, choices."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from planner.errors import Problem, nearest, one_of
from planner.expr.check import GROUP, PLAN, Type
from planner.metric_files import MetricEntry, TableEntry, VariantEntry
from planner.yamlfile import Key, YamlFile


def variant_problems(
    file: YamlFile,
    name: str,
    entry: VariantEntry,
    fields: Mapping[str, Type],
    metrics: Container[str],
    tables: Mapping[str, TableEntry],
) -> Iterator[Problem]:
    """What is wrong with one set of variants. ``fields``: inputs with their types."""
    key: Key = ("variants", name)
    kind = fields.get(entry.replaces)
    if kind is None:
        hint = nearest(entry.replaces, fields)
        yield file.problem((*key, "replaces"), "an input", f"'{entry.replaces}'", hint)
    elif kind.kind != "number" or kind.grain == GROUP:
        found = f"'{entry.replaces}'"
        yield file.problem((*key, "replaces"), "an input with one number per case or plan", found)
    for index, shown in enumerate(entry.shows):
        if shown not in metrics:
            yield file.problem((*key, "shows", index), "a metric", f"'{shown}'")
    if entry.table not in tables:
        yield file.problem((*key, "table"), one_of(tables), f"'{entry.table}'")


def result_problem(entry: MetricEntry, found: Type) -> tuple[str, str] | None:
    """What the declaration of a metric expects of its formula, and what the formula gives."""
    if found.kind == "places":
        return "a number, a flag or a choice", f"{found}"
    if entry.choices and found.kind != "choice":
        return "one of the choices", f"{found}"
    if found.kind == "choice" and found.words != entry.choices:
        return f"choices: [{', '.join(found.words)}]", _choices(entry)
    if found.kind == "flag" and entry.unit != "1":
        return f"a number in {entry.unit}", f"{found}"
    if entry.check and found.grain != PLAN:
        return "one value for the whole plan in a check", "a value per case"
    if entry.check and found.kind == "number" and entry.limit is None:
        return "true or false, or a 'limit:', in a check", f"{found}"
    return None


def _choices(entry: MetricEntry) -> str:
    return f"choices: [{', '.join(entry.choices)}]" if entry.choices else "no choices"
