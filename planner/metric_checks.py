"""What declarations say of each other, beside their formulas: tables, variants, choices."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from planner.errors import Problem, nearest, one_of
from planner.expr.check import CASE, PLAN, Type
from planner.metric_files import MetricEntry, TableEntry, VariantEntry
from planner.yamlfile import Key, YamlFile


def variant_problems(
    file: YamlFile,
    name: str,
    entry: VariantEntry,
    fields: Mapping[str, Type],
    metrics: Mapping[str, Type],
    reach: Mapping[str, Container[str]],
    tables: Mapping[str, TableEntry],
) -> Iterator[Problem]:
    """What is wrong with one set of variants.

    ``fields``, ``metrics``: with their types; ``reach``: what each metric depends on.
    """
    key: Key = ("variants", name)
    for index, replaced in enumerate(entry.replaces):
        place: Key = (*key, "replaces", *((index,) if len(entry.replaces) > 1 else ()))
        yield from _input_problems(file, place, replaced, fields)
    for replaced, metric in entry.follows.items():
        place = (*key, "follows", replaced)
        yield from _input_problems(file, place, replaced, fields)
        wanted, found = fields.get(replaced), metrics.get(metric)
        if replaced in entry.replaces:
            yield file.problem(place, "an input that is not replaced", f"'{replaced}'")
        elif found is None:
            yield file.problem(place, "a metric", f"'{metric}'", nearest(metric, metrics))
        elif wanted and (found.dimension, found.kind) != (wanted.dimension, wanted.kind):
            yield file.problem(place, f"a metric that gives {wanted}", f"'{metric}', {found}")
        elif found.grain not in (PLAN, CASE):
            yield file.problem(place, "a metric with one value per case or plan", f"'{metric}'")
        elif replaced in reach.get(metric, ()):
            yield file.problem(place, f"a metric that does not need {replaced}", f"'{metric}'")
    for index, shown in enumerate(entry.shows):
        if shown not in metrics:
            yield file.problem((*key, "shows", index), "a metric", f"'{shown}'")
    if entry.table not in tables:
        yield file.problem((*key, "table"), one_of(tables), f"'{entry.table}'")


def _input_problems(
    file: YamlFile, key: Key, name: str, fields: Mapping[str, Type]
) -> Iterator[Problem]:
    kind = fields.get(name)
    if kind is None:
        yield file.problem(key, "an input", f"'{name}'", nearest(name, fields))
    elif kind.kind == "choice" or kind.grain not in (PLAN, CASE):
        yield file.problem(key, "an input with one number per case or plan", f"'{name}'")


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
