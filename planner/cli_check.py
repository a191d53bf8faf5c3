"""Check files of every kind: what each one is, and every problem of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from planner import plausibility, yamlfile
from planner.catalog import KINDS, Catalog
from planner.cli_saved import SUFFIXES, load_saved
from planner.errors import InputError, Problem, Span
from planner.examples import run_example
from planner.explain import exact
from planner.figures import read_record
from planner.metrics import OPTIONAL, Metric, MetricSet
from planner.planning import Value
from planner.records import Entry
from planner.resources import data_dir
from planner.review_decisions import read_decisions
from planner.scenario import resolve
from planner.scenario_file import read_scenario
from planner.units import UnitError
from planner.yamlfile import YamlFile

# Keys by which a file shows what it is; the first kind that has one of them counts.
_MARKS = {
    "metrics": {"metrics", "constants", "fields", "variants", "tables"},
    "scenario": {"models", "gpus", "workloads", "contexts", "batches"},
    "model": {"layer_groups", "params", "hf_id", "hidden_size"},
    "gpu": {"memory_bandwidth", "peak_dense", "memory", "scale_up"},
    "engine": {"memory_basis", "block_size", "defaults"},
    "weight_format": {"weight", "kv"},
    "price": {"prices"},
    "decisions": {"decisions"},
}
_TOLERANCE = 1e-9


@dataclass
class Found:
    """Files by what they are."""

    catalogs: list[Path] = field(default_factory=list)
    metrics: list[Path] = field(default_factory=list)
    scenarios: list[Path] = field(default_factory=list)
    plans: list[Path] = field(default_factory=list)
    decisions: list[Path] = field(default_factory=list)
    entries: list[tuple[str, YamlFile]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def summary(self, catalog: Catalog, with_catalog: bool) -> str:
        """What was checked, in words."""
        ids = {kind: len(catalog.ids(kind)) if with_catalog else 0 for kind in KINDS}
        counts = {
            "model": ids["model"], "GPU": ids["gpu"], "engine": ids["engine"],
            "price file": ids["price"], "scenario": len(self.scenarios),
            "metrics file": len(self.metrics), "catalog entry": len(self.entries),
            "saved plan": len(self.plans), "decisions file": len(self.decisions),
        }  # fmt: skip
        return ", ".join(_counted(count, words) for words, count in counts.items() if count)


def _counted(count: int, words: str) -> str:
    plural = "entries".join(words.rsplit("entry", 1)) if words.endswith("entry") else f"{words}s"
    return f"{count} {words if count == 1 else plural}"


def check_files(paths: Sequence[Path]) -> str:
    """Check everything below the paths; gives what was checked.

    The shipped catalog is checked when no path is given, and together with catalog folders, since
    entries of both must not claim the same name.

    Raises:
        InputError: every problem of every file.
    """
    found = Found()
    for path in paths:
        _sort(path, found)
    if not paths:
        found.scenarios += sorted((data_dir("catalogs") / "scenarios").glob("*.yaml"))
    with_catalog = bool(found.catalogs) or not paths
    catalog = Catalog.open(found.catalogs)
    if with_catalog:
        found.problems += catalog.check()
    if found.metrics or found.scenarios:
        metrics = _check_metrics(found)
        for path in found.scenarios:
            _gather(found, partial(_resolve, path, catalog, metrics))
    for path in found.plans:
        _gather(found, partial(load_saved, path))
    for path in found.decisions:
        _gather(found, partial(read_decisions, path))
    for kind, file in found.entries:
        found.problems += _check_entry(kind, file, catalog)
    if found.problems:
        raise InputError(found.problems)
    return found.summary(catalog, with_catalog)


def _resolve(path: Path, catalog: Catalog, metrics: MetricSet) -> None:
    resolve(*read_scenario(path), catalog, metrics)


def _gather(found: Found, act: Callable[[], object]) -> None:
    try:
        act()
    except InputError as error:
        found.problems += error.problems


# ---- what a file is ----------------------------------------------------------------------------


def _sort(path: Path, found: Found) -> None:
    if path.is_dir():
        if any((path / kind.folder).is_dir() for kind in KINDS.values()):
            found.catalogs.append(path)
            found.scenarios += sorted((path / "scenarios").glob("*.yaml"))
            return
        for inside in sorted(path.iterdir()):
            if not inside.name.startswith(".") and (
                inside.is_dir() or inside.suffix in (".yaml", ".yml")
            ):
                _sort(inside, found)
    elif path.suffix.lower() in SUFFIXES:
        found.plans.append(path)
    else:
        _sort_file(path, found)


def _sort_file(path: Path, found: Found) -> None:
    try:
        file = yamlfile.read(path)
    except InputError as error:
        found.problems += error.problems
        return
    keys = set(file.data) if isinstance(file.data, dict) else set()
    kind = next((k for k, marks in _MARKS.items() if keys & marks), "")
    if kind == "metrics":
        found.metrics.append(path)
    elif kind == "scenario":
        found.scenarios.append(path)
    elif kind == "decisions":
        found.decisions.append(path)
    elif kind:
        found.entries.append((kind, file))
    else:
        shown = ", ".join(sorted(keys)[:6])
        what = f"the keys {shown}" if keys else "a list" if file.data else "an empty file"
        expected = "a scenario, a metrics file or a catalog entry"
        found.problems.append(Problem(Span(file.name), "", expected, what))


# ---- checking ----------------------------------------------------------------------------------


def _check_metrics(found: Found) -> MetricSet:
    """The metrics of all files together, with their worked examples; built-in ones if they fail."""
    try:
        metrics = MetricSet.load(found.metrics, OPTIONAL)
    except InputError as error:
        found.problems += error.problems
        return MetricSet.load(also=OPTIONAL)
    for metric in metrics.metrics.values():
        if metric.origin and not metric.part_of:
            found.problems += _check_examples(metrics, metric)
    return metrics


def _check_examples(metrics: MetricSet, metric: Metric) -> Iterable[Problem]:
    for index, one in enumerate(metric.entry.examples):
        where = f"metrics.{metric.name}.examples[{index}]"
        unit = metrics.unit_of(metric.name)
        try:
            result, wanted = run_example(metrics, metric, one)
        except UnitError as error:
            yield Problem(metric.span, where, error.expected, error.found, error.hint)
        except KeyError as error:
            hint = "an example gives every input, or a metric instead of what it needs"
            yield Problem(metric.span, where, f"a value of {error.args[0]}", "none", hint)
        else:
            if not _equal(result, wanted):
                yield Problem(
                    metric.span, where, f"{exact(wanted, unit)} as 'gives' says",
                    f"{exact(result, unit)} from the formula",
                )  # fmt: skip


def _equal(result: Value, wanted: Value) -> bool:
    if isinstance(result, float) and isinstance(wanted, float):
        return abs(result - wanted) <= _TOLERANCE * max(abs(wanted), abs(result))
    return result == wanted


def _check_entry(kind: str, file: YamlFile, catalog: Catalog) -> list[Problem]:
    """One catalog entry by itself."""
    try:
        entry = Entry(read_record(file, KINDS[kind].schema), file)
    except InputError as error:
        return error.problems
    problems = []
    stem = Path(file.name).stem
    if entry.record.id != stem:
        problems.append(file.problem(("id",), f"the file name, '{stem}'", f"'{entry.record.id}'"))
    if kind == "model":
        problems += plausibility.models([entry], catalog.ids("weight_format"))
    if kind == "gpu":
        others = [catalog.entry("gpu", word) for word in catalog.ids("gpu")]
        mine = [p for p in plausibility.gpus([*others, entry]) if p.span.file == file.name]
        problems += mine
    if kind == "weight_format":
        problems += plausibility.formats([entry])
    if kind == "price":
        problems += plausibility.prices([entry], catalog.ids("gpu"))
    return problems
