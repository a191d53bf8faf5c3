"""Case sheets: one row a case, one formula a column, live from the catalog sheets to the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.engine import Array
from planner.expr.check import CASE, GROUP, Type
from planner.expr.to_cells import to_cells, word_text
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, Metric
from planner.planning import Plan
from reports.numbers import decimals_for, excel_format
from reports.workbook.address import Addresses
from reports.workbook.catalog_sheets import number_format
from reports.workbook.rows_text import Scalar
from reports.workbook.tables import (
    FIRST,
    Book,
    Table,
    TableColumn,
    quote,
    spacer,
    unknown_rule,
    verdict_rules,
)

CASES = "Cases"
GROUPS = "Group workings"
WORKINGS = "Check workings"
# Drop-downs of a case: the catalog kind, the heading, the attribute of a case.
PICKS = {
    "model": "Model", "gpu": "GPU", "weight_format": "Weights", "kv_format": "KV cache",
}  # fmt: skip


def cell_values(values: Array, kind: Type) -> list[Scalar] | Array:
    """A column as cells hold it: words for choices, booleans for flags, NaN for failures."""
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


class CaseSheets:
    """Builds the case sheets in order; later ones refer to earlier ones through ``addresses``."""

    def __init__(
        self, book: Book, plan: Plan, catalogs: Mapping[str, Table], addresses: Addresses
    ) -> None:
        self.book, self.plan, self.catalogs, self.at = book, plan, catalogs, addresses
        self.metrics = plan.metrics
        self.count = len(plan.cases)

    def lay_out(self) -> None:
        """Fix the place of every column before any formula is written: sheets refer to each other."""
        self._base = self._case_columns()
        self._place(self._base, CASES)
        self.by_sheet: dict[str, list[Metric]] = {}
        for metric in self.metrics.in_order():
            if metric.type.grain == CASE and not metric.variant:
                self.by_sheet.setdefault(self._sheet_of(metric), []).append(metric)
        keys = len(self.keys()) + 1
        for sheet, metrics in self.by_sheet.items():
            before = len(self._base) if sheet == CASES else keys
            for number, metric in enumerate(metrics, before + 1):
                self.at.place(metric.name, sheet, get_column_letter(number))
        number = keys
        names = [*self._fields("group"), None, *(m.name for m in self._group_metrics())]
        for name in names:
            number += 1 if name is None else SLOTS
            if name is not None:
                letters = tuple(get_column_letter(number - SLOTS + k + 1) for k in range(SLOTS))
                self.at.place_slots(name, GROUPS, letters)

    def _sheet_of(self, metric: Metric) -> str:
        if metric.table == "memory":
            return CASES
        if metric.table in ("checks", "summary", "groups"):
            return WORKINGS
        return sheet_name(self.metrics.tables[metric.table].label)

    def _group_metrics(self) -> list[Metric]:
        metrics = self.metrics.in_order()
        return [m for m in metrics if m.type.grain == GROUP and not m.variant]

    # ---- cases ---------------------------------------------------------------------------------

    def _case_columns(self) -> list[TableColumn]:
        """Keys, choices, and facts pulled from the catalogs."""
        return [
            TableColumn("number", "Case", case_numbers(self.count), role="key", number_format="0"),
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

    def cases(self) -> Table:
        """The case table: choices, facts, and the table of memory to the right of them."""
        columns = [*self._base, *(self._metric(m, CASES) for m in self.by_sheet.get(CASES, ()))]
        ws = self.book.sheet(
            CASES, "Cases",
            "What is chosen in each case (blue), and what follows? The + above opens the facts.",
            "calculation",
        )  # fmt: skip
        return self.finish(ws, columns, 3)

    def finish(self, ws: Worksheet, columns: Sequence[TableColumn], freeze: int) -> Table:
        table = self.book.table(ws, columns, self.count, freeze)
        last = get_column_letter(len(columns))
        cells = f"A{FIRST}:{last}{table.last}"
        verdict_rules(ws, cells, f"A{FIRST}")
        unknown_rule(ws, cells, f"A{FIRST}")
        return table

    def _picks(self) -> list[TableColumn]:
        return [
            TableColumn(
                kind, heading, [getattr(c, kind) for c in self.plan.cases], role="input",
                choices=self.catalogs[kind].span("id"),
            )
            for kind, heading in PICKS.items()
        ]  # fmt: skip

    def _inputs(self) -> list[TableColumn]:
        columns = []
        for name, entry in self._fields("case").items():
            values: list[Scalar] = [case.inputs[name] for case in self.plan.cases]
            choices = f'"{",".join(entry.words)}"' if entry.words else ""
            columns.append(
                TableColumn(
                    name, entry.label, values, unit=_unit(entry.unit), role="input",
                    number_format=number_format(values, True), choices=choices,
                    whole=not choices, note=entry.meaning,
                )  # fmt: skip
            )
            if name == "context":
                workloads: list[Scalar] = [c.workload for c in self.plan.cases]
                columns.append(TableColumn("workload", "Workload", workloads, role="key"))
        return columns

    def _key_columns(self) -> list[TableColumn]:
        """The case id as a live formula beside the id as issued: they differ after a change."""
        issued = [_issued(case) for case in self.plan.cases]
        letters = self._letters_of_keys()
        parts = [
            f"{letters['model']}{{r}}", '"/"', f"{letters['gpu']}{{r}}", '"/tp"',
            f"{letters['tp']}{{r}}", '"/"', f"{letters['weight_format']}{{r}}", '"+"',
            f"{letters['kv_format']}{{r}}", '"+"', f"{letters['compute_dtype']}{{r}}", '"/"',
            f"{letters['context']}{{r}}", '"/"', f"{letters['cached_tokens']}{{r}}", '"+"',
            f"{letters['prompt_tokens']}{{r}}", '"+"', f"{letters['output_tokens']}{{r}}", '"/b"',
            f"{letters['batch']}{{r}}",
        ]  # fmt: skip
        live = "&".join(parts)
        here = len(letters) + 2
        pair = f"{get_column_letter(here)}{{r}}<>{get_column_letter(here + 1)}{{r}}"
        same = np.zeros(self.count, dtype=bool)
        return [
            TableColumn("key", "Key", issued, role="note", formula=live, outline=1, width=14),
            TableColumn("issued", "Key as issued", issued, role="note", outline=1, width=14),
            TableColumn("changed", "Changed since issue", same, role="note", formula=pair),
        ]

    def _letters_of_keys(self) -> dict[str, str]:
        columns = [TableColumn("number", "", ()), *self._picks(), *self._inputs()]
        return {c.key: get_column_letter(n) for n, c in enumerate(columns, 1)}

    def _row_numbers(self) -> list[TableColumn]:
        letters = self._letters_of_keys()
        columns = []
        for kind, heading in PICKS.items():
            ids = self.catalogs[kind].span("id")
            rows = [float(self._catalog_row(kind, getattr(c, kind))) for c in self.plan.cases]
            formula = f"MATCH({letters[kind]}{{r}},{ids},0)"
            columns.append(
                TableColumn(
                    f"{kind}_row", f"{heading}: row", np.asarray(rows), role="note",
                    formula=formula, number_format="0", outline=1,
                )  # fmt: skip
            )
        return columns

    def _catalog_row(self, kind: str, word: str) -> int:
        return self.catalogs[kind].order.index(word) + 1

    def _fields(self, entity: str) -> dict[str, FieldEntry]:
        return {n: f for n, f in self.metrics.fields.items() if f.entity == entity}

    def _pulled(self, entity: str) -> list[TableColumn]:
        """Facts looked up by the row number of the drop-down; unknown ones become ``#N/A``."""
        columns = []
        row = f"{{{entity}_row}}"
        for name, entry in self._fields(entity).items():
            found = f"INDEX({self.catalogs[entity].span(name)},{row})"
            numeric = entry.kind in ("number", "count")
            formula = f"IF(ISNUMBER({found}),{found},NA())" if numeric else found
            if entry.kind == "flag":  # INDEX alone loses the type in some readers
                formula = f"{found}=TRUE"
            kind = self.metrics.type_of(name)
            values = self.plan.column(name)
            columns.append(
                TableColumn(
                    name, entry.label, cell_values(values, kind), unit=_unit(entry.unit),
                    role="catalog", formula=formula, number_format=metric_format(values, kind),
                    note=entry.meaning, outline=1,
                )  # fmt: skip
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
                    text = text.replace(
                        f"{{{kind}_row}}", f"{self.at.columns[f'{kind}_row'][1]}{{r}}"
                    )
                columns[index] = _with_formula(column, text)

    # ---- metrics -------------------------------------------------------------------------------

    def _metric(self, metric: Metric, sheet: str) -> TableColumn:
        formula = to_cells(metric.tree, self.at.ref(sheet), self._spans(sheet))
        values = self.plan.column(metric.name)
        role = "threshold" if metric.table == "thresholds" else "derived"
        return TableColumn(
            metric.name, metric.label, cell_values(values, metric.type),
            unit=_unit(metric.entry.unit if not metric.entry.choices else ""),
            role="note" if metric.part_of else role, formula=formula,
            number_format=metric_format(values, metric.type), note=metric.entry.why,
            outline=1 if metric.part_of else 0,
        )  # type: ignore[arg-type]  # fmt: skip

    def _spans(self, sheet: str):  # type: ignore[no-untyped-def]
        """Six slots of the row, or the cells of all variants of the case."""
        slots = self.at.span(sheet)

        def find(name: str) -> str:
            metric = self.metrics.metrics.get(name)
            if metric is not None and metric.variant:
                return ",".join(self._variant_cells(metric))
            return slots(name)

        return find

    def _variant_cells(self, metric: Metric) -> list[str]:
        """A case's cells on the sheet of variants, which has a block of rows for each variant."""
        sheet, letter = self.at.columns[metric.name]
        times = len(self.plan.columns.variant_values[metric.variant])
        offsets = [k * self.count for k in range(times)]
        rows = ["{r}" if o == 0 else f"{{r+{o}}}" for o in offsets]
        return [f"{quote(sheet)}!{letter}{row}" for row in rows]

    def metric_sheet(self, sheet: str, title: str, answers: str) -> Table:
        """A sheet with case metrics, rows aligned with Cases."""
        metrics = self.by_sheet[sheet]
        columns = [*self.keys(), spacer(), *(self._metric(m, sheet) for m in metrics)]
        ws = self.book.sheet(sheet, title, answers, "calculation")
        return self.finish(ws, columns, 4)

    def keys(self) -> list[TableColumn]:
        """The case as the other sheets repeat it, linked to Cases."""
        columns = [
            TableColumn(
                "number", "Case", case_numbers(self.count), role="key", number_format="0",
                formula=f"{CASES}!A{{r}}",
            )
        ]  # fmt: skip
        for kind, heading in list(PICKS.items())[:2]:
            letter = self.at.columns[kind][1]
            columns.append(
                TableColumn(
                    kind, heading, [getattr(c, kind) for c in self.plan.cases], role="linked",
                    formula=f"{CASES}!{letter}{{r}}",
                )  # fmt: skip
            )
        letter = self.at.columns["workload"][1]
        columns.append(
            TableColumn(
                "workload", "Workload", [c.workload for c in self.plan.cases], role="linked",
                formula=f"{CASES}!{letter}{{r}}",
            )  # fmt: skip
        )
        return columns

    # ---- layer groups --------------------------------------------------------------------------

    def groups(self) -> Table:
        """Slot facts and slot metrics: six neighbouring columns for each."""
        columns = [*self.keys(), spacer()]
        for name, entry in self._fields("group").items():
            columns += self._slot_facts(name, entry)
        columns.append(spacer())
        for metric in self._group_metrics():
            columns += self._slot_metrics(metric)
        entry = self.metrics.tables["groups"]
        ws = self.book.sheet(
            GROUPS, "Group workings",
            f"{entry.answers} Six columns a figure, one a layer-group slot of the model.",
            "calculation",
        )  # fmt: skip
        return self.finish(ws, columns, 4)

    def _slot_facts(self, name: str, entry: FieldEntry) -> list[TableColumn]:
        source = self.catalogs["groups"].span(name)
        first = f"{CASES}!{self.at.columns['model_row'][1]}{{r}}"
        starts = self.catalogs["model"].span("first_group")
        values = self.plan.column(name)
        columns = []
        for slot in range(SLOTS):
            plus = f"+{slot}" if slot else ""
            columns.append(
                TableColumn(
                    f"{name}_{slot + 1}", f"{entry.label} [{slot + 1}]", values[slot].astype(float),
                    unit=_unit(entry.unit), role="catalog",
                    formula=f"INDEX({source},INDEX({starts},{first}){plus})",
                    number_format=excel_format("count"), outline=1 if slot else 0,
                )  # fmt: skip
            )
        return columns

    def _slot_metrics(self, metric: Metric) -> list[TableColumn]:
        values = np.broadcast_to(self.plan.column(metric.name), (SLOTS, self.count))
        shown = metric_format(values.astype(float), metric.type)
        return [
            TableColumn(
                f"{metric.name}_{slot + 1}", f"{metric.label} [{slot + 1}]",
                cell_values(values[slot], metric.type), unit=_unit(metric.entry.unit),
                role="note" if metric.part_of else "derived",
                formula=to_cells(metric.tree, self.at.ref(GROUPS, slot), self.at.span(GROUPS)),
                number_format=shown, outline=1 if slot else 0,
            )
            for slot in range(SLOTS)
        ]  # fmt: skip


def _with_formula(column: TableColumn, formula: str) -> TableColumn:
    from dataclasses import replace

    return replace(column, formula=formula)


def _issued(case: object) -> str:
    inputs = case.inputs  # type: ignore[attr-defined]
    shape = "+".join(f"{inputs[f'{p}_tokens']:.0f}" for p in ("cached", "prompt", "output"))
    head, _, batch = case.id.rpartition("/b")  # type: ignore[attr-defined]
    return f"{head.rpartition('/')[0]}/{shape}/b{batch}"


def _unit(text: str) -> str:
    return "" if text == "1" else text


def case_numbers(count: int) -> Array:
    """1, 2, 3, ... as cells hold them."""
    return np.arange(1, count + 1, dtype=np.float64)


def sheet_name(label: str) -> str:
    """A legal sheet name of at most 31 characters."""
    return "".join(c for c in label if c not in "[]:*?/\\'")[:31].strip() or "Table"


__all__ = ["CASES", "GROUPS", "WORKINGS", "CaseSheets", "case_numbers", "cell_values", "sheet_name", "word_text"]
