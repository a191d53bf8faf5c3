"""Case sheets: a row a case, a formula a column, live from the catalog sheets to the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.expr.check import CASE, GROUP, STAGE, STAGE_GROUP
from planner.expr.to_cells import Ref, to_cells
from planner.metric_files import FieldEntry
from planner.metrics import SLOTS, Metric
from planner.planning import Plan
from reports.numbers import excel_format
from reports.words import say, term
from reports.workbook.address import Addresses, Spot, at_spot, block, spots
from reports.workbook.case_columns import (
    PICKS,
    CaseColumns,
    case_numbers,
    cell_values,
    fields_of,
    figure_columns,
    metric_format,
    unit_text,
)
from reports.workbook.catalog_sheets import PLACES_WIDTH
from reports.workbook.inputs_sheet import STAGE_ROOM
from reports.workbook.styles import Role
from reports.workbook.tables import FIRST, Book, Table, TableColumn, quote, spacer
from reports.workbook.word_rules import unknown_rule, verdict_rules, word_rules

CASES = "Cases"
GROUPS = term("Group workings")
STAGES = term("Stage workings")
WORKINGS = "Check workings"


class CaseSheets:
    """Builds the case sheets in order; later ones refer to earlier ones through ``addresses``."""

    def __init__(
        self, book: Book, plan: Plan, catalogs: Mapping[str, Table], addresses: Addresses
    ) -> None:
        self.book, self.plan, self.catalogs, self.at = book, plan, catalogs, addresses
        self.metrics = plan.metrics
        self.count = len(plan.cases)

    def lay_out(self) -> None:
        """Fix the place of every column before any formula: sheets refer to each other."""
        self._base = CaseColumns(self.plan, self.catalogs, self.at).build(CASES)
        self.by_sheet: dict[str, list[Metric]] = {}
        for metric in self.metrics.in_order():
            if metric.type.grain == CASE and not metric.variant:
                self.by_sheet.setdefault(self._sheet_of(metric), []).append(metric)
        keys = len(self.keys()) + 1
        for sheet, metrics in self.by_sheet.items():
            before = len(self._base) if sheet == CASES else keys
            for number, metric in enumerate(metrics, before + 1):
                self.at.place(metric.name, sheet, get_column_letter(number))
        self._place_blocks(GROUPS, [*fields_of(self.plan, "group"), "", *self._names(GROUP)], keys)
        stages = [*fields_of(self.plan, "stage"), "", *self._names(STAGE, STAGE_GROUP)]
        self._place_blocks(STAGES, stages, keys)

    def _place_blocks(self, sheet: str, names: Sequence[str], before: int) -> None:
        """Neighbouring columns for each figure; an empty name leaves a spacer."""
        number = before + 1
        for name in names:
            if not name:
                number += 1
                continue
            found = block(self.metrics.type_of(name).grain, self.at.stages, number)
            self.at.blocks[name] = (sheet, found)
            number += len(found)

    def _sheet_of(self, metric: Metric) -> str:
        if metric.table == "memory":
            return CASES
        if metric.table in ("checks", "summary", "groups"):
            return WORKINGS
        return self.at.sheets.name(f"table {metric.table}", self.metrics.tables[metric.table].label)

    def _finer(self, *grains: int) -> list[Metric]:
        """Metrics of finer grains than a case."""
        metrics = self.metrics.in_order()
        return [m for m in metrics if m.type.grain in grains and not m.variant]

    def _names(self, *grains: int) -> list[str]:
        return [m.name for m in self._finer(*grains)]

    # ---- cases ---------------------------------------------------------------------------------

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
        """Put the table on its sheet, with the colours of verdicts and unknown figures."""
        table = self.book.table(ws, columns, self.count, freeze)
        last = get_column_letter(len(columns))
        cells = f"A{FIRST}:{last}{table.last}"
        verdict_rules(ws, cells, f"A{FIRST}")
        unknown_rule(ws, cells, f"A{FIRST}")
        for column in columns:
            metric = self.metrics.metrics.get(column.key.partition("[")[0].strip())
            if metric is not None and metric.type.words:
                letter = table.letters[column.key]
                word_rules(ws, f"{letter}{FIRST}:{letter}{table.last}", metric.type.words)
        return table

    # ---- metrics -------------------------------------------------------------------------------

    def _metric(self, metric: Metric, sheet: str) -> TableColumn:
        formula = to_cells(metric.tree, self.at.ref(sheet), self._spans(sheet))
        values = self.plan.column(metric.name)
        role: Role = "threshold" if metric.table == "thresholds" else "derived"
        return TableColumn(
            metric.name, metric.label, cell_values(values, metric.type),
            unit=unit_text(metric.entry.unit if not metric.entry.choices else ""),
            role="note" if metric.part_of else role, formula=formula,
            number_format=metric_format(values, metric.type), note=metric.entry.why,
            outline=1 if metric.part_of else 0,
        )  # fmt: skip

    def _spans(self, sheet: str) -> Ref:
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
        sheet, letter = self.at.blocks[metric.name][0], self.at.letter(metric.name)
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
                "#number", "Case", case_numbers(self.count), role="key", number_format="0",
                formula=f"{CASES}!A{{r}}",
            )
        ]  # fmt: skip
        for kind, heading in list(PICKS.items())[:2]:
            letter = self.at.letter(f"#{kind}")
            columns.append(
                TableColumn(
                    f"#{kind}",
                    heading,
                    [getattr(c, kind) for c in self.plan.cases],
                    role="linked",
                    formula=f"{CASES}!{letter}{{r}}",
                )
            )
        letter = self.at.letter("#workload")
        columns.append(
            TableColumn(
                "#workload",
                "Workload",
                [c.workload for c in self.plan.cases],
                role="linked",
                formula=f"{CASES}!{letter}{{r}}",
            )
        )
        return columns

    # ---- layer groups and stages ---------------------------------------------------------------

    def groups(self) -> Table:
        """Slot facts and slot metrics: six neighbouring columns for each."""
        columns = [*self.keys(), spacer()]
        for name, entry in fields_of(self.plan, "group").items():
            columns += self._slot_facts(name, entry)
        columns.append(spacer())
        for metric in self._finer(GROUP):
            columns += self._block(metric, GROUPS)
        answers = self.metrics.tables["groups"].answers
        ws = self.book.sheet(
            GROUPS, GROUPS,
            say(f"{answers} Six columns a figure, one a layer-group slot of the model."),
            "calculation",
        )  # fmt: skip
        return self.finish(ws, columns, 4)

    def stages(self) -> Table:
        """Stage metrics: a column for each pipeline stage, six where layer groups differ too."""
        columns = [*self.keys(), spacer()]
        for name, entry in fields_of(self.plan, "stage").items():
            columns += [
                TableColumn(
                    f"{name}{spot.label}", f"{entry.label}{spot.label}",
                    at_spot(self.plan.columns[name], spot, self.count).astype(float),
                    unit=unit_text(entry.unit), role="key", number_format="0",
                    formula=self._stage_number(name, spot),
                )
                for spot in spots(STAGE, self.at.stages)
            ]  # fmt: skip
        columns.append(spacer())
        for metric in self._finer(STAGE, STAGE_GROUP):
            columns += self._block(metric, STAGES)
        ws = self.book.sheet(
            STAGES, STAGES,
            "How are layers, weights and caches divided over the pipeline stages of each case?",
            "calculation",
        )  # fmt: skip
        return self.finish(ws, columns, 4)

    def _stage_number(self, name: str, spot: Spot) -> str:
        """Counts on from the stage before; unknown where a case has more stages than columns."""
        if spot.stage > 0:
            before = self.at.blocks[name][1][Spot(stage=spot.stage - 1)]
            return f"{before}{{r}}+1"
        stages = f"{CASES}!{self.at.letter('pp')}{{r}}"
        return f"IF({stages}<={self.at.fixed[STAGE_ROOM]},0,NA())"

    def _block(self, metric: Metric, sheet: str) -> list[TableColumn]:
        """The neighbouring columns of a figure that is finer than a case."""
        values = self.plan.columns[metric.name]
        return figure_columns(
            metric, values, values, self.count, self.at.stages,
            lambda spot: self.at.ref(sheet, spot), lambda spot: self.at.span(sheet, spot),
        )  # fmt: skip

    def _slot_facts(self, name: str, entry: FieldEntry) -> list[TableColumn]:
        source = self.catalogs["groups"].span(name)
        first = f"{CASES}!{self.at.letter('#model_row')}{{r}}"
        starts = self.catalogs["model"].span("first_group")
        values = self.plan.column(name)
        columns = []
        for slot in range(SLOTS):
            plus = f"+{slot}" if slot else ""
            found = f"INDEX({source},INDEX({starts},{first}){plus})"
            places = entry.kind == "places"
            columns.append(
                TableColumn(
                    f"{name}_{slot + 1}",
                    f"{entry.label} [{slot + 1}]",
                    cell_values(values[slot], self.metrics.type_of(name)),
                    unit=unit_text(entry.unit),
                    role="catalog",
                    formula=found,
                    number_format="General" if places else excel_format("count"),
                    outline=1 if slot else 0,
                    width=PLACES_WIDTH if places else 0.0,
                )
            )
        return columns
