"""What a page needs to compute by itself: formulas as JavaScript, and how figures are shown.

Inputs and catalog facts are not repeated here: they stand in the saved plan inside the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.expr.check import CASE, GROUP, PLAN, STAGE, STAGE_GROUP
from planner.expr.to_js import to_js
from planner.expr.to_math import to_text
from planner.facts import Fact
from planner.metric_files import VariantEntry
from planner.metrics import Metric, MetricSet, formula_of
from planner.offers import CHOSEN, Offer
from planner.planning import Plan
from reports import numbers
from reports.numbers import Kind, cut
from reports.view_layout import APPLIES_NOT, NEVER_SHOWN, RUNG_APPLIES
from reports.view_units import clean, input_display, metric_display
from reports.words import ENGLISH, called, language, say, term

CHANGED = ("context", "batch", "prompt_tokens", "output_tokens", "compute_dtype")
"""Inputs of a case that a reader may change, beside every assumption of the plan."""

_PLACES = {GROUP: "[g]", STAGE: "[t]", STAGE_GROUP: "[t][g]"}
_PARAMETERS = {PLAN: "v", CASE: "v", GROUP: "(v,g)", STAGE: "(v,t)", STAGE_GROUP: "(v,t,g)"}


@dataclass(frozen=True, slots=True)
class Formula:
    """One metric for the page.

    Attributes:
        grain: 0 plan, 1 case, 2 layer group, 3 stage, 4 layer group of a stage.
        code: a JavaScript function of the values ``v`` and, in finer grains, of the place.
        words: the formula as text with ``{name}`` where a number is put in; empty for parts.
        variant: the set of variants over which a part is taken.
    """

    name: str
    grain: int
    code: str
    words: str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a name is shown: factor to the display unit, kind of number, unit words."""

    factor: float
    kind: str
    unit: str


@dataclass(frozen=True, slots=True)
class Control:
    """One input that a reader may change in the page.

    Attributes:
        name: the input, or the catalog kind.
        what: ``case``, ``plan`` or ``entry`` (a choice among catalog entries).
        factor: of the unit in which it is typed.
        low, high: what is allowed, in base units; None where the input has no bound.
        options: value and label of each choice; empty for numbers.
        whole: only whole numbers make sense.
        main: stands among the first; the others stay folded until asked for.
        planned: what the plan has, from the lowest to the highest or one by one.
    """

    name: str
    label: str
    what: str
    unit: str = ""
    factor: float = 1.0
    low: float | None = None
    high: float | None = None
    options: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    main: bool = True
    planned: str = ""

    @property
    def least(self) -> str:
        """The lowest that may be typed; empty without a bound."""
        return "" if self.low is None else f"{self.low / self.factor:.12g}"

    @property
    def most(self) -> str:
        """The highest that may be typed; empty without a bound."""
        return "" if self.high is None else f"{self.high / self.factor:.12g}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A catalog entry beside those of the plan: field to value, and the titles of its sources."""

    kind: str
    id: str
    label: str
    facts: tuple[tuple[str, float | bool | str | None], ...]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """Everything that the page computes with.

    Attributes:
        follows: for each set of variants the metrics that depend on what it replaces.
        absent: metric to the column and value at which it does not apply.
        bounded: metrics that show a dash from ``bound`` on.
        constants: unit of each constant.
        said: label and reason of each name, in a language other than English.
        words: words of choices in that language.
    """

    formulas: tuple[Formula, ...]
    shown: Mapping[str, Shown]
    follows: Mapping[str, tuple[str, ...]]
    absent: Mapping[str, tuple[str, float | str]]
    bounded: tuple[str, ...]
    bound: float
    unfit: Mapping[str, str]
    constants: Mapping[str, str]
    controls: tuple[Control, ...]
    entries: tuple[Entry, ...]
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


def live_of(plan: Plan, offered: Mapping[str, list[Offer]] | None = None) -> Live:
    """The live part of a plan's page; ``offered`` adds catalog entries to choose from."""
    metrics = plan.metrics
    known = [*metrics.metrics, *metrics.fields, *metrics.constants]
    bound = metrics.constants.get(NEVER_SHOWN)
    return Live(
        formulas=tuple(_formula(metrics, m) for m in metrics.metrics.values()),
        shown={n: _shown(metrics, n) for n in known if not _is_part(metrics, n)},
        follows={
            name: tuple(m for m in metrics.metrics if _moves(metrics, variant, m))
            for name, variant in metrics.variants.items()
        },
        absent={n: rule for n, rule in APPLIES_NOT.items() if _is_known(metrics, n, rule[0])},
        bounded=tuple(m.name for m in metrics.metrics.values() if _is_bounded(metrics, m)),
        bound=bound.value if bound else float("inf"),
        unfit={n: m for n, (m, _) in RUNG_APPLIES.items() if m in metrics.metrics},
        constants={n: metrics.unit_of(n) for n in metrics.constants},
        controls=_controls(plan, offered or {}),
        entries=tuple(_entries(plan, offered or {})),
        said=_said(metrics),
        words=_words(plan),
    )


def _said(metrics: MetricSet) -> dict[str, tuple[str, str]]:
    if language() == ENGLISH:
        return {}
    found = {n: (clean(e.label), clean(e.meaning)) for n, e in metrics.fields.items()}
    found |= {
        n: (called(clean(metrics.label_of(n))), clean(e.meaning))
        for n, e in metrics.constants.items()
    }
    return found | {
        n: (clean(m.label), clean(m.entry.why)) for n, m in metrics.metrics.items() if not m.part_of
    }


def _words(plan: Plan) -> dict[str, str]:
    """Every word of a choice, an origin or a layer group that a dialog may show."""
    if language() == ENGLISH:
        return {}
    metrics, inputs = plan.metrics, plan.inputs
    texts = {w for n in (*metrics.metrics, *metrics.fields) for w in metrics.type_of(n).words}
    facts = [f for some in inputs.facts.values() for f in some.values()]
    facts += [f for some in inputs.groups.values() for g in some for f in g.facts.values()]
    texts |= {g.label for some in inputs.groups.values() for g in some}
    texts |= {
        text for one in inputs.origins.values() for text in (one.kind, one.confidence, one.where)
    }
    texts |= {f.confidence for f in facts} | {"catalog"}
    return {text: called(text) for text in sorted(texts) if called(text) != text}


def _moves(metrics: MetricSet, variant: VariantEntry, name: str) -> bool:
    return any(metrics.depends(name, one) for one in variant.moved)


def _is_part(metrics: MetricSet, name: str) -> bool:
    return name in metrics.metrics and bool(metrics.metrics[name].part_of)


def _is_known(metrics: MetricSet, name: str, other: str) -> bool:
    return name in metrics.metrics and (other in metrics.metrics or other in metrics.fields)


def _is_bounded(metrics: MetricSet, metric: Metric) -> bool:
    if NEVER_SHOWN not in metrics.constants or metric.type.grain != STAGE:
        return False
    return metric.type.dimension == metrics.type_of(NEVER_SHOWN).dimension


def _formula(metrics: MetricSet, metric: Metric) -> Formula:
    words = ""
    if not metric.part_of:
        tree = formula_of(metric.entry)[1]
        words = to_text(tree, lambda n: n if n in metrics.variants else f"{{{n}}}")

    def read(name: str, reduced: bool) -> str:
        """A value of the same place; a reduction takes the whole row of places below it."""
        grain = metrics.type_of(name).grain
        if not reduced:
            return f"v.{name}{_PLACES.get(grain, '')}"
        return f"v.{name}[t]" if grain == STAGE_GROUP else f"v.{name}"

    grain = metric.type.grain
    code = f"{_PARAMETERS[grain]}=>{to_js(metric.tree, read)}"
    return Formula(metric.name, grain, code, clean(words), metric.variant)


def _shown(metrics: MetricSet, name: str) -> Shown:
    known = metrics.metrics.get(name)
    factor, unit, _, kind = metric_display(known) if known else input_display(metrics, name)
    return Shown(factor, kind, unit)


# ---- what a reader may change ------------------------------------------------------------------


def _controls(plan: Plan, offered: Mapping[str, list[Offer]]) -> tuple[Control, ...]:
    metrics = plan.metrics
    used = {f for m in metrics.metrics.values() if not m.part_of for f in metrics.reach[m.name]}
    found = [_choice(plan, kind, offered.get(kind, [])) for kind in CHOSEN]
    for name in CHANGED:
        if name in metrics.fields and name in used:
            found.append(_of_input(metrics, name, "case"))
    for name in plan.inputs.plan:
        if name in metrics.fields and name in used:
            found.append(_of_input(metrics, name, "plan"))
    main = (*CHOSEN, *CHANGED, *_MAIN)
    return tuple(
        replace(one, main=one.name in main, planned=cut(_planned(plan, one), _PLANNED))
        for one in found
    )


def _planned(plan: Plan, control: Control) -> str:
    """What the plan has of an input in all its cases."""
    name = control.name
    if control.what == "plan":
        found = [plan.value(name, 0)]
    else:
        found = [c.inputs[name] if control.what == "case" else getattr(c, name) for c in plan.cases]
    values = list(dict.fromkeys(found))
    if control.options:
        labels = dict(control.options)
        words = (str(int(v)) if isinstance(v, bool | float) else str(v) for v in values)
        return ", ".join(labels.get(word, word) for word in words)
    kind: Kind = "count" if control.whole else "figure"
    shown = [float(value) / control.factor for value in values if value is not None]
    ends = [numbers.show(value, kind) for value in (min(shown), max(shown))] if shown else []
    return say(" to ").join(dict.fromkeys(ends)) or say(numbers.UNKNOWN)


_PLANNED = 44  # characters that fit below a control
_MAIN = ("memory_utilization", "overhead")
_KINDS = {"gpu": "GPU", "weight_format": term("Weights"), "kv_format": term("KV cache")}


def _choice(plan: Plan, kind: str, offered: list[Offer]) -> Control:
    labels = {word: label for (k, word), label in plan.inputs.labels.items() if k == kind}
    labels |= {offer.id: offer.label for offer in offered}
    options = tuple((clean(word), clean(label)) for word, label in labels.items())
    return Control(kind, say(_KINDS[kind]), "entry", options=options)


def _of_input(metrics: MetricSet, name: str, what: str) -> Control:
    entry = metrics.fields[name]
    label = clean(entry.label)
    if entry.kind == "choice":
        options = tuple((word, word.upper()) for word in entry.words)
        return Control(name, label, what, options=options)
    if entry.kind == "flag":
        return Control(name, label, what, options=(("1", say("yes")), ("0", say("no"))))
    factor, unit, _, kind = input_display(metrics, name)
    low, high = entry.range or (0.0, None)
    whole = entry.kind == "count"
    if kind == "share":
        factor, unit = 0.01, "%"
    return Control(name, label, what, unit, factor, max(low, 1.0 if whole else 0.0), high,
                   whole=whole)  # fmt: skip


def _entries(plan: Plan, offered: Mapping[str, list[Offer]]) -> list[Entry]:
    """Entries that the plan itself does not hold, with the facts that its formulas name."""
    known = set(plan.inputs.facts)
    return [
        Entry(
            offer.kind, clean(offer.id), clean(offer.label),
            tuple((name, _plain(fact)) for name, fact in offer.facts.items()
                  if name in plan.metrics.fields),
            _titles(offer),
        )
        for kind in CHOSEN
        for offer in offered.get(kind, [])
        if (kind, offer.id) not in known
    ]  # fmt: skip


def _titles(offer: Offer) -> tuple[str, ...]:
    """The sources of the figures that an entry has, each once."""
    used = (name for fact in offer.facts.values() if fact.value is not None for name in fact.source)
    return tuple(
        dict.fromkeys(clean(offer.sources[n].title if n in offer.sources else n) for n in used)
    )


def _plain(fact: Fact) -> float | bool | str | None:
    return clean(fact.value) if isinstance(fact.value, str) else fact.value
