"""What is shown of a plan: in which order, in which unit, with which words.

``view_of`` is the one place that decides it; page, terminal, workbook and CSV draw from its result.
Nothing is computed here: values are chosen, divided by the factor of their display unit, and named.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner import saved
from planner.offers import Offer
from planner.planning import Plan
from reports.view_actual import actual_section
from reports.view_axes import Axes
from reports.view_charts import Charts
from reports.view_facts import Facts
from reports.view_glossary import Glossary
from reports.view_grid import (
    Column,
    Kind,
    Ladder,
    Row,
    Table,
    Tone,
    Value,
    text_of,
)
from reports.view_headline import Headline
from reports.view_live import live_of
from reports.view_parts import (
    Assumption,
    CaseName,
    Check,
    FactCell,
    FactColumn,
    FactTable,
    Figure,
    InputTerm,
    Provenance,
    Section,
    SourceItem,
    Term,
    Tile,
    View,
)
from reports.view_sources import Sources
from reports.view_tables import Tables
from reports.view_units import clean, machine_name, unit_words
from reports.words import say
from reports.words_plan import localised

__all__ = [
    "Assumption",
    "CaseName",
    "Check",
    "Column",
    "FactCell",
    "FactColumn",
    "FactTable",
    "Figure",
    "InputTerm",
    "Kind",
    "Ladder",
    "Provenance",
    "Row",
    "Section",
    "SourceItem",
    "Table",
    "Term",
    "Tile",
    "Tone",
    "Value",
    "View",
    "clean",
    "machine_name",
    "text_of",
    "unit_words",
    "view_of",
]


def view_of(plan: Plan, offered: Mapping[str, list[Offer]] | None = None) -> View:
    """The view of a plan; ``offered`` are catalog entries that a page lets its reader try."""
    plan, english = localised(plan), plan
    axes = Axes(plan)
    tables = Tables(plan, axes)
    sources = Sources(plan)
    facts = Facts(plan, sources)
    glossary = Glossary(plan, tables, sources)
    headline = Headline(plan, axes)
    charts = Charts(plan, axes)
    # Sources are numbered as a reader meets them: assumptions, catalog figures, formulas.
    assumptions, fact_tables = facts.assumptions(), facts.tables()
    terms = glossary.terms()
    return View(
        name=clean(plan.name),
        title=clean(plan.title),
        as_of=clean(plan.inputs.scenario["as_of"]),
        owner=clean(plan.inputs.scenario["owner"]),
        note=clean(plan.inputs.scenario["note"]),
        verdict_line=headline.line(),
        verdict_tone=headline.tone(),
        cases=axes.names,
        tiles=headline.tiles(),
        shared=axes.shared,
        summary=tables.summary(),
        chart=charts.concurrency(),
        sections=tuple(
            charts.placed(section)
            for section in (actual_section(plan), *tables.sections())
            if section is not None
        ),
        assumptions=assumptions,
        facts=fact_tables,
        sources=sources.items(),
        glossary=terms,
        inputs=glossary.inputs(),
        constants=glossary.constants(),
        checks=glossary.checks(),
        dropped=tuple((say(clean(reason)), count) for reason, count in plan.inputs.dropped.items()),
        provenance=_provenance(english),
        section_labels={n: clean(t.label) for n, t in plan.metrics.tables.items()},
        live=live_of(plan, offered),
    )


def _provenance(plan: Plan) -> Provenance:
    document = saved.document(plan)
    scenario = plan.inputs.scenario
    return Provenance(
        clean(document["capsheet"]), clean(plan.inputs.file), clean(plan.name),
        clean(scenario["as_of"]), clean(scenario["owner"]), tuple(document["hashes"].items()),
    )  # fmt: skip
