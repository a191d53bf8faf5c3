"""Comparisons for people: one view from which terminal, Markdown, page and workbook are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.diff import Delta, Diff
from planner.diff_lines import Crossing
from planner.diff_policy import Breach
from planner.diff_restate import catalog_hash, formula_hash
from planner.metrics import MetricSet
from planner.planning import Plan, Value
from reports import numbers
from reports.view_axes import Axes
from reports.view_diff_bridge import bridge_of, share_of, share_text
from reports.view_diff_evidence import Evidence
from reports.view_diff_parts import (
    MARK_ORDER,
    Bridge,
    DiffBook,
    DiffCase,
    DiffRow,
    DiffView,
    GenerationRow,
    Line,
    RankRow,
)
from reports.view_grid import Kind, Tone, text_of
from reports.view_layout import LAYOUT, STEPS, SUMMARY
from reports.view_units import clean, column_decimals, metric_display
from reports.words import called, say

__all__ = ["DiffBook", "DiffView", "book_of", "case_labels", "diff_view", "owner_of", "row_of"]

_NONE = numbers.NOT_APPLICABLE


def diff_view(found: Diff, breaches: Sequence[Breach] = ()) -> DiffView:
    """The view of one comparison; ``breaches``: rules that it broke."""
    return _Viewing(found).view(breaches)


def book_of(
    steps: Sequence[Diff], breaches: Sequence[Sequence[Breach]] = (), cards: Sequence[str] = ()
) -> DiffBook:
    """One comparison, or the consecutive ones along a line of ``cards`` (their labels)."""
    broken = list(breaches) or [()] * len(steps)
    views = tuple(diff_view(d, b) for d, b in zip(steps, broken, strict=True))
    along = tuple(_along(steps)) if cards else ()
    name = views[0].name if not cards else clean(steps[0].sides.new.name)
    return DiffBook(name, views, tuple(clean(c) for c in cards), along)


class _Viewing:
    def __init__(self, found: Diff) -> None:
        self.found, self.sides = found, found.sides
        self.metrics: MetricSet = found.sides.new.metrics
        self.olds, self.news = case_labels(found.sides.old), case_labels(found.sides.new)
        self.evidence = Evidence(found, self.label)
        self.shown = _reading_order(found)

    def view(self, breaches: Sequence[Breach]) -> DiffView:
        found, old, new = self.found, self.sides.old, self.sides.new
        cases = self.cases()
        totals = tuple(row_of(d, 0) for d in found.totals.values())
        bridges = self.bridges()
        by = found.deltas.get(found.by)
        return DiffView(
            name=clean(f"{old.name}-{new.name}" if old.name != new.name else new.name),
            title=f"{_called(old, new)} → {_called(new, old)}",
            head=tuple(_head(old, new)),
            banner=tuple(self.banner()),
            verdict_line=self.verdict(bridges),
            verdict_tone=self.tone(),
            unmoved=not found.moved,
            paired=tuple(say(clean(line)) for line in found.pairing.lines),
            by=_with_unit(by) if by else "",
            tolerance=f"{found.options.tolerance * 100:g} %",
            cases=cases,
            totals=totals,
            lines=self.lines(),
            bridges=bridges,
            panels=tuple(self.evidence.panels()),
            doubts=tuple(self.evidence.doubt(d) for d in found.doubts),
            doubted=self.evidence.doubted(),
            ranks=self.ranks(),
            ranked=_with_unit(by) if by else "",
            inputs=self.evidence.inputs(),
            corrections=tuple(self.evidence.corrections()),
            formulas=tuple(called(clean(self.sides.metrics.label_of(n))) for n in found.formulas),
            added=tuple(self.news[j] for j in found.pairing.added),
            removed=tuple(self.olds[i] for i in found.pairing.removed),
            only=tuple(tuple(side) for side in found.only),  # type: ignore[arg-type]
            sides=self.sides,
            drivers=found.drivers,
            breaches=tuple(self.breach(b) for b in breaches),
        )

    # ---- head ----------------------------------------------------------------------------------

    def banner(self) -> Iterable[str]:
        for wall in self.found.barriers:
            yield say(clean(f"COMPARED BY FORCE: {wall}"))
        for warning in self.found.warnings:
            yield say(clean(warning))

    def verdict(self, bridges: Sequence[Bridge]) -> str:
        counts = self.found.counts
        total = len(self.sides.pairs)
        n = {mark: counts.get(mark, 0) for mark in MARK_ORDER}
        parts = {
            "better": say(f"{n['better']} better"), "worse": say(f"{n['worse']} worse"),
            "changed": say(f"{n['changed']} changed otherwise"),
            "unknown": say(f"{n['unknown']} unknown"), "same": say(f"{n['same']} unchanged"),
        }  # fmt: skip
        told = say(", ").join(text for mark, text in parts.items() if n[mark])
        line = say(f"1 case: {told}") if total == 1 else say(f"{total} cases: {told}")
        fits = [c for c in self.found.crossings if c.kind == "verdict"]
        now = sum(c.new == "fits" for c in fits)
        for count, word in ((now, say("now fit")), (len(fits) - now, say("no longer fit"))):
            line += f"{say('; ')}{count} {word}" if count else ""
        binding = sum(c.metric == "binding" for c in self.found.crossings)
        line += say(f"; what binds changed in {binding}") if binding else ""
        for bridge in self._told(bridges):
            line += f"{say('; ')}{bridge.label} {bridge.old} → {bridge.new} {bridge.unit}".rstrip()
            line += f" ({bridge.percent})" if bridge.percent != _NONE else ""
        return line + say(".")

    @staticmethod
    def _told(bridges: Sequence[Bridge]) -> Sequence[Bridge]:
        """Figures that the verdict names: of the whole plan, else of the only pair."""
        plan = [b for b in bridges if b.pair is None]
        pairs = {b.pair for b in bridges}
        return [b for b in (plan or (bridges if len(pairs) == 1 else []))][-2:]

    def tone(self) -> Tone:
        counts = self.found.counts
        if counts.get("worse"):
            return "bad" if not counts.get("better") else "warn"
        return "good" if counts.get("better") else ""

    # ---- figures -------------------------------------------------------------------------------

    def cases(self) -> tuple[DiffCase, ...]:
        """All pairs, those that were explained first, then the others by how they fare."""
        found = self.found
        first = {w.pair: i for i, w in enumerate(found.whys) if w.pair is not None}
        places = sorted(
            range(len(self.sides.pairs)),
            key=lambda p: (p not in first, first.get(p, 0), MARK_ORDER[found.statuses[p]], p),
        )
        return tuple(self.case(p) for p in places)

    def case(self, place: int) -> DiffCase:
        i, j = self.sides.pairs[place]
        deltas = self.found.deltas
        judged = row_of(deltas[self.found.by], place) if self.found.by in deltas else None
        return DiffCase(
            place, self.label(place), clean(self.sides.old.cases[i].id),
            clean(self.sides.new.cases[j].id), self.found.statuses[place], judged,
            lambda: tuple(row_of(deltas[n], place) for n in self.shown),
        )  # fmt: skip

    def label(self, place: int) -> str:
        return self.news[self.sides.pairs[place][1]]

    def bridges(self) -> tuple[Bridge, ...]:
        whys = sorted(self.found.whys, key=lambda w: w.pair is not None)
        return tuple(
            bridge_of(
                self.found, w, say("the whole plan") if w.pair is None else self.label(w.pair)
            )
            for w in whys
        )

    # ---- lines ---------------------------------------------------------------------------------

    def lines(self) -> tuple[Line, ...]:
        """Crossings that are alike are one line with a count."""
        alike: dict[tuple[object, ...], list[Crossing]] = {}
        for one in self.found.crossings:
            if one.metric in STEPS:
                continue
            known = (
                (one.old is None, one.new is None) if one.kind == "known" else (one.old, one.new)
            )
            alike.setdefault((one.kind, one.metric, known), []).append(one)
        return tuple(self.line(group) for group in alike.values())

    def line(self, group: Sequence[Crossing]) -> Line:
        one = group[0]
        places = [c.pair for c in group if c.pair is not None]
        where = say("the whole plan") if not places else self.label(places[0])
        if len(places) > 1:
            where = say(f"{len(places)} of {len(self.sides.pairs)} cases, such as {where}")
        old, new = (self.word(one, v) for v in (one.old, one.new))
        detail = self.detail(one) if len(places) == 1 else ""
        # What a planner's crossing is called is a sentence, else it is a metric's label.
        label = (say if one.kind in ("batch", "layout") else called)(clean(one.label))
        return Line(label, old, new, one.mark, where, detail, len(group))

    def word(self, one: Crossing, value: Value) -> str:
        if one.kind == "known":
            return say(numbers.UNKNOWN) if value is None else say("known")
        return clean(text_of(value, "word"))

    def detail(self, one: Crossing) -> str:
        if not one.detail or one.pair is None:
            return ""
        value = self.sides.new.value(one.detail, self.sides.pairs[one.pair][1])
        factor, unit, _, kind = metric_display(self.metrics.metrics[one.detail])
        if not isinstance(value, float):
            return ""
        text = text_of(abs(value) / factor, kind)
        return say(f"{text} {unit} to spare") if value >= 0 else say(f"{text} {unit} short")

    def ranks(self) -> tuple[RankRow, ...]:
        return tuple(
            RankRow(say(clean(r.question)), self.label(r.pair), _rank(r.old, r.old_tied),
                    _rank(r.new, r.new_tied), r.old, r.new)
            for r in self.found.ranks
        )  # fmt: skip

    # ---- rules -----------------------------------------------------------------------------------

    def breach(self, one: Breach) -> str:
        where = say("the whole plan") if one.pair is None else self.label(one.pair)
        delta = self.found.deltas.get(one.rule.metric) or self.found.totals[one.rule.metric]
        row = row_of(delta, one.pair or 0)
        change = f"{row.old} → {row.new} {row.unit}".rstrip()
        percent = f" ({row.percent})" if row.percent not in ("", _NONE) else ""
        return clean(f"{one.rule.text}: {where}: {row.label} {change}{percent}")


# ---- rows --------------------------------------------------------------------------------------


def _reading_order(found: Diff) -> list[str]:
    """Figures of a case: the explained ones, the summary, own ones, then by table."""
    layout = [n for names in LAYOUT.values() for n in names]
    known = [n for n in found.deltas if n not in STEPS]
    first = [n for n in (*found.explained, *SUMMARY, found.by) if n in known]
    later = sorted(known, key=lambda n: layout.index(n) if n in layout else len(layout))
    own = [n for n in known if found.deltas[n].metric.origin]
    return list(dict.fromkeys([*first, *own, *later]))


def case_labels(plan: Plan) -> list[str]:
    """Every case by the axes that vary in its plan; where none does, by its model."""
    axes = Axes(plan)
    return [" · ".join(axes.parts(c, axes.varying or axes.all[:1])) for c in plan.cases]


def row_of(delta: Delta, place: int) -> DiffRow:
    """One pair of a metric in display units."""
    metric = delta.metric
    factor, unit, _, kind = metric_display(metric)
    raw = [v / factor if isinstance(v, float) else v for v in (delta.old[place], delta.new[place])]
    places = column_decimals(raw, kind)
    old, new = (clean(text_of(v, kind, places)) for v in raw)
    change = delta.changes[place]
    moved = None if change is None else change / factor
    share = share_of(delta.old[place], change)
    return DiffRow(
        metric.name, called(clean(metric.label)), unit, kind, places, old, new,
        _delta_text(moved, kind, places), share_text(share),
        delta.marks[place], raw[0], raw[1], moved, share, called(clean(metric.entry.why)),
        metric.entry.better,
    )  # fmt: skip


def _delta_text(change: float | None, kind: Kind, places: int) -> str:
    if change is None:
        return _NONE
    if kind == "share":  # points, so that nobody takes them for a relative change
        return numbers.fixed(change * 100, places, kind="change") + " pp"
    return numbers.fixed(change, places, kind="change")


def _with_unit(delta: Delta) -> str:
    unit = metric_display(delta.metric)[1]
    return called(clean(delta.metric.label)) + (f" ({unit})" if unit else "")


def _rank(rank: int | None, tied: bool) -> str:
    return say(numbers.UNKNOWN) if rank is None else f"{rank}{'=' if tied else ''}"


def owner_of(plan: Plan) -> str:
    """Who owns a plan: a name, or the word for none."""
    owner = clean(plan.inputs.scenario["owner"])
    return say(owner) if owner == numbers.UNKNOWN else owner


def _called(plan: Plan, other: Plan) -> str:
    """The name of a plan; where both bear the same one, with its card."""
    if plan.name != other.name:
        return clean(plan.name)
    gpus = list(dict.fromkeys(case.gpu for case in plan.cases))
    others = {case.gpu for case in other.cases}
    if set(gpus) != others and len(gpus) == 1:
        return clean(f"{plan.name} ({gpus[0]})")
    return clean(plan.name)


def _head(old: Plan, new: Plan) -> Iterable[tuple[str, str, str]]:
    for key, label in (("title", say("Title")), ("as_of", say("As of"))):
        yield label, clean(old.inputs.scenario[key]), clean(new.inputs.scenario[key])
    yield say("Owner"), owner_of(old), owner_of(new)
    for key, label in (("draft", say("Draft")), ("time_model", say("Time model"))):
        before, after = (plan.inputs.scenario.get(key) or "none" for plan in (old, new))
        if (before, after) != ("none", "none"):
            yield label, called(clean(before)), called(clean(after))
    yield say("Formulas"), formula_hash(old.metrics), formula_hash(new.metrics)
    yield say("Catalog figures"), catalog_hash(old), catalog_hash(new)
    yield say("Cases"), str(len(old.cases)), str(len(new.cases))


def _along(steps: Sequence[Diff]) -> Iterable[GenerationRow]:
    """The explained figures of every case along the line of cards."""
    first = steps[0]
    names = [n for n in dict.fromkeys([*first.explained, first.by]) if n in first.deltas]
    labels = case_labels(first.sides.new)
    for place, (_, j) in enumerate(first.sides.pairs):
        chain = _chain(steps, place)
        told: list[tuple[str, ...]] = []
        for name in names if chain else ():
            metric = first.sides.new.metrics.metrics[name]
            factor, unit, _, kind = metric_display(metric)
            raw = [v / factor if isinstance(v, float) else v for v in chain[name]] if chain else []
            places = column_decimals(raw, kind)
            texts = tuple(clean(text_of(v, kind, places)) for v in raw)
            if name == first.by and name not in first.explained and texts in told:
                continue  # on one GPU the figure per GPU says the same again
            told.append(texts)
            yield GenerationRow(labels[j], called(clean(metric.label)), unit, texts, tuple(raw))


def _chain(steps: Sequence[Diff], place: int) -> dict[str, list[Value]]:
    """The values of one case through all steps; nothing where the case is lost on the way."""
    found: dict[str, list[Value]] = {}
    case = steps[0].sides.pairs[place][0]
    for step in steps:
        at = next((p for p, (i, _) in enumerate(step.sides.pairs) if i == case), None)
        if at is None:
            return {}
        for name, delta in step.deltas.items():
            found.setdefault(name, [delta.old[at]]).append(delta.new[at])
        case = step.sides.pairs[at][1]
    return found
