"""The sheet of inputs: both plans' values side by side, which every live figure follows.

What differs stands first, by driver. A value that both plans share is typed once: the cell of the
new plan repeats that of the old one, so that no mixture has to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openpyxl.worksheet.worksheet import Worksheet

from planner.diff_drivers import Driver
from planner.diff_inputs import Stand, stand
from planner.diff_why import Sides
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, MetricSet
from planner.planning import Value
from reports.view_diff_evidence import basis, both
from reports.view_units import clean
from reports.words import called, say
from reports.workbook import styles
from reports.workbook.address import Spot
from reports.workbook.case_columns import base_unit, unit_text
from reports.workbook.inputs_sheet import entry_rule
from reports.workbook.rows_text import Scalar
from reports.workbook.tables import FIRST, Book, Table, TableColumn, quote
from reports.workbook.word_rules import large_rule, rule

OLD, NEW = "E", "F"
_CHANGED = "I"

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """An input of a pair of catalog entries, of a pair of cases, or of both plans as a whole."""

    label: str
    owner: str
    unit: str
    entry: FieldEntry
    driver: Driver | None
    old: Stand
    new: Stand


class DiffInputs:
    """Places the inputs of some pairs; each is typed once, whatever number of pairs shares it."""

    def __init__(
        self, sides: Sides, metrics: MetricSet, drivers: Sequence[Driver], labels: dict[int, str]
    ) -> None:
        """``labels``: what a pair is called."""
        self.sides, self.metrics, self.labels = sides, metrics, labels
        self.drivers = list(drivers)
        self.driver_of = {name: d for d in drivers for name in d.fields}
        self.rows: dict[Key, _Row] = {}
        self.numbers: dict[Key, int] = {}
        self.sheet = ""

    def collect(self, positions: Sequence[int], names: Sequence[str]) -> None:
        """Take in the inputs ``names`` of the pairs; fixes the row of each."""
        for position in positions:
            for name in names:
                for slot in self._slots(name, position):
                    key = self._key(name, position, slot)
                    if key not in self.rows:
                        self.rows[key] = self._row(name, position, slot)
        order = sorted(self.rows, key=lambda key: self._rank(self.rows[key]))
        self.numbers = {key: number for number, key in enumerate(order, FIRST)}

    def ref(self, position: int, name: str, spot: Spot, side: int) -> str:
        """The cell of one plan's value; empty for a layer-group slot that neither model has."""
        number = self.numbers.get(self._key(name, position, max(spot.slot, 0)))
        return f"{quote(self.sheet)}!${(OLD, NEW)[side]}${number}" if number else ""

    def _slots(self, name: str, position: int) -> range:
        """The layer groups that either model has; other inputs have one value."""
        if self.metrics.fields[name].entity != "group":
            return range(1)
        i, j = self.sides.pairs[position]
        models = (self.sides.old_now, i), (self.sides.new_now, j)
        return range(
            min(SLOTS, max(len(p.inputs.groups[p.cases[case].model]) for p, case in models))
        )

    def _key(self, name: str, position: int, slot: int) -> Key:
        """What an input belongs to: pairs that share it have one key."""
        entity = self.metrics.fields[name].entity
        if entity in ("plan", "engine"):
            return (name,)
        if entity == "case":
            return (name, str(position))
        kind = "model" if entity == "group" else entity
        i, j = self.sides.pairs[position]
        return (
            name, str(getattr(self.sides.old_now.cases[i], kind)),
            str(getattr(self.sides.new_now.cases[j], kind)), str(slot),
        )  # fmt: skip

    def _row(self, name: str, position: int, slot: int) -> _Row:
        i, j = self.sides.pairs[position]
        old, new = (
            stand(self.sides.old_now, name, i, slot),
            stand(self.sides.new_now, name, j, slot),
        )
        entry = self.metrics.fields[name]
        label = called(entry.label) + (f" [{slot + 1}]" if entry.entity == "group" else "")
        owner = both(old.owner, new.owner)
        if entry.entity == "case":
            owner = self.labels[position]
        elif entry.entity == "plan":
            owner = say("the whole plan")
        unit = unit_text(base_unit(self.metrics, name))
        return _Row(label, owner, unit, entry, self.driver_of.get(name), old, new)

    def _rank(self, row: _Row) -> int:
        return self.drivers.index(row.driver) if row.driver else len(self.drivers)

    # ---- sheet ---------------------------------------------------------------------------------

    def write(self, book: Book, name: str) -> Table:
        """Write the sheet; rows that differ have two typed cells, the others one."""
        self.sheet = name
        ws = book.sheet(
            name, "Inputs of both plans",
            "What do the live figures rest on? Change a blue cell, and figures and bridges follow.",
            "inputs",
        )  # fmt: skip
        rows = [self.rows[key] for key in self.numbers]
        apart = sum(row.driver is not None for row in rows)
        columns = self._columns(rows)
        parts = [_part(columns, 0, apart), _shared(_part(columns, apart, len(rows)))]
        placed = [(start, part) for start, part in ((0, parts[0]), (apart, parts[1]))
                  if len(part[0].values)]  # fmt: skip
        table = book.table(ws, placed[0][1], len(placed[0][1][0].values), 1)
        for start, part in placed[1:]:
            book.add_rows(name, part, FIRST + start, len(part[0].values))
        table.count = len(rows)
        ws.auto_filter.ref = f"A7:K{table.last}"
        _looks(ws, FIRST + apart, table.last)
        for number, row in enumerate(rows, FIRST):
            _validate(ws, row, number)
        return table

    @property
    def changed(self) -> str:
        """The cells that say whether an input is not what was compared."""
        last = FIRST + len(self.rows) - 1
        return f"{quote(self.sheet)}!${_CHANGED}${FIRST}:${_CHANGED}${last}"

    @staticmethod
    def _columns(rows: Sequence[_Row]) -> list[TableColumn]:
        old, new = [_cell(r.old.value) for r in rows], [_cell(r.new.value) for r in rows]
        drivers = [called(clean(r.driver.label)) if r.driver else say("the same in both")
                   for r in rows]  # fmt: skip
        changed = f"OR({OLD}{{r}}<>G{{r}},{NEW}{{r}}<>H{{r}})"
        return [
            TableColumn("label", "Input", [clean(r.label) for r in rows], role="key", width=38),
            TableColumn("owner", "Of", [r.owner for r in rows], role="note", width=30),
            TableColumn("unit", "Unit", [r.unit for r in rows], role="note"),
            TableColumn("driver", "Driver", drivers, role="note", width=20),
            TableColumn("old", "Old", old, role="input", width=20),
            TableColumn("new", "New", new, role="input", width=20),
            TableColumn("old then", "Old as compared", old, role="note"),
            TableColumn("new then", "New as compared", new, role="note"),
            TableColumn("changed", "Changed since", [False] * len(rows), role="note",
                        formula=changed),
            TableColumn("source", "Source", [basis(r.old, r.new) for r in rows], role="note",
                        width=60),
            TableColumn("meaning", "What it means", [called(r.entry.meaning) for r in rows],
                        role="note", width=60),
        ]  # fmt: skip


def _cell(value: Value) -> Scalar:
    """A value as its cell holds it."""
    return "unknown" if value is None else value


def _part(columns: Sequence[TableColumn], start: int, stop: int) -> list[TableColumn]:
    return [replace(c, values=c.values[start:stop]) for c in columns]


def _shared(columns: Sequence[TableColumn]) -> list[TableColumn]:
    """Rows of what both plans share: the new value is the old one."""
    return [
        replace(c, formula=f"{OLD}{{r}}", role="linked") if c.key == "new" else c for c in columns
    ]


def _looks(ws: Worksheet, shared: int, last: int) -> None:
    """Large numbers in groups; a shared value looks like what it is, no cell to change."""
    muted = {"font": styles.font("muted"), "fill": styles.rule_fill("page")}
    for cells in (f"{OLD}{FIRST}:{OLD}{last}", f"G{FIRST}:H{last}"):
        large_rule(ws, cells)
    if shared > FIRST:
        large_rule(ws, f"{NEW}{FIRST}:{NEW}{shared - 1}")
    if shared <= last:
        cells = f"{NEW}{shared}:{NEW}{last}"
        large_rule(ws, cells, **muted)
        ws.conditional_formatting.add(cells, rule(formula=["TRUE"], **muted))


def _validate(ws: Worksheet, row: _Row, number: int) -> None:
    rule = entry_rule(row.entry)
    if rule is None:
        return
    for letter in (OLD, NEW) if row.driver else (OLD,):
        rule.add(f"{letter}{number}")
    ws.add_data_validation(rule)
