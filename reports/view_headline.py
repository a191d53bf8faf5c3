"""The answer in one sentence, and at most five headline figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from planner.planning import Plan
from reports import numbers
from reports.view_axes import Axes
from reports.view_grid import (
    Tone,
    Value,
    text_of,
)
from reports.view_parts import Pick, Tile
from reports.view_units import clean, metric_display
from reports.words import called, say


class Headline:
    """Chooses what a reader sees first of one plan."""

    def __init__(self, plan: Plan, axes: Axes) -> None:
        self.plan, self.axes = plan, axes
        self.metrics = plan.metrics
        self.count = len(plan.cases)
        self.verdicts = Counter(self._word("verdict", i) for i in range(self.count))
        self.bindings = Counter(self._word("binding", i) for i in range(self.count))

    def _word(self, name: str, case: int) -> str:
        if name not in self.metrics.metrics:
            return "unknown"
        return clean(str(self.plan.value(name, case) or "unknown"))

    def line(self) -> str:
        """The verdict line."""
        fits, unknown = self.verdicts["fits"], self.verdicts["unknown"]
        binding = self._most_binding()
        if self.count == 1:
            words = {
                "fits": say("The planned batch fits"),
                "does not fit": say("The planned batch does not fit"),
            }
            end = say(".")
            start = words.get(
                self._word("verdict", 0), say("Whether the planned batch fits is unknown")
            )
            return (
                f"{start}{say('; ')}{_binds(binding)}{end}" if binding != "unknown" else start + end
            )
        left = say(f"; {unknown} unknown") if unknown else ""
        often = say(f"; {_binds(binding)} most often") if binding != "unknown" else ""
        every = fits == self.count
        start = (
            say(f"All {self.count} cases fit")
            if every
            else say(f"{fits} of {self.count} cases fit")
        )
        return say(f"{start} the planned batch{left}{often}.")

    def tone(self) -> Tone:
        """Good where all fit, bad where none does, plain between."""
        if self.verdicts["fits"] == self.count:
            return "good"
        return "bad" if self.verdicts["does not fit"] == self.count else "warn"

    def _most_binding(self) -> str:
        known = [(word, n) for word, n in self.bindings.items() if word != "unknown"]
        return max(known, key=lambda item: item[1])[0] if known else "unknown"

    # ---- tiles ---------------------------------------------------------------------------------

    def tiles(self) -> tuple[Tile, ...]:
        """The figures of the first screen."""
        found = self._of_one() if self.count == 1 else self._of_many()
        return tuple(tile for tile in found if tile is not None)

    def _of_one(self) -> list[Tile | None]:
        batch = self._text("batch", 0)
        return [
            self._tile(
                "max_concurrency",
                0,
                say(f"{batch} planned; bound by {called(self._word('binding', 0))}"),
            ),
            self._tile("memory_spare", 0, say(f"left in the pool with {batch} at the limit")),
            self._tile("longest_context", 0, say(f"rung of the ladder that holds {batch}")),
            self._tile("b_star_kv", 0, say("from here on KV reads exceed weight reads")),
            self._tile("read_to_stored", 0, self._read(0)),
        ]

    def _of_many(self) -> list[Tile | None]:
        fits = self.verdicts["fits"]
        tone: Tone = "good" if fits == self.count else "bad" if not fits else ""
        binding = self._most_binding()
        bound = _binds(binding) + say(f" in {self.bindings[binding]} of {self.count}")
        every = range(self.count)
        fitting = [i for i in every if self._word("verdict", i) == "fits"]
        best = self._extreme("concurrency_per_gpu", every, high=True)
        tight = self._extreme("memory_spare", fitting, high=False)
        spare = self._tile("memory_spare", tight, label=say("Tightest fit, memory to spare"))
        early = self._extreme("b_star_kv", every, high=False)
        read = self._extreme("read_to_stored", every, high=True)
        return [
            Tile(
                f"{fits}{say(' of ')}{self.count}",
                say("cases"),
                say("Planned batch fits"),
                bound,
                "cases_fitting",
                None,
                tone,
                "fits",
            ),
            _picked(
                self._tile("concurrency_per_gpu", best, label=say("Most requests per GPU")), "high"
            ),
            _picked(spare if fitting else None, "low-fitting"),
            _picked(
                self._tile("b_star_kv", early, label=say("Earliest B*: KV reads overtake")), "low"
            ),
            _picked(
                self._tile("read_to_stored", read, label=say("KV read to stored, at most")), "high"
            ),
        ]

    def _extreme(self, name: str, among: list[int] | range, *, high: bool) -> int | None:
        """The case with the largest or smallest known value; the first of equals."""
        if name not in self.metrics.metrics or not len(among):
            return None
        values = self.plan.column(name)[np.asarray(among)].astype(float)
        if np.isnan(values).all():
            return None
        return among[int(np.nanargmax(values) if high else np.nanargmin(values))]

    def _tile(
        self, name: str, case: int | None, bound: str = "", *, label: str = ""
    ) -> Tile | None:
        if name not in self.metrics.metrics:
            return None
        metric = self.metrics.metrics[name]
        factor, unit, _, kind = metric_display(metric)
        if case is None:
            words = (say(numbers.UNKNOWN), unit, label, say("no case has a known figure"))
            return Tile(*words, name, None, "muted")
        value = self.plan.value(name, case)
        shown: Value = value / factor if isinstance(value, float) else value
        return Tile(
            text_of(shown, kind), unit, label or clean(metric.label),
            bound or self.axes.names[case].label, name, case, _tone(name, value),
        )  # fmt: skip

    def _text(self, name: str, case: int) -> str:
        value = self.plan.cases[case].inputs[name]
        return text_of(value, "count") + " requests"

    def _read(self, case: int) -> str:
        tile = self._tile("kv_read_total", case)
        return say(f"{tile.text} {tile.unit} read in one generation") if tile else ""


def _picked(tile: Tile | None, pick: Pick) -> Tile | None:
    return tile and replace(tile, pick=pick)


def _tone(name: str, value: Value) -> Tone:
    if value is None:
        return "muted"
    return "bad" if name == "memory_spare" and isinstance(value, float) and value < 0 else ""


def _binds(word: str) -> str:
    verb = say(" bind") if word.endswith("reads") else say(" binds")
    return called(word) + verb
