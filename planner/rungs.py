"""The rungs of every set of variants: from the scenario where it has them, else the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from planner.errors import Problem
from planner.inputs import Origin
from planner.inputs import Rungs as Values
from planner.metric_files import VariantEntry
from planner.metrics import MetricSet
from planner.scenario_file import ScenarioEntry
from planner.yamlfile import Key, YamlFile

MIX = "length_mix"
"""The set whose rungs are the rows of ``mix`` in a scenario."""

SHARE = "mix_share"
SLACK = 1e-6
"""Shares written as decimals, such as thirds, need not add up to 1 to the last digit."""

MOST_ROWS = 24


class Resolving(Protocol):
    """What is needed of a scenario that is being resolved."""

    file: YamlFile
    entry: ScenarioEntry
    metrics: MetricSet
    problems: list[Problem]
    origins: dict[str, Origin]

    def place(self, key: Key, of_key: bool = False) -> str:
        """Where something stands, for outputs."""

    def quantity(self, name: str, value: Any, key: Key) -> float:
        """A value of an input in base units; what is wrong with it becomes a problem."""

    def numbers(self, name: str, key: Key, values: Sequence[Any]) -> list[float]:
        """Several of them, each once and at least 1."""


class Rungs:
    """Reads the ladders of one scenario; ``names`` are those of rungs that have any."""

    def __init__(self, scenario: Resolving) -> None:
        self.scenario = scenario
        self.names: dict[str, tuple[str, ...]] = {}

    def ladder(self, name: str) -> Values:
        """The values of one set: one a rung, or one a rung and replaced input."""
        scenario, variant = self.scenario, self.scenario.metrics.variants[name]
        if name == MIX and scenario.entry.mix:
            scenario.origins[name] = Origin("given", scenario.place(("mix",)))
            return self._mix(variant)
        given = getattr(scenario.entry, name, ())
        if given:
            scenario.origins[name] = Origin("given", scenario.place((name,)))
            return tuple(scenario.numbers(variant.first, (name,), given))
        scenario.origins[name] = Origin("default", "metrics file", note=variant.meaning)
        if variant.names:
            self.names[name] = variant.names
        rungs = variant.rungs()
        return rungs if len(variant.replaces) > 1 else tuple(row[0] for row in rungs)

    def _mix(self, variant: VariantEntry) -> Values:
        """A rung a row: its share and its lengths, in the order that the set replaces them."""
        scenario, rows = self.scenario, []
        for index, one in enumerate(scenario.entry.mix):
            key: Key = ("mix", index)
            row = {SHARE: scenario.quantity(SHARE, one.share, (*key, "share"))}
            for part in ("cached", "prompt", "output"):
                name = f"{part}_tokens"
                row[name] = scenario.quantity(name, getattr(one, part), (*key, part))
            if row["output_tokens"] < 1:
                self._problem((*key, "output"), "at least 1 token", str(one.output))
            rows.append(row)
        self._whole([row[SHARE] for row in rows])
        self.names[MIX] = self._mix_names(rows)
        return tuple(tuple(row[name] for name in variant.replaces) for row in rows)

    def _whole(self, shares: Sequence[float]) -> None:
        if len(shares) > MOST_ROWS:
            hint = "put neighbouring lengths together"
            self._problem(("mix",), f"at most {MOST_ROWS} rows", f"{len(shares)}", hint)
        if abs(sum(shares) - 1) > SLACK:
            found = " + ".join(f"{share:g}" for share in shares) + f" = {sum(shares):g}"
            self._problem(("mix",), "shares that add up to 1", found)

    def _mix_names(self, rows: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
        """What people call the rows: their names, else their lengths."""
        names: list[str] = []
        for index, (one, row) in enumerate(zip(self.scenario.entry.mix, rows, strict=True)):
            before = f"{row['cached_tokens']:,.0f}+" if row["cached_tokens"] else ""
            name = one.name or f"{before}{row['prompt_tokens']:,.0f}+{row['output_tokens']:,.0f}"
            if name in names:
                key: Key = ("mix", index)
                self._problem(key, "each length or name once", f"'{name}' again", "add the shares")
            names.append(name)
        return tuple(names)

    def _problem(self, key: Key, expected: str, found: str, hint: str = "") -> None:
        self.scenario.problems.append(self.scenario.file.problem(key, expected, found, hint))
