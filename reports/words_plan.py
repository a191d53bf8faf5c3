"""The declarations of a plan in the language of the report: labels, reasons, table questions.

Names, formulas, units and the words of choices are keys and stay as they are, and so does the saved
plan that rides inside an output: it is written from the plan itself, before this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from planner.figures import Part
from planner.metrics import Metric, MetricSet
from planner.planning import Plan
from reports.words import ENGLISH, called, language, say

TEXTS = ("label", "why", "meaning", "answers")
"""What of a declaration people read."""

P = TypeVar("P", bound=Part)


def localised(plan: Plan) -> Plan:
    """The plan with its declarations in the language that ``reports.words`` speaks now."""
    return replace(plan, metrics=localised_metrics(plan.metrics))


def localised_metrics(metrics: MetricSet) -> MetricSet:
    """The declarations alone, as ``localised``."""
    if language() == ENGLISH:
        return metrics
    return replace(
        metrics,
        fields={name: _said(entry) for name, entry in metrics.fields.items()},
        constants={name: _said(entry) for name, entry in metrics.constants.items()},
        tables={name: _said(entry) for name, entry in metrics.tables.items()},
        variants={name: _said(entry) for name, entry in metrics.variants.items()},
        metrics={name: _metric(m, metrics.metrics) for name, m in metrics.metrics.items()},
    )


def _metric(metric: Metric, metrics: Mapping[str, Metric]) -> Metric:
    entry = _said(metric.entry)
    parent = metrics.get(metric.part_of)
    if parent is not None:
        whole = called(" ".join(parent.entry.label.split()))
        entry = entry.model_copy(update={"label": say(f"Part of {whole}")})
    return replace(metric, entry=entry)


def _said(entry: P) -> P:
    """A copy with other texts; nothing is checked again, for nothing else has changed."""
    texts = {name: " ".join(getattr(entry, name).split()) for name in TEXTS if hasattr(entry, name)}
    return entry.model_copy(update={name: called(text) for name, text in texts.items()})
