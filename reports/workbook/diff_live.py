"""Which bridges of a comparison are live from the inputs on, and the sheets that make them so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.cuts import cut_long
from planner.diff_live import Rows, computable, correction, ends
from planner.diff_values import NO_BOUND
from reports.view_diff_parts import Bridge, DiffView, Mixing
from reports.view_grid import Value
from reports.view_units import metric_display
from reports.words import say
from reports.words_plan import localised_metrics
from reports.workbook.address import Addresses
from reports.workbook.diff_inputs import DiffInputs
from reports.workbook.diff_rows import PlansSheet, Workings
from reports.workbook.inputs_sheet import CONSTANTS, constants_sheet
from reports.workbook.tables import Book

LIVE_ROWS = 512
"""Rows of mixtures that a comparison computes in cells: eight pairs of six drivers. The bridges of
the whole plan come first, then the pairs in their order; what does not fit keeps the engine's
figures."""

LIVE_PAIRS = 24
"""Pairs whose sum a cell of the whole plan takes."""

INPUTS, PLANS, MIXTURES, WORKINGS = "Inputs", "Plans", "Mixtures", "Workings"


@dataclass(frozen=True)
class Mixed:
    """Bridges that share one sheet of mixtures; ``live`` are those computed from the inputs."""

    pair: int | None
    bridges: tuple[Bridge, ...]
    mixing: Mixing
    sheet: str
    workings: Workings | None = None


@dataclass
class Live:
    """The live part of one comparison. ``figure`` and ``mixture`` give the cells to link to."""

    view: DiffView
    mark: str
    sets: list[Mixed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.metrics = cut_long(localised_metrics(self.view.sides.metrics))
        self.at = Addresses(0, 1)
        self.inputs: DiffInputs | None = None
        self.plans: PlansSheet | None = None
        self.rows: Rows | None = None
        self.whole = False
        self.divided: set[tuple[int | None, str]] = set()

    # ---- choice --------------------------------------------------------------------------------

    def choose(self, bridges: Sequence[Bridge]) -> None:
        """Group the bridges by pair, and take rows for as many of them as there is room."""
        room = LIVE_ROWS
        grouped = _by_pair(bridges)
        chosen: dict[int | None, list[str]] = {}
        for pair, (some, mixing) in grouped.items():
            positions = self._positions(pair)
            names = computable(self.metrics, [b.metric for b in some], pair is None)
            size = len(mixing.values) * len(positions)
            if names and size <= room and len(positions) <= LIVE_PAIRS:
                room -= size
                chosen[pair] = [b.metric for b in some if b.metric in names]
        self.divided = {(pair, name) for pair, some in chosen.items() for name in some}
        self._lay_out(chosen)
        for number, (pair, (some, mixing)) in enumerate(grouped.items(), 1):
            end = self.mark + (f".{number}" if len(grouped) > 1 else "")
            workings = None
            if pair in chosen and self.plans is not None:
                rows = Rows(self.view.sides, self.metrics, self._positions(pair), mixing.bits,
                            chosen[pair], mixing.masks)  # fmt: skip
                workings = Workings.laid_out(
                    f"{WORKINGS}{end}", f"{MIXTURES}{end}", rows, self.plans
                )
            self.sets.append(Mixed(pair, tuple(some), mixing, f"{MIXTURES}{end}", workings))

    def _positions(self, pair: int | None) -> tuple[int, ...]:
        return (pair,) if pair is not None else tuple(range(len(self.view.sides.pairs)))

    def _lay_out(self, chosen: dict[int | None, list[str]]) -> None:
        """The rows of both plans: of every pair that a live bridge needs."""
        if not chosen:
            return
        view = self.view
        positions = sorted({p for pair in chosen for p in self._positions(pair)})
        self.whole = pooled = len(positions) == len(view.sides.pairs)
        names = [row.name for row in view.totals] if pooled else []
        names += [row.name for row in view.cases[0].rows]
        shown = computable(self.metrics, names, pooled)
        wanted = [n for n in names if n in shown]
        wanted += [n for some in chosen.values() for n in some if n not in shown]
        self.rows = ends(view.sides, self.metrics, positions, view.drivers, wanted)
        self.at = Addresses(2 * len(positions), self.rows.stages)
        labels = {case.pair: case.label for case in view.cases}
        self.inputs = DiffInputs(view.sides, self.metrics, view.drivers, labels)
        named = [n for n in self.rows.fields() if self.metrics.fields[n].entity != "stage"]
        self.inputs.collect(positions, named)
        self.plans = PlansSheet(self.rows, self.at, self.inputs)
        self.plans.lay_out(f"{PLANS}{self.mark}")

    # ---- sheets --------------------------------------------------------------------------------

    def write(self, book: Book) -> None:
        """The inputs, both plans, the constants, and the workings of every live set."""
        if self.inputs is None or self.plans is None:
            return
        self.inputs.write(book, f"{INPUTS}{self.mark}")
        constants_sheet(book, self.metrics, self.at, self._units(), f"{CONSTANTS}{self.mark}")
        self.plans.write(book, {case.pair: case.label for case in self.view.cases})
        for one in self.sets:
            if one.workings is not None:
                one.workings.write(book, say(f"Workings, {one.bridges[0].case}"))

    def _units(self) -> dict[str, float]:
        """Display units of what leaves the rows, with their factors."""
        names = self.rows.names if self.rows else ()
        shown = [metric_display(self.metrics.metrics[n]) for n in names]
        return {text: factor for factor, _, text, _ in shown if factor != 1.0}

    # ---- links ---------------------------------------------------------------------------------

    def figure(self, pair: int | None, name: str, issued: tuple[Value, Value]) -> list[str]:
        """Formulas of the old and the new figure in the display unit; empty where not computed.

        ``issued``: both as they stand in the plans.
        """
        if self.rows is None or self.plans is None or name not in self.rows.names:
            return []
        positions = self.rows.positions
        if pair not in (positions if pair is not None else (None,) * self.whole):
            return []
        position = positions[0] if pair is None else pair
        found = []
        for side in (0, 1):
            now = self.rows.value(name, position, side)
            factor = metric_display(self.metrics.metrics[name])[0]
            shift = correction(now / factor if isinstance(now, float) else now, issued[side])
            # A constant correction is what a bridge shows; another figure would only seem live.
            if shift is None or (shift and (pair, name) not in self.divided):
                return []
            found.append(self._shown(self.plans.cell(name, position, side), name, shift))
        return found

    def _shown(self, cell: str, name: str, shift: float) -> str:
        kind = self.metrics.type_of(name).kind
        if kind == "flag":
            return f'IF(ISLOGICAL({cell}),IF({cell},"yes","no"),"unknown")'
        if kind == "choice":
            return f'IF(ISTEXT({cell}),{cell},"unknown")'
        less = f"-({shift!r})" if shift else ""
        return f'IF(ISNUMBER({cell}),{self._scaled(cell, name)}{less},"unknown")'

    def _scaled(self, cell: str, name: str) -> str:
        factor, _, text, _ = metric_display(self.metrics.metrics[name])
        return cell if factor == 1.0 else f"{cell}/{self.at.fixed[f'unit {text}']}"

    def mixture(self, one: Mixed, name: str) -> str:
        """The formula of a figure in the row of a mixture; what is no number stays unknown."""
        if one.workings is None or name not in one.workings.rows.names:
            return ""
        cell = one.workings.figure(name)
        shown = self._scaled(cell, name)
        bound = self.at.fixed.get(NO_BOUND)
        if bound is None or not self.metrics.depends(name, NO_BOUND):
            return shown
        return f"IF(ABS({cell})>={bound},NA(),{shown})"


def _by_pair(bridges: Sequence[Bridge]) -> dict[int | None, tuple[list[Bridge], Mixing]]:
    """Bridges that can be divided in cells, by pair; those of one pair have the same drivers."""
    found: dict[int | None, tuple[list[Bridge], Mixing]] = {}
    for bridge in bridges:
        if bridge.mixing is not None:
            found.setdefault(bridge.pair, ([], bridge.mixing))[0].append(bridge)
    return found
