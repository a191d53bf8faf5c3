"""Assumptions and catalog facts of a view, each with origin, sources and confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.facts import NO_DRAFT, Fact
from planner.inputs import Origin
from planner.metric_files import OWN
from planner.places import in_words
from planner.planning import Plan
from reports import numbers
from reports.view_axes import SIZES
from reports.view_grid import (
    text_of,
)
from reports.view_layout import FACT_KINDS
from reports.view_parts import (
    Assumption,
    FactCell,
    FactColumn,
    FactTable,
)
from reports.view_sources import Sources
from reports.view_units import clean, input_display, place_words
from reports.words import called, say

_NOTHING = ("no such part in a layer of this kind", NO_DRAFT)
_NO_ORIGIN = Origin("default", "")


class Facts:
    """Collects what was put into one plan."""

    def __init__(self, plan: Plan, sources: Sources) -> None:
        self.plan, self.sources = plan, sources
        self.metrics = plan.metrics

    # ---- assumptions ---------------------------------------------------------------------------

    def assumptions(self) -> tuple[Assumption, ...]:
        """Inputs of the whole plan, then of the cases, then the ladders."""
        fields = self.metrics.fields
        plan = [n for n, f in fields.items() if f.entity == "plan"]
        cases = [n for n, f in fields.items() if f.entity == "case" and self._is_chosen(n)]
        ladders = list(self.metrics.variants)
        found = [self._assumption(n, self._of_plan(n), n) for n in plan]
        found += [self._assumption(n, self._of_cases(n), n) for n in cases]
        for name in ladders:
            found.append(
                self._assumption(name, self._rungs(name), self.metrics.variants[name].first)
            )
        return tuple(found)

    def _is_chosen(self, name: str) -> bool:
        """Whether an input is worth a line: parallel sizes that are 1 in every case are not."""
        sizes = {case.inputs.get(name) for case in self.plan.cases}
        return name not in SIZES or sizes != {1.0}

    def _of_plan(self, name: str) -> str:
        value = self.plan.value(name)
        if isinstance(value, bool | str):
            return text_of(value, "flag" if isinstance(value, bool) else "word")
        return self._shown(name, [self.plan.inputs.plan[name]])

    def _of_cases(self, name: str) -> str:
        values = list(dict.fromkeys(case.inputs[name] for case in self.plan.cases))
        words = [clean(v) for v in values if isinstance(v, str)]
        numbers_only = [v for v in values if not isinstance(v, str)]
        return ", ".join(words) if words else self._shown(name, numbers_only)

    def _shown(self, name: str, values: Sequence[float]) -> str:
        factor, _, _, kind = input_display(self.metrics, name)
        return "; ".join(text_of(v / factor, kind) for v in values)

    def _rungs(self, name: str) -> str:
        """The rungs of a set of variants, each with its name if it has one."""
        replaces, rungs = self.metrics.variants[name].replaces, self.plan.inputs.ladders[name]
        rows = [rung if isinstance(rung, tuple) else (rung,) for rung in rungs]
        texts = [
            " / ".join(self._rung(one, value) for one, value in zip(replaces, row, strict=False))
            for row in rows
        ]
        names = self.plan.inputs.rungs.get(name)
        if names:
            texts = [f"{clean(word)}: {text}" for word, text in zip(names, texts, strict=True)]
        return "; ".join(texts)

    def _each(self, name: str) -> str:
        """What the values of one rung are, where it has several."""
        replaces = self.metrics.variants[name].replaces
        if len(replaces) == 1:
            return ""
        units = (input_display(self.metrics, one)[1] for one in replaces)
        words = [
            clean(self.metrics.label_of(one)) + (f" ({unit})" if unit else "")
            for one, unit in zip(replaces, units, strict=True)
        ]
        return say(f". Each: {' / '.join(words)}")

    def _rung(self, name: str, value: float) -> str:
        return OWN if value != value else self._shown(name, [value])

    def _assumption(self, name: str, text: str, unit_of: str) -> Assumption:
        origin = self.plan.inputs.origins.get(name, _NO_ORIGIN)
        variant = self.metrics.variants.get(name)
        entry = self.metrics.fields.get(name)
        label = variant.label if variant else self.metrics.label_of(name)
        meaning = variant.meaning if variant else entry.meaning if entry else ""
        several = variant is not None and len(variant.replaces) > 1
        unit = "" if several else input_display(self.metrics, unit_of)[1]
        each = self._each(name) if variant else ""
        note = say(clean(origin.note)) + each if origin.note else ""
        engine = next(word for kind, word in self.plan.inputs.facts if kind == "engine")
        return Assumption(
            name, clean(label), text, unit, called(origin.kind),
            called(place_words(origin.where)),
            self.sources.of_ids("engine", engine, origin.sources),
            called(clean(origin.confidence)), note, clean(meaning) + each,
        )  # fmt: skip

    # ---- catalog facts -------------------------------------------------------------------------

    def tables(self) -> tuple[FactTable, ...]:
        """A table per kind of catalog entry that the plan uses."""
        found = [self._table(kind, label) for kind, label in FACT_KINDS.items()]
        return tuple(t for t in found if t.entries and t.columns)

    def _table(self, kind: str, label: str) -> FactTable:
        entries: list[tuple[str, str, str, Mapping[str, Fact]]] = []
        labels = self.plan.inputs.labels
        for owner, word in self._entries("model" if kind == "group" else kind):
            name = clean(labels.get((owner, word), word))
            if kind == "group":
                entries += [
                    (word, f"{name}: {called(clean(group.label))}", owner, group.facts)
                    for group in self.plan.inputs.groups[word]
                ]
            else:
                entries.append((word, name, owner, self.plan.inputs.facts[owner, word]))
        names = [
            n for n, f in self.metrics.fields.items()
            if f.entity == kind and any(_says(e[3].get(n)) for e in entries)
        ]  # fmt: skip
        cells = tuple(
            tuple(self._cell(owner, word, n, facts.get(n)) for n in names)
            for word, _, owner, facts in entries
        )
        return FactTable(
            kind, say(label), tuple(self._column(n) for n in names),
            tuple((clean(word), name) for word, name, _, _ in entries), cells,
        )  # fmt: skip

    def _entries(self, kind: str) -> list[tuple[str, str]]:
        """Entries of one kind, those that cases use first and in their order."""
        every = [(k, w) for k, w in self.plan.inputs.facts if k == kind]
        if not hasattr(self.plan.cases[0], kind):
            return every
        used = dict.fromkeys(getattr(case, kind) for case in self.plan.cases)
        order = {word: i for i, word in enumerate(used)}
        return sorted(every, key=lambda e: (order.get(e[1], len(order)), e[1]))

    def _column(self, name: str) -> FactColumn:
        entry = self.metrics.fields[name]
        _, unit, _, _ = input_display(self.metrics, name)
        return FactColumn(
            name, clean(entry.label), unit, clean(entry.meaning), entry.kind in ("number", "count")
        )  # fmt: skip

    def _cell(self, kind: str, word: str, name: str, fact: Fact | None) -> FactCell:
        if fact is None or fact.note in _NOTHING:
            return FactCell(numbers.NOT_APPLICABLE, tone="muted")
        sources = self.sources.of_fact(kind, word, fact)
        if fact.value is None:
            return FactCell(say(numbers.UNKNOWN), sources, "", clean(fact.note), "muted")
        if isinstance(fact.value, str):
            places = self.metrics.fields[name].kind == "places"
            text = say(clean(in_words(fact.value))) if places else clean(fact.value)
        else:
            factor, _, _, shown = input_display(self.metrics, name)
            value = bool(fact.value) if shown == "flag" else float(fact.value) / factor
            text = text_of(value, shown)
        return FactCell(text, sources, called(clean(fact.confidence)), clean(fact.note))


def _says(fact: Fact | None) -> bool:
    return fact is not None and fact.note not in _NOTHING
