"""The workbook of a plan: every derived cell a live formula with its value beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.catalog import Catalog
from planner.cuts import cut_long
from planner.engine import Columns
from planner.inputs import Source
from planner.metrics import MetricSet
from planner.offers import offers
from planner.planning import Plan
from planner.saved import document, dumps
from reports.words import term
from reports.words_plan import localised
from reports.workbook.actual_sheet import ACTUAL, actual_sheet
from reports.workbook.address import Addresses, SheetNames
from reports.workbook.back_sheets import (
    CHECKS,
    changes_sheet,
    checks_sheet,
    glossary_sheet,
    place_plan_metrics,
    sources_sheet,
)
from reports.workbook.book_charts import ladder_chart
from reports.workbook.case_sheets import CASES, GROUPS, STAGES, WORKINGS, CaseSheets
from reports.workbook.catalog_sheets import SHEETS, SourceList, catalog_sheet, groups_sheet
from reports.workbook.front_sheets import COVER, RESULTS, cover_sheet, results_sheet
from reports.workbook.inputs_sheet import CONSTANTS, INPUTS, constants_sheet, inputs_sheet
from reports.workbook.rows_text import decoded
from reports.workbook.settings import Settings
from reports.workbook.summary_sheet import SUMMARY, WORKINGS_ROW, summary_sheet
from reports.workbook.tables import Book, Table
from reports.workbook.variant_sheets import VariantSheets, display_units, variant_names

FIXED = (
    COVER, SUMMARY, RESULTS, ACTUAL, INPUTS, *(spec.name for spec in SHEETS), "Layer groups", CASES,
    GROUPS,
    STAGES, WORKINGS, CHECKS, "Sources", "Changes", "Glossary", CONSTANTS,
)  # fmt: skip
READING_ORDER = (
    COVER, SUMMARY, RESULTS, ACTUAL, "Answers", INPUTS, "Models", "Layer groups", "GPUs",
    "Engines", "Weight formats",
    "KV formats", CASES, GROUPS, STAGES, "Weights and stages", "Access", "Thresholds", "Time bound",
    "Context ladder", WORKINGS, CHECKS, "Sources", "Changes", "Glossary", CONSTANTS,
)  # fmt: skip


def write(plan: Plan, path: Path, catalog: Catalog | None = None) -> None:
    """Write the workbook of a plan.

    Args:
        plan: the plan; its document rides inside the file.
        path: the file to write, whole or not at all.
        catalog: offers all its entries in the drop-downs; without it only the plan's own.

    Text that no cell can hold (control characters, over 32,767 units) is shown as far as it goes;
    the document has it whole.
    """
    saved = document(plan)
    _Writing(_with_parts(localised(plan)), saved, plan.metrics).run(catalog).save(
        path, str(plan.inputs.scenario["as_of"]), plan.title, dumps(saved)
    )


class _Writing:
    """The steps of one book, in the order in which they need each other."""

    def __init__(self, plan: Plan, saved: dict[str, Any], english: MetricSet) -> None:
        self.plan, self.hash = plan, str(saved["hashes"]["values"])
        self.book, self.sources = Book(), SourceList()
        self.metrics = plan.metrics
        labels = {f"table {name}": entry.label for name, entry in english.tables.items()}
        self.at = Addresses(len(plan.cases), plan.inputs.stages, SheetNames(FIXED, labels))
        for name, entry in english.variants.items():  # before tables of the same label
            variant_names(self.at.sheets, name, entry.label)

    def run(self, catalog: Catalog | None) -> Book:
        """Fill the book."""
        book, plan, at = self.book, self.plan, self.at
        _front(book, plan)
        inputs = inputs_sheet(book, plan, at)
        constants_sheet(book, plan.metrics, at, display_units(list(self.metrics.in_order())))
        sheets = CaseSheets(book, plan, self._catalogs(catalog), at)
        sheets.lay_out()
        variants = [VariantSheets(sheets, name) for name in self.metrics.variants]
        for variant in variants:
            variant.lay_out()
        names = self._plan_names()
        cases = self._calculations(sheets, variants)
        checks_sheet(book, plan, at, inputs, cases)
        settings = Settings(plan, at, SUMMARY, WORKINGS_ROW + len(names) + 1)
        results = results_sheet(book, plan, sheets, at, settings)
        summary_sheet(book, plan, at, results, names, settings)
        actual_sheet(book, plan, at)
        self._back()
        self._order()
        sheets_inside = [ws for ws in book.workbook if ws.title != COVER]
        contents = [
            (ws.title, decoded(str(ws["A1"].value)), decoded(str(ws["A2"].value)))
            for ws in sheets_inside
        ]
        cover_sheet(book, plan, at, self.hash, contents)
        return book

    def _catalogs(self, catalog: Catalog | None) -> dict[str, Table]:
        found = offers(self.plan, catalog)
        tables = {}
        for spec in SHEETS:
            tables[spec.kind] = catalog_sheet(
                self.book, spec, found[spec.kind], self.metrics, self.sources
            )
            if spec.kind == "model":
                tables["groups"] = groups_sheet(
                    self.book, found["model"], self.metrics, self.sources
                )
        return tables

    def _plan_names(self) -> list[str]:
        """Plan metrics outside the checks stand under the summary's tiles."""
        tables = {m.table for m in self.metrics.in_order()} - {"checks"}
        names: list[str] = []
        for table in ["summary", *sorted(tables - {"summary"})]:
            first = WORKINGS_ROW + len(names)
            names += place_plan_metrics(self.plan, self.at, SUMMARY, table, first)
        return names

    def _calculations(self, sheets: CaseSheets, variants: list[VariantSheets]) -> Table:
        cases = sheets.cases()
        sheets.groups()
        sheets.stages()
        for variant in variants:
            table = variant.write_matrix()
            figure = self.metrics.variants[variant.name].shows[0]
            if not variant.names:  # lines over named rungs would join what has no order
                ws = self.book.workbook[table.sheet]
                ladder_chart(ws, self.plan, table, variant.name, figure)
            variant.write_workings()
        for sheet, metrics in sheets.by_sheet.items():
            if sheet == WORKINGS:
                answers = term("Which parts of the checks and summary figures stand case by case?")
                sheets.metric_sheet(sheet, "Check workings", answers)
            elif sheet != CASES:
                entry = self.metrics.tables[metrics[0].table]
                sheets.metric_sheet(sheet, entry.label, entry.answers)
        return cases

    def _back(self) -> None:
        for metric in self.metrics.in_order():
            if not metric.part_of:
                source = Source(metric.entry.source.title, metric.entry.source.url or "")
                self.sources.number(source, metric.name)
        sources_sheet(self.book, self.sources)
        changes_sheet(self.book, self.plan, self.hash)
        glossary_sheet(self.book, self.plan, self.at, self.sources)

    def _order(self) -> None:
        """Reading order: a user's own tables come before the workings, those of ladders last."""
        titles = [ws.title for ws in self.book.workbook]
        rank = {title: float(number) for number, title in enumerate(READING_ORDER)}
        own = READING_ORDER.index(WORKINGS) - 0.5
        for name, entry in self.metrics.variants.items():
            rank[variant_names(self.at.sheets, name, entry.label)[1]] = rank[CHECKS] - 0.5
        titles.sort(key=lambda title: rank.get(title, own))  # stable: own sheets keep their order
        for place, title in enumerate(titles):
            workbook = self.book.workbook
            workbook.move_sheet(title, place - workbook.sheetnames.index(title))


def _with_parts(plan: Plan) -> Plan:
    """The plan with long formulas cut; the parts are evaluated by the engine like all metrics."""
    metrics: MetricSet = cut_long(plan.metrics)
    given = {name: plan.columns[name] for name in plan.metrics.fields}
    computed = {m.name: plan.columns[m.name] for m in plan.metrics.in_order() if not m.variant}
    columns = Columns(metrics, given, plan.columns.variant_values, computed)
    return replace(plan, metrics=metrics, columns=columns)


def _front(book: Book, plan: Plan) -> None:
    """The first sheets exist from the start; they are filled when their figures have places."""
    front = (
        (COVER, plan.title, term("A capacity plan for LLM serving with live formulas.")),
        (SUMMARY, SUMMARY, term("What fits, what binds, and how many requests does one GPU hold?")),
        (RESULTS, RESULTS, term("What comes out for every case, in the units that people use?")),
    )
    for name, title, answers in front:
        book.sheet(name, title, answers, "front")
