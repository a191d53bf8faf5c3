"""What speculative decoding adds to a model: layers of a draft that keep a cache, and its weights.

A draft is the multi-token-prediction module of the model itself or another entry of the catalog (an
EAGLE head, a smaller model). Engines count its attention layers like those of the model and place
them in the last pipeline stage (vLLM 0.33.0 v1/spec_decode; SGLang 0.5.23
model_executor/pool_configurator.py). What drafting costs in time is not planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planner.facts import Fact, GroupFacts
from planner.figures import Figure
from planner.places import NOWHERE
from planner.records import Entry, Model

MTP = "mtp"
"""What a scenario writes for the module of the model itself."""
NO_MODULE = "no MTP module on record"

# What decides whether two layers keep their context alike, so that an engine counts them together.
_ALIKE = (
    "group_kv_heads", "group_key_dim", "group_value_dim", "group_fixed_bytes", "group_window",
    "group_window_slides", "group_fixed_tokens", "group_tokens_per_state", "group_block",
    "group_conv_taps", "group_conv_channels", "group_conv_element_bytes", "group_state_heads",
    "group_state_rows", "group_state_columns", "group_state_element_bytes", "group_state_groups",
)  # fmt: skip
# A layer of a draft takes no part in the forward pass of the model.
_NOT_OF_THE_MODEL = ("group_layers", "group_kv_params", "group_replicated_params")


@dataclass(frozen=True, slots=True)
class Drafted:
    """Layer groups of a model with those of its draft, and the model fields that the draft sets.

    ``entries``: the entries beside the model's own that these figures come from.
    """

    groups: tuple[GroupFacts, ...]
    facts: dict[str, Fact] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    draft: str = ""


def with_module(entry: Entry, groups: Sequence[GroupFacts]) -> Drafted:
    """The model with its own MTP module; unknown draft layers where none is on record."""
    model = entry.record
    if not isinstance(model, Model):
        raise TypeError(f"{model.id} is not a model")
    written = [group.mtp_layers for group in model.layer_groups]
    on_record = any(figure is not None for figure in written)
    found = [
        _with_layers(group, _layers(entry, index, figure if on_record else Figure(value=None)))
        for index, (group, figure) in enumerate(zip(groups, written, strict=True))
    ]
    weights = model.params.mtp or Figure(value=None)
    span = entry.file.span(("params", "mtp"))
    note = "the MTP module, in the format of the model's layers" if on_record else NO_MODULE
    facts = {
        "params_draft": Fact(weights.value, "param", weights.source, weights.confidence or "",
                             weights.note or note, span),
        "draft_element": Fact(0.0, "byte/param", (), "assumed", note, span),
    }  # fmt: skip
    return Drafted(tuple(found), facts)


def _layers(entry: Entry, index: int, figure: Figure | None) -> Fact:
    span = entry.file.span(("layer_groups", index, "mtp_layers"))
    if figure is None:
        return Fact(0.0, "1", (), "derived", "the MTP module has no such layer", span)
    note = figure.note or ("layers of the MTP module" if figure.value is not None else NO_MODULE)
    return Fact(figure.value, "1", figure.source, figure.confidence or "", note, span)


def with_model(
    groups: Sequence[GroupFacts],
    draft: Entry,
    of_draft: Sequence[GroupFacts],
    written: Entry,
    element: Fact,
) -> Drafted:
    """The model with another entry as its draft: like layers together, others in groups beside.

    ``of_draft``: layer groups of the draft; ``written``: its published format; ``element``: bytes
    of a linear weight in that format, which all of its weights are taken to have.
    """
    found = list(groups)
    for one in of_draft:
        layers = owned(replace(one.facts["group_cache_layers"], note="layers of the draft"), draft)
        same = next((i for i, group in enumerate(found) if _alike(group, one)), None)
        if same is None:
            found.append(_beside(one, layers, draft))
        else:
            found[same] = _with_layers(found[same], layers)
    total = draft.record.params.total if isinstance(draft.record, Model) else Figure()
    note = f"all weights of {draft.record.id}"
    facts = {
        "params_draft": Fact(total.value, "param", total.source, total.confidence or "", note,
                             draft.file.span(("params", "total"))),
        "draft_element": replace(element, note=note),
    }  # fmt: skip
    owned_facts = {name: owned(fact, draft) for name, fact in facts.items()}
    return Drafted(tuple(found), owned_facts, (written, draft), draft.record.id)


def owned(fact: Fact, draft: Entry) -> Fact:
    """The fact with the names of its sources as :func:`owned_name` gives them."""
    return replace(fact, source=tuple(owned_name(draft.record.id, one) for one in fact.source))


def owned_name(draft: str, source: str) -> str:
    """Name of a source of the draft beside those of the model."""
    return f"{draft}: {source}"


def _alike(group: GroupFacts, other: GroupFacts) -> bool:
    return all(
        (value := group.facts[name].value) is not None and value == other.facts[name].value
        for name in _ALIKE
    )


def _with_layers(group: GroupFacts, layers: Fact) -> GroupFacts:
    """The group with these further layers that keep a cache."""
    own, more = group.facts["group_cache_layers"], layers.value
    facts = dict(group.facts)
    if more is None or own.value is None:
        facts["group_cache_layers"] = replace(own, value=None, note=layers.note)
    elif more:
        note = f"{own.value:.0f} of the model and {more:.0f} of the draft"
        source = tuple(dict.fromkeys((*own.source, *layers.source)))
        facts["group_cache_layers"] = replace(
            own, value=float(own.value) + float(more), note=note, source=source
        )
    return replace(group, facts={**facts, "group_draft_layers": layers})


def _beside(group: GroupFacts, layers: Fact, draft: Entry) -> GroupFacts:
    """Layers of the draft alone: they keep a cache, and the model does not run them."""
    facts = {name: owned(fact, draft) for name, fact in group.facts.items()}
    facts |= {
        name: Fact(0.0, facts[name].unit, (), "derived", "layers of the draft alone",
                   facts[name].span)
        for name in _NOT_OF_THE_MODEL
    }  # fmt: skip
    places = replace(facts["group_places"], value=NOWHERE, note="no layer of the model")
    own = {"group_places": places, "group_draft_layers": layers}
    return replace(group, label=f"Draft: {group.label}", facts=facts | own)
