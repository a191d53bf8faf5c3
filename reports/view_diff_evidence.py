"""What a comparison rests on, for people: changed inputs, corrections, like for like, doubts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.diff import Diff
from planner.diff_drivers import GROUPS
from planner.diff_inputs import Stand
from planner.diff_panels import Doubt
from planner.planning import Value
from reports.view_diff_parts import DoubtRow, InputRow, Panel
from reports.view_grid import Kind, text_of
from reports.view_units import clean, column_decimals, input_display, metric_display, with_unit
from reports.words import called, say


class Evidence:
    """Draws the blocks below the figures; ``label`` names a pair."""

    def __init__(self, found: Diff, label: Callable[[int], str]) -> None:
        self.found, self.sides, self.label = found, found.sides, label

    def inputs(self) -> tuple[InputRow, ...]:
        """Changed inputs, by group."""
        rows = []
        for one in self.found.inputs:
            factor, unit, kind = self._input_display(one.name)
            old, new = (_scaled(v, factor) for v in (one.old.value, one.new.value))
            owner = both(one.old.owner, one.new.owner)
            bases = basis(one.old, one.new), basis(one.old, one.new, 1)
            rows.append(
                InputRow(
                    called(GROUPS[one.group]),
                    called(clean(one.label)),
                    unit,
                    clean(text_of(old, kind)),
                    clean(text_of(new, kind)),
                    old,
                    new,
                    owner,
                    *bases,
                    one.pairs,
                    one.name,
                )
            )
        return tuple(rows)

    def _input_display(self, name: str) -> tuple[float, str, Kind]:
        if name not in self.sides.metrics.fields:
            return 1.0, "", "word"
        factor, unit, _, kind = input_display(self.sides.metrics, name)
        return factor, unit, kind

    def corrections(self) -> Iterable[InputRow]:
        """Catalog figures that a saved plan took otherwise."""
        for one in self.found.facts:
            factor, unit, kind = self._input_display(one.name)
            old, new = (
                _scaled(float(v) if isinstance(v, int | float) and not isinstance(v, bool) else v,
                        factor)
                for v in (one.old, one.new)
            )  # fmt: skip
            texts = clean(text_of(old, kind)), clean(text_of(new, kind))
            label = called(clean(self.sides.metrics.label_of(one.name))) if (
                one.name in self.sides.metrics.fields) else one.name  # fmt: skip
            titles = "; ".join(clean(s.title) for s in one.sources) or say("no source on record")
            owner = say(clean(f"{one.word} ({one.side} plan)"))
            yield InputRow(
                say("Method & data"), label, unit, *texts, old, new, owner, titles, titles, 1,
                one.name,
            )  # fmt: skip

    def panels(self) -> Iterable[Panel]:
        """Like for like, a panel for each explained pair."""
        for panel in self.found.panels:
            heads, columns, formats, raw = [], [], [], []
            for index, name in enumerate(panel.metrics):
                factor, unit, _, kind = metric_display(self.sides.metrics.metrics[name])
                values = [None if (v := row.values[index]) is None else v / factor
                          for row in panel.rows]  # fmt: skip
                places = column_decimals(values, kind)
                heads.append((called(clean(self.sides.metrics.label_of(name))), unit))
                columns.append([text_of(v, kind, places) for v in values])
                formats.append((kind, places))
                raw.append(values)
            rows = tuple(
                (say(clean(row.label)) + (say(" (no such case)") if row.infeasible else ""),
                 tuple(column[i] for column in columns))
                for i, row in enumerate(panel.rows)
            )  # fmt: skip
            yield Panel(
                self.label(panel.pair), tuple(heads), rows, say(clean(panel.note)), tuple(formats),
                tuple(tuple(column[i] for column in raw) for i in range(len(rows))),
            )  # fmt: skip

    def doubted(self) -> str:
        """The case that the uncertain facts are about."""
        main = self.found.main
        return self.label(main) if self.found.doubts and main is not None else ""

    def doubt(self, one: Doubt) -> DoubtRow:
        """One uncertain fact."""
        factor, unit, kind = self._input_display(one.name)
        value = with_unit(clean(text_of(_scaled(one.stand.value, factor), kind)), unit)
        reach = say("no range on record")
        if one.low is not None and one.high is not None:
            scale, words, _, shown = metric_display(self.sides.metrics.metrics[one.metric])
            low, high = (text_of(v / scale, shown) for v in (one.low, one.high))
            span = low if low == high else low + say(" to ") + high
            label = called(clean(self.sides.metrics.label_of(one.metric)))
            reach = f"{label} {with_unit(span, words)}" + say(f" over {len(one.readings)} readings")
        titles = "; ".join(clean(s.title) for s in one.stand.sources)
        return DoubtRow(
            called(one.side), clean(one.owner), called(clean(one.label)), value,
            called(clean(one.stand.confidence)),
            reach, titles or say(clean(one.stand.note)),
        )  # fmt: skip


def _scaled(value: Value, factor: float) -> Value:
    """A number in its display unit; words and flags as they are."""
    return value / factor if isinstance(value, float) else value


def both(old: str, new: str) -> str:
    """Two texts, said once where they are the same."""
    return clean(old if old == new else f"{old} → {new}")


def basis(old: Stand, new: Stand, most: int = 0) -> str:
    """Confidence and sources of both values, said once where they are the same."""
    before, after = _stand(old, most), _stand(new, most)
    return before if before == after else f"{before or say('unknown')} → {after or say('unknown')}"


def _stand(one: Stand, most: int) -> str:
    if one.value is None:
        return say("not on record")
    titles = [clean(s.title) for s in one.sources]
    more = say(f" and {len(titles) - most} more") if most and len(titles) > most else ""
    words = "; ".join(titles[: most or None]) + more
    basis = words or clean(one.place.rpartition("/")[2])
    return say(", ").join(part for part in (called(clean(one.confidence)), basis) if part)
