"""The plan: inputs, metrics and every value, with tables for people and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.catalog import Catalog
from planner.engine import Array, Columns, evaluate
from planner.errors import InputError, Problem, Span, nearest
from planner.expr.check import CASE, GROUP, PLAN, Type
from planner.inputs import Case, Inputs
from planner.metrics import SLOTS, Metric, MetricSet
from planner.scenario import resolve
from planner.scenario_file import read_scenario

if TYPE_CHECKING:
    import pandas as pd

    from planner.actual import Actual

Value = float | bool | str | None
"""A number in base units, a flag, a word of a choice, or None where it is unknown."""


@dataclass(frozen=True)
class Plan:
    """A finished plan. ``columns`` gives any input or metric by name, see ``engine``."""

    inputs: Inputs
    metrics: MetricSet
    columns: Columns
    actual: tuple[Actual, ...] = ()

    @property
    def name(self) -> str:
        """The scenario's name, used for file names."""
        return str(self.inputs.scenario["name"])

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self.inputs.scenario["title"])

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases in order; the rows of every case column."""
        return self.inputs.cases

    def column(self, name: str) -> Array:
        """A column over all cases: ``(cases,)``, or a finer one in the shape of ``engine``."""
        values = self.columns[name]
        return np.broadcast_to(values, (len(self.cases),)) if values.ndim == 0 else values

    def value(self, name: str, case: int = 0, slot: int = 0, stage: int = 0) -> Value:
        """One value in base units, of a layer group and a pipeline stage; unknown is None."""
        return plain(self.columns[name], self.metrics.type_of(name), case, slot, stage)

    def used_metrics(self, table: str) -> list[Metric]:
        """Metrics of one table."""
        return self.metrics.of_table(table)

    def case_index(self, word: str) -> int:
        """Position of a case by id or number (from 1).

        Raises:
            InputError: no such case.
        """
        ids = [case.id for case in self.cases]
        if word in ids:
            return ids.index(word)
        if word.isdigit() and 1 <= int(word) <= len(ids):
            return int(word) - 1
        raise InputError(
            Problem(Span("--case"), "", f"a case id, or a number from 1 to {len(ids)}", f"'{word}'",
                    nearest(word, ids))
        )  # fmt: skip

    def table(self, name: str = "memory") -> pd.DataFrame:
        """One table as a DataFrame, a row a case; column names end in their base unit.

        ``groups`` has a row per layer group, ``layout`` one per pipeline stage, and
        ``stage_groups`` one per layer group of a stage.

        Raises:
            KeyError: no table of this name.
        """
        from planner.frames import table

        return table(self, name)

    @cached_property
    def catalog_entries(self) -> list[tuple[str, str]]:
        """Kind and id of every catalog entry that the plan uses."""
        return list(self.inputs.facts)

    def _repr_html_(self) -> str:
        return str(self.table("memory").to_html(max_rows=20))


def plain(values: Array, kind: Type, case: int = 0, slot: int = 0, stage: int = 0) -> Value:
    """One element of a column as a plain Python value."""
    element = values if values.ndim == 0 else values[..., case]
    if element.ndim == 2:
        element = element[stage, slot if element.shape[1] > 1 else 0]
    elif element.ndim:
        element = element[slot]
    if kind.kind == "places":
        text: str | None = element.item() if isinstance(element, np.ndarray) else element
        return text
    number = float(element)
    if np.isnan(number):
        return None
    if kind.kind == "choice":
        return kind.words[int(number)]
    return bool(number) if kind.kind == "flag" else number + 0.0


def plan(
    scenario: str | Path,
    *,
    metrics: Sequence[str | Path] = (),
    catalogs: Sequence[str | Path] = (),
    settings: Sequence[str] = (),
) -> Plan:
    """Plan a scenario file.

    Args:
        scenario: path of the scenario YAML.
        metrics: further metric files; they add to the built-in ones or replace them.
        catalogs: further catalog folders; later ones win.
        settings: ``key=value`` texts put over the scenario.

    Raises:
        InputError: bad input of any kind, every problem with its place.
    """
    file, entry = read_scenario(Path(scenario), settings)
    declared = MetricSet.load([Path(m) for m in metrics], entry.asks)
    inputs = resolve(file, entry, Catalog.open([Path(c) for c in catalogs]), declared)
    return compute(inputs, declared)


def compute(inputs: Inputs, metrics: MetricSet) -> Plan:
    """Every metric of the set over the inputs."""
    given = inputs.columns(metrics)
    variants: dict[str, Any] = {n: np.asarray(v) for n, v in inputs.ladders.items()}
    values = evaluate(metrics, given, variants)
    return Plan(inputs, metrics, Columns(metrics, given, variants, values))


__all__ = ["CASE", "GROUP", "PLAN", "SLOTS", "Plan", "Value", "compute", "plain", "plan"]
