"""Where layers stand: the lists that entries write, the texts that formulas count, and stages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calculators import calculate_cells, calculate_js
from support.hf import text_of
from support.layouts import planned, stages
from support.recalc import differences, recalculate_formualizer, recalculate_libreoffice
from support.records import MODEL, problems, read
from support.workbook import make

from planner.catalog import Catalog
from planner.expr.check import CASE, PLAN, Checker, Type
from planner.expr.parse import FormulaError, parse
from planner.expr.to_arrays import compile_arrays
from planner.expr.to_cells import to_cells
from planner.expr.to_js import RUNTIME, to_js
from planner.importers.huggingface import import_model
from planner.places import in_words, marked, marks, repeated, written
from planner.records import Model

CATALOG = Catalog.open()
MODELS = CATALOG.ids("model")

# ---- texts and lists ----------------------------------------------------------------------------


def test_marks_and_words() -> None:
    assert marks([3, 7, 8], 10) == "...*...**."
    assert marked("...*...**.") == (3, 7, 8)
    assert written([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert (in_words("*.**"), in_words("....")) == ("0, 2-3", "none")
    assert repeated(1, 4, 2, 12) == (1, 2, 5, 6, 9, 10)
    assert marks([], 0) == "."  # an empty cell would read as 0


@given(st.integers(1, 130).flatmap(lambda n: st.tuples(
    st.just(n), st.sets(st.integers(0, n - 1), min_size=1)
)))  # fmt: skip
def test_a_list_comes_back_from_words_and_from_marks(case: tuple[int, set[int]]) -> None:
    depth, chosen = case
    layers = sorted(chosen)
    assert list(marked(marks(layers, depth))) == layers
    text = MODEL.replace("layers: 4", f"layers: {depth}").replace(
        "layers: 1, kv_heads: 2, head_dim: 4}",
        f"layers: {len(layers)}, kv_heads: 2, head_dim: 4, places: [{written(layers)}]}}",
    )
    text = text.replace("window, layers: 3,", f"window, layers: {depth},")
    assert list(read(text, Model).layer_groups[0].places.layers) == layers


@pytest.mark.parametrize(
    ("places", "taken"),
    [("2", (2,)), ("[2]", (2,)), ("'2'", (2,)), ("{value: 2, confidence: recalled}", (2,)),
     ("{value: null, note: not published}", None)],
)  # fmt: skip
def test_short_forms(places: str, taken: tuple[int, ...] | None) -> None:
    text = MODEL.replace("head_dim: 4}", f"head_dim: 4, places: {places}}}", 1)
    assert read(text, Model).layer_groups[0].taken(4) == taken


GROUP = "x.yaml:15:5: layer_groups[0]"
PLACES = "x.yaml:15:73: layer_groups[0].places"


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ("[0, 2]", f"{PLACES}: expected 1 layers, found 2 by their places"),
        ("[1, 1]", f"{PLACES}: expected each layer once, found layer 1 again"),
        ("[0-2, 1-3]", f"{PLACES}: expected each layer once, found layer 1 again"),
        ("4", f"{PLACES}: expected layers 0 to 3 of the model, found layer 4"),
        ("[]", f"{PLACES}: expected at least one layer, found an empty list"),
        *(
            (bad, f"{PLACES}: expected layer numbers from 0, or ranges such as 4-7, found {found}")
            for bad, found in (
                ("[3-1]", "'3-1'"), ("[-1]", "-1"), ("[1.5]", "1.5"), ("[x]", "'x'"),
                ("true", "true"), ("[true]", "true"), ("[[1]]", "a list"), ("9999999", "9999999"),
            )
        ),
        (
            "0, first: 0, period: 4, run: 1",
            f"{PLACES}: expected places, or first, period and run, found both",
        ),
    ],
)  # fmt: skip
def test_wrong_places_are_refused(places: str, message: str) -> None:
    text = MODEL.replace("head_dim: 4}", f"head_dim: 4, places: {places}}}", 1)
    assert problems(text, Model) == [message]


def test_a_pattern_has_as_many_layers_as_its_group() -> None:
    text = MODEL.replace("head_dim: 4}", "head_dim: 4, first: 0, period: 2, run: 1}", 1)
    assert problems(text, Model) == [
        "x.yaml:15:36: layer_groups[0].layers: expected 2 layers, as they repeat, found 1"
    ]


def test_two_mixers_do_not_share_a_layer_and_an_index_stands_beside_one() -> None:
    text = MODEL.replace("head_dim: 4}", "head_dim: 4, places: 2}", 1)
    both = text.replace("window: 128 tokens}", "window: 128 tokens, places: [1-3]}")
    assert problems(both, Model) == [
        "x.yaml:16:5: layer_groups[1]: expected layers of no other group, "
        "found 2, which layer_groups[0] has"
    ]
    index = "{kind: index_key, layers: 1, index_heads: 2, index_head_dim: 4, key_bytes: 8 B}"
    beside = text.replace("verification", f"  - {index[:-1]}, places: 2}}\nverification")
    assert read(beside, Model).layer_groups[2].taken(4) == (2,)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("moe_places: [4]", "x.yaml:14:13: moe_places: expected params.experts beside it, "
         "found no such key"),
        ("dense_places: [2-4]", "x.yaml:14:15: dense_places: expected layers 0 to 3 of the model, "
         "found layer 4"),
    ],
)  # fmt: skip
def test_wrong_places_of_feed_forward_are_refused(lines: str, message: str) -> None:
    text = MODEL.replace("tied_embedding: true\n", f"tied_embedding: true\n{lines}\n")
    found = problems(text, Model)
    assert [one.split(":", 3)[3] for one in found] == [message.split(":", 3)[3]]


# ---- counting in every form ---------------------------------------------------------------------

SCOPE = {
    "spots": Type("places", grain=CASE),
    "n": Type("number", whole=True, grain=CASE),
    "share": Type("number", grain=CASE),
    "fits": Type("flag", grain=PLAN),
}
TEXTS = ("", "..*.**...*", ".", "*", "*" * 126, "." * 126, ".*" * 60 + "*")
COUNTS = (-3, 0, 1, 2, 3, 9, 10, 11, 63, 125, 126, 127, 10**13)


def test_counts_are_the_same_in_every_form() -> None:
    tree, kind = Checker(SCOPE).check(parse("count_places(spots, n)"))
    assert (kind.kind, kind.whole, kind.grain) == ("number", True, CASE)
    pairs = [(text, n) for text in (*TEXTS, None) for n in (*COUNTS, None)]
    wanted = [
        None if text is None or n is None or n < 0 else sum(mark != "." for mark in text[:n])
        for text, n in pairs
    ]
    columns = {
        "spots": np.array([text for text, _ in pairs], dtype=object),
        "n": np.array([np.nan if n is None else n for _, n in pairs]),
    }
    found, _ = compile_arrays(tree).run(columns.__getitem__, lambda name: True)
    assert [None if np.isnan(v) else v for v in found] == wanted
    known = [i for i, count in enumerate(wanted) if count is not None]
    fast = {name: column[known] for name, column in columns.items()}
    assert compile_arrays(tree).fast(fast["spots"], fast["n"].astype(float)).tolist() == [
        wanted[i] for i in known
    ]
    rows = ",".join(
        f"{{spots:{'NaN' if t is None else json.dumps(t)},n:{'NaN' if n is None else n}}}"
        for t, n in pairs
    )
    script = calculate_js([f"[{rows}].map(v => {to_js(tree)})"], {}, RUNTIME)[0]
    assert [None if v != v else v for v in script] == wanted
    inputs: dict[str, Any] = {}
    for row, (text, n) in enumerate(pairs, 1):
        inputs |= {
            f"B{row}": "=NA()" if text is None else text,
            f"C{row}": "=NA()" if n is None else n,
        }
    formulas = [
        to_cells(tree, {"spots": f"B{row}", "n": f"C{row}"}.__getitem__, lambda name: name)
        for row in range(1, len(pairs) + 1)
    ]
    for engine in ("formualizer", "libreoffice"):
        cells = calculate_cells(formulas, inputs, engine)
        assert [None if v == "#N/A" else v for v in cells] == wanted, engine


def test_another_word_a_number_and_an_emptied_cell_are_no_count() -> None:
    tree, _ = Checker(SCOPE).check(parse("count_places(spots, n)"))
    formulas = [
        to_cells(tree, {"spots": spots, "n": "C1"}.__getitem__, lambda name: name)
        for spots in ("B1", "B2", "D1", "B4")
    ]
    inputs = {"B1": 111.0, "B2": "unknown", "B4": "*..", "C1": 2.0, "D1": "=INDEX(B1:B4,3)"}
    for engine in ("formualizer", "libreoffice"):
        assert calculate_cells(formulas, inputs, engine) == ["#N/A", "#N/A", "#N/A", 1.0], engine
    script = calculate_js([f"[{{spots:{s},n:2}},{{spots:'*..',n:2}}].map(v => {to_js(tree)})"
                           for s in ("111", "'unknown'")], {}, RUNTIME)  # fmt: skip
    assert [[v[0] != v[0], v[1]] for v in script] == [[True, 1], [True, 1]]
    texts, two = np.array(["unknown", "*.."], dtype=object), np.array([2.0])
    found = compile_arrays(tree).safe(texts, two)
    assert np.isnan(found[0]) and found[1] == 1
    with pytest.raises(FloatingPointError):  # the fast form leaves failures to the safe one
        compile_arrays(tree).fast(texts, two)


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("count_places(n, n)", "places of layers in count_places", "a number in 1"),
        ("count_places(spots, share)", "a whole number in count_places", "a computed fraction"),
        ("spots + 1", "a value in +", "places of layers"),
        ("spots == spots", "a value in ==", "places of layers"),
        ("known(spots)", "a number in known", "places of layers"),
        ("n if fits else spots", "a value in if", "places of layers"),
        ("first_known(spots, n)", "a number in first_known", "places of layers"),
    ],
)
def test_places_are_counted_and_nothing_else(text: str, expected: str, found: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Checker(SCOPE).check(parse(text))
    assert caught.value.found == found and caught.value.expected.startswith(expected.split(" ")[0])


# ---- models and their stages --------------------------------------------------------------------


def test_every_layer_of_every_model_has_its_place() -> None:
    """None is unknown, at whatever number of stages."""
    for model in MODELS:
        facts = CATALOG.facts("model", model)
        groups = [g.facts["group_places"] for g in CATALOG.groups(model)]
        assert None not in [f.value for f in (facts["moe_places"], facts["dense_places"], *groups)]
        assert {len(str(f.value)) for f in groups} == {facts["layers"].value}, model


# Cross attention over an encoder whose length the configuration does not name.
UNKNOWN_KV = ("flan-t5-large", "flan-t5-xl", "flan-t5-xxl")


def test_stages_of_every_model_add_up_to_the_whole(tmp_path: Path) -> None:
    """Layers by group, KV and weights at 1, 2, 4 and 8 stages; nothing of them is unknown."""
    plan = planned(tmp_path, ", ".join(MODELS), *(f"tp: 1, pp: {pp}" for pp in (1, 2, 4, 8)))
    whole = {c.model: i for i, c in enumerate(plan.cases) if c.inputs["pp"] == 1}
    short = {m for m in MODELS if 0 < (CATALOG.model(m).max_context.value or 0) < 4096}
    assert set(whole) == set(MODELS) - short and len(plan.cases) == 4 * len(whole)
    for case, one in enumerate(plan.cases):
        groups, model = plan.inputs.groups[one.model], CATALOG.facts("model", one.model)
        pp = int(float(one.inputs["pp"]))
        for slot, group in enumerate(groups):
            for name, fact in (("layers", "group_layers"), ("caches", "group_cache_layers")):
                counts = [plan.value(f"stage_group_{name}", case, slot, s) for s in range(pp)]
                assert sum(float(n or 0) for n in counts) == group.facts[fact].value, one.id
        weights, kv = (stages(plan, f"stage_{n}", case) for n in ("weights", "kv_per_token"))
        assert None not in weights and (None in kv) == (one.model in UNKNOWN_KV), one.id
        assert one.model in UNKNOWN_KV or sum(kv) == plan.value("kv_per_token", case), one.id
        rows = int(model["vocab_size"].value or 0)
        table = float(model["params_embedding"].value or 0) * (1 + -rows % 64 / rows) * 2
        tied = table if model["tied_embedding"].value and pp > 1 else 0
        wanted = float(plan.value("weights_gpu", whole[one.model]) or 0) + tied
        assert abs(sum(weights) - wanted) <= pp + 1 + 1e-12 * wanted, one.id


IRREGULAR = "jamba-1.5-mini, nemotron-3-nano-30b-a3b, kimi-linear-48b-a3b, nemotron-h-8b"


def test_a_workbook_counts_places_in_its_cells(tmp_path: Path) -> None:
    """Two stages of models whose layers follow no pattern: the book and two spreadsheets agree."""
    made = make(planned(tmp_path, IRREGULAR, "tp: 2, pp: 2", "tp: 4"), bare=True)
    counting = [f for f in made.formulas.values() if "SUBSTITUTE(LEFT(" in f]
    assert len(counting) > 8 * 2 * 2 * 6
    for recalculate in (recalculate_formualizer, recalculate_libreoffice):
        assert differences(made.stored, recalculate(made.path)) == []


# ---- the importer -------------------------------------------------------------------------------

NEMOTRON = {
    "hybrid_override_pattern": "M-M*-M*EEM", "num_hidden_layers": 10, "head_dim": 16,
    "mamba_num_heads": 4, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 16,
    "conv_kernel": 4, "mamba_ssm_cache_dtype": "float32", "n_routed_experts": 8,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1,
    "moe_shared_expert_intermediate_size": 48, "num_nextn_predict_layers": 0,
}  # fmt: skip


def test_the_importer_writes_places(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text_of("nemotron_h", **NEMOTRON), encoding="utf-8")
    found = import_model(path, id="mixed", vendor="*")
    assert "\nmoe_places: [7-8]\ndense_places: [1, 4]\n" in found.text
    assert [line.strip() for line in found.text.splitlines() if "  places:" in line] == [
        "places: [0, 2, 5, 9]", "places: [3, 6]",
    ]  # fmt: skip
    (tmp_path / "own" / "models").mkdir(parents=True)
    (tmp_path / "own" / "models" / "mixed.yaml").write_text(found.text, encoding="utf-8")
    catalog = Catalog.open([tmp_path / "own"])
    groups = [g.facts["group_places"] for g in catalog.groups("mixed")]
    assert [(f.value, f.confidence) for f in groups] == [
        ("*.*..*...*", "config"), ("...*..*...", "config"),
    ]  # fmt: skip
    facts = catalog.facts("model", "mixed")
    assert facts["moe_places"].value == ".......**."
    assert facts["dense_places"].value == ".*..*....."


def test_the_importer_writes_a_pattern_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    keys = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    path.write_text(text_of("qwen3_moe", decoder_sparse_step=2, **keys), encoding="utf-8")
    text = import_model(path, id="even", vendor="*").text
    assert "\nmoe_first: 1\nmoe_period: 2\n" in text and "places" not in text
    path.write_text(text_of("qwen3_moe", mlp_only_layers=[0, 3], **keys), encoding="utf-8")
    text = import_model(path, id="odd", vendor="*").text
    assert "\nmoe_places: [1-2, 4-7]\n" in text and "dense_places" not in text
