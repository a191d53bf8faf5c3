"""The columns of a case: what is chosen in it, and the facts that its drop-downs pull in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from openpyxl.utils import get_column_letter

from planner.engine import Array
from planner.expr.check import Type
from planner.expr.to_cells import Ref, to_cells
from planner.inputs import Case
from planner.metric_files import FieldEntry
from planner.metrics import Metric, MetricSet
from planner.planning import Plan
from planner.units import parse_unit
from reports.numbers import decimals_for, excel_format
from reports.workbook.address import Addresses, Spot, at_spot, spots
from reports.workbook.catalog_sheets import PLACES_WIDTH, number_format
from reports.workbook.rows_text import Scalar
from reports.workbook.tables import Table, TableColumn, spacer

# Drop-downs of a case: the catalog kind, the heading, the attribute of a case.
PICKS = {
    "model": "Model", "gpu": "GPU", "weight_format": "Weights", "kv_format": "KV cache",
}  # fmt: skip


def cell_values(values: Array, kind: Type) -> list[Scalar] | Array:
    """A column as cells hold it: words for choices, booleans for flags, NaN for failures."""
    if kind.kind == "places":
        return [None if v is None else str(v) for v in values.tolist()]
    if kind.kind == "choice":
        return [None if np.isnan(v) else kind.words[int(v)] for v in values.astype(float)]
    if kind.kind == "flag" and values.dtype != np.bool_:
        return [None if np.isnan(v) else bool(v) for v in values]
    return np.ascontiguousarray(values) if values.dtype == np.bool_ else values.astype(np.float64)


def metric_format(values: Array, kind: Type) -> str:
    """A number format for a derived column."""
    if kind.kind != "number":
        return "General"
    known = values[~np.isnan(values)]
    if kind.whole or bool(np.all(known == np.floor(known))):
        return excel_format("count")
    return figure_format(known.tolist()[:2000])


def figure_format(values: Sequence[float]) -> str:
    """A format for fractions: one decimal at least below 10,000, none above a million."""
    largest = max((abs(v) for v in values), default=0.0)
    least = 1 if 0 < largest < 1e4 else 0
    decimals = 0 if largest >= 1e6 else max(least, decimals_for(values))
    return excel_format("figure", decimals)


def figure_columns(
    metric: Metric,
    values: Array,
    whole: Array,
    count: int,
    stages: int,
    ref: Callable[[Spot], Ref],
    span: Callable[[Spot], Ref],
) -> list[TableColumn]:
    """The neighbouring columns of one figure, each with the compiled formula of its spot.

    Args:
        metric: the figure; its tree is what the cells compute.
        values: of these rows, as the engine holds them.
        whole: of all rows of the table, which share one number format.
        count: rows of this block.
        stages: pipeline stages that the table has columns for.
        ref: the cell of a name, by spot.
        span: the cells of a reduction, by spot.
    """
    shown = metric_format(np.asarray(whole, dtype=float).ravel(), metric.type)
    unit = "" if metric.entry.choices else unit_text(metric.entry.unit)
    return [
        TableColumn(
            f"{metric.name}{spot.label}", f"{metric.label}{spot.label}",
            cell_values(at_spot(values, spot, count), metric.type), unit=unit,
            role="note" if metric.part_of else "derived",
            formula=to_cells(metric.tree, ref(spot), span(spot)),
            number_format=shown, outline=1 if number else 0,
        )
        for number, spot in enumerate(spots(metric.type.grain, stages))
    ]  # fmt: skip


# Parallel sizes that a case id names only above 1, in its order.
OTHER_SIZES = ("pp", "dp", "ep", "dcp")


class CaseColumns:
    """Builds the columns of the case table in front of its metrics."""

    def __init__(self, plan: Plan, catalogs: Mapping[str, Table], addresses: Addresses) -> None:
        self.plan, self.catalogs, self.at = plan, catalogs, addresses
        self.count = len(plan.cases)

    def build(self, sheet: str) -> list[TableColumn]:
        """Keys, choices, and facts pulled from the catalogs."""
        columns = [
            TableColumn("#number", "Case", case_numbers(self.count), role="key", number_format="0"),
            *self._picks(),
            *self._inputs(),
            spacer(),
            *self._key_columns(),
            spacer(),
            *self._row_numbers(),
            *self._pulled("model"),
            spacer(),
            *self._pulled("gpu"),
            spacer(),
            *self._pulled("weight_format"),
            *self._pulled("kv_format"),
            spacer(),
        ]
        self._place(columns, sheet)
        return columns

    def _picks(self) -> list[TableColumn]:
        return [
            TableColumn(
                f"#{kind}", heading, [getattr(c, kind) for c in self.plan.cases], role="input",
                choices=self.catalogs[kind].span("id"),
            )
            for kind, heading in PICKS.items()
        ]  # fmt: skip

    def _inputs(self) -> list[TableColumn]:
        columns = []
        for name, entry in fields_of(self.plan, "case").items():
            values: list[Scalar] = [case.inputs[name] for case in self.plan.cases]
            choices = f'"{",".join(entry.words)}"' if entry.words else ""
            columns.append(
                TableColumn(
                    name,
                    entry.label,
                    values,
                    unit=unit_text(entry.unit),
                    role="input",
                    number_format=number_format(values, True),
                    choices=choices,
                    bounds=None if choices else self._bounds(name),
                    note=entry.meaning,
                )
            )
            if name == "context":
                workloads: list[Scalar] = [c.workload for c in self.plan.cases]
                columns.append(TableColumn("#workload", "Workload", workloads, role="key"))
        return columns

    def _bounds(self, name: str) -> tuple[int, int]:
        """What may be typed: a book has workings for the pipeline stages of its plan, no more."""
        return int(name != "cached_tokens"), self.at.stages if name == "pp" else 10**14 - 1

    def _key_columns(self) -> list[TableColumn]:
        """The case id as a live formula beside the id as issued: they differ after a change."""
        issued = [_issued(case) for case in self.plan.cases]
        letters = self._letters_of_keys()
        parts = [
            f"{letters['#model']}{{r}}", '"/"', f"{letters['#gpu']}{{r}}", '"/tp"',
            f"{letters['tp']}{{r}}",
            *(f'IF({letters[n]}{{r}}>1,"{n}"&{letters[n]}{{r}},"")' for n in OTHER_SIZES),
            '"/"', f"{letters['#weight_format']}{{r}}", '"+"',
            f"{letters['#kv_format']}{{r}}", '"+"', f"{letters['compute_dtype']}{{r}}", '"/"',
            f"{letters['context']}{{r}}", '"/"', f"{letters['cached_tokens']}{{r}}", '"+"',
            f"{letters['prompt_tokens']}{{r}}", '"+"', f"{letters['output_tokens']}{{r}}", '"/b"',
            f"{letters['batch']}{{r}}",
        ]  # fmt: skip
        live = "&".join(parts)
        here = len(letters) + 2
        pair = f"{get_column_letter(here)}{{r}}<>{get_column_letter(here + 1)}{{r}}"
        same = np.zeros(self.count, dtype=bool)
        return [
            TableColumn("#key", "Key", issued, role="note", formula=live, outline=1, width=14),
            TableColumn("#issued", "Key as issued", issued, role="note", outline=1, width=14),
            TableColumn("#changed", "Changed since issue", same, role="note", formula=pair),
        ]

    def _letters_of_keys(self) -> dict[str, str]:
        columns = [TableColumn("#number", "", ()), *self._picks(), *self._inputs()]
        return {c.key: get_column_letter(n) for n, c in enumerate(columns, 1)}

    def _row_numbers(self) -> list[TableColumn]:
        letters = self._letters_of_keys()
        columns = []
        for kind, heading in PICKS.items():
            ids = self.catalogs[kind].span("id")
            rows = [float(self._catalog_row(kind, getattr(c, kind))) for c in self.plan.cases]
            formula = f"MATCH({letters[f'#{kind}']}{{r}},{ids},0)"
            columns.append(
                TableColumn(
                    f"#{kind}_row",
                    f"{heading}: row",
                    np.asarray(rows),
                    role="note",
                    formula=formula,
                    number_format="0",
                    outline=1,
                )
            )
        return columns

    def _catalog_row(self, kind: str, word: str) -> int:
        return self.catalogs[kind].order.index(word) + 1

    def _pulled(self, entity: str) -> list[TableColumn]:
        """Facts looked up by the row number of the drop-down; unknown ones become ``#N/A``."""
        columns = []
        row = f"{{{entity}_row}}"
        for name, entry in fields_of(self.plan, entity).items():
            found = f"INDEX({self.catalogs[entity].span(name)},{row})"
            numeric = entry.kind in ("number", "count")
            formula = f"IF(ISNUMBER({found}),{found},NA())" if numeric else found
            if entry.kind == "flag":  # INDEX alone loses the type in some readers
                formula = f"{found}=TRUE"
            kind = self.plan.metrics.type_of(name)
            values = self.plan.column(name)
            columns.append(
                TableColumn(
                    name,
                    entry.label,
                    cell_values(values, kind),
                    unit=unit_text(entry.unit),
                    role="catalog",
                    formula=formula,
                    number_format=metric_format(values, kind),
                    note=entry.meaning,
                    outline=1,
                    width=PLACES_WIDTH if entry.kind == "places" else 0.0,
                )
            )
        return columns

    def _place(self, columns: list[TableColumn], sheet: str) -> None:
        """Fix the letters, and put the row-number cells into the look-ups."""
        for number, column in enumerate(columns, 1):
            if not column.spacer:
                self.at.place(column.key, sheet, get_column_letter(number))
        for index, column in enumerate(columns):
            if column.formula and "_row}" in column.formula:
                text = column.formula
                for kind in PICKS:
                    text = text.replace(f"{{{kind}_row}}", f"{self.at.letter(f'#{kind}_row')}{{r}}")
                columns[index] = replace(column, formula=text)


def fields_of(plan: Plan, entity: str) -> dict[str, FieldEntry]:
    """The declared inputs of one entity."""
    return {n: f for n, f in plan.metrics.fields.items() if f.entity == entity}


def _issued(case: Case) -> str:
    inputs = case.inputs
    shape = "+".join(f"{inputs[f'{p}_tokens']:.0f}" for p in ("cached", "prompt", "output"))
    head, _, batch = case.id.rpartition("/b")
    return f"{head.rpartition('/')[0]}/{shape}/b{batch}"


def base_unit(metrics: MetricSet, name: str) -> str:
    """The unit of what the cell of an input holds; a user may declare it in another one."""
    unit = metrics.fields[name].unit
    return unit if parse_unit(unit).factor == 1 else metrics.unit_of(name)


def unit_text(text: str) -> str:
    """A unit in a heading; a pure number has none."""
    return "" if text == "1" else text


def case_numbers(count: int) -> Array:
    """1, 2, 3, ... as cells hold them."""
    return np.arange(1, count + 1, dtype=np.float64)
