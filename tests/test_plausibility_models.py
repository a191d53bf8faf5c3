"""A planted fault for each rule on models and formats, and that plans warn of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Caller

from planner.catalog import Catalog

Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path: Path, repository: Path) -> Check:
    """A copy of a shipped entry with replaced texts, checked together with all others."""

    def run(place: str, *changes: tuple[str, str]) -> list[str]:
        text = (repository / "catalogs" / f"{place}.yaml").read_text("utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / f"{place}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return [
            f"{p.where}: expected {p.expected}, found {p.found}"
            + (f" | {p.hint}" if p.hint else "")
            for p in Catalog.open([tmp_path]).check()
        ]

    return run


LOOKS = "these look like query heads; the memory of KV follows KV heads"


@pytest.mark.parametrize(
    ("place", "old", "new", "message"),
    [
        # query heads as KV heads
        (
            "models/llama-3.1-70b", "kv_heads: 8,", "kv_heads: 64,",
            "layer_groups[0].kv_heads: expected KV heads whose projections fit into the "
            "12,079,595,520 params of attention, found 64 heads, with which they take "
            f"21,474,836,480 | {LOOKS}: 8 would fit",
        ),
        (
            "models/qwen2.5-7b", "kv_heads: 4,", "kv_heads: 28,",
            "layer_groups[0].kv_heads: expected KV heads whose projections fit into the "
            "822,212,608 params of attention, found 28 heads, with which they take "
            f"1,438,646,272 | {LOOKS}: 4 would fit",
        ),
        (
            "models/qwen3-next-80b", "kv_heads: 2,", "kv_heads: 16,",
            "layer_groups[0].kv_heads: expected KV heads whose projections fit into the "
            "327,155,712 params of attention, found 16 heads, with which they take 402,653,184 "
            f"| {LOOKS}",
        ),
        (
            "models/llama-3.1-70b", "kv_heads: 8,", "kv_heads: 128,",
            "layer_groups[0].kv_heads: expected a divisor of the 64 query heads, found 128",
        ),
        (
            "models/llama-3.1-70b", "kv_heads: 8,", "kv_heads: 7,",
            "layer_groups[0].kv_heads: expected a divisor of the 64 query heads, found 7",
        ),
        # a hidden size that slipped by a digit
        (
            "models/llama-3.1-70b", "hidden_size: 8192", "hidden_size: 8196",
            "hidden_size: expected a divisor of the 1,050,673,152 params of the embedding, "
            "found 8196",
        ),
        # more experts per token than experts
        (
            "models/qwen3-30b-a3b", "experts_per_token: 8", "experts_per_token: 800",
            "experts_per_token: expected at most the 128 experts, found 800",
        ),
        # layers
        (
            "models/llama-3.1-70b", "layers: 80, kv", "layers: 8, kv",
            "layer_groups: expected groups that cover the 80 layers of the model, found 8 layers",
        ),
        (
            "models/deepseek-v3", "layers: 61, mtp_layers", "layers: 60, mtp_layers",
            "layer_groups: expected groups that cover the 61 layers of the model, found 60 layers",
        ),
        # bits as bytes, and a format that is smaller than its name
        (
            "formats/fp8", "element: {value: 1 B", "element: {value: 8 B",
            "kv.element: expected 0.1 to 4.5 bytes for an element, found 8 byte "
            "| 8 bits are a byte",
        ),
        (
            "formats/mxfp4", "expert: {value: 0.53125 B", "expert: {value: 0.25 B",
            "weight.expert: expected at least 0.5 byte, the 4 bits of its name, found 0.25 byte "
            "| 8 bits are a byte",
        ),
    ],
)  # fmt: skip
def test_planted_fault_is_found(place: str, old: str, new: str, message: str, check: Check) -> None:
    assert message in check(place, (old, new))


@pytest.mark.parametrize(
    ("place", "old", "new", "covered"),
    [
        ("models/nemotron-3-nano-30b-a3b", "layers: 6\n", "layers: 5\n", "52 layers, 28"),
        ("models/nemotron-3-nano-30b-a3b", "layers: 23\n", "layers: 20\n", "52 layers, 26"),
        ("models/jamba-1.5-mini", "layers: 28\n", "layers: 27\n", "32 layers, 31"),
    ],
)
def test_hybrids_without_places_still_account_for_all_mixers(
    place: str, old: str, new: str, covered: str, check: Check, repository: Path
) -> None:
    """Layers without a mixer are right where the groups hold all parameters of mixers."""
    text = (repository / "catalogs" / f"{place}.yaml").read_text("utf-8")
    places = [(line, "") for line in text.splitlines(keepends=True) if line[:11] == "    places:"]
    assert places and check(place, *places) == []
    total, found = covered.split(", ")
    wanted = (
        f"layer_groups: expected groups that cover the {total} of the model, found {found} layers"
    )
    assert wanted in check(place, *places, (old, new))


def test_active_parameters_as_the_total_are_found(check: Check) -> None:
    """The experts of Qwen3-30B-A3B counted as the 8 of 128 that a token visits."""
    experts, total = 28_991_029_248, 30_532_122_624
    active = experts * 8 // 128
    found = check(
        "models/qwen3-30b-a3b",
        (f"experts: {{value: {experts} params", f"experts: {{value: {active} params"),
        (f"total: {{value: {total} params", f"total: {{value: {total - experts + active} params"),
    )
    assert found == [
        "params.total: expected about 30 billion, as the name says, found 3.35 billion "
        "| memory holds all experts, not only the active parameters"
    ]


def test_active_parameters_are_no_component(check: Check) -> None:
    (found,) = check("models/qwen3-30b-a3b", ("params:\n", "params:\n  active: 3.3 Gparam\n"))
    assert found == (
        "params.active: expected a component that is stored, found the unknown key 'active' "
        "| memory holds every expert; what a token visits follows from experts_per_token"
    )


def test_shipped_models_pass_where_names_and_shapes_are_unusual() -> None:
    """8x7B is 46.7 billion, and a gated attention holds more than its four projections."""
    catalog = Catalog.open()
    assert catalog.doubts([("model", word) for word in catalog.ids("model")]) == []
    assert round((catalog.model("mixtral-8x7b").params.total.value or 0) / 1e9, 1) == 46.7


# ---- warnings while planning ----


def test_a_plan_warns_of_own_entries_and_goes_on(capsheet: Caller, repository: Path) -> None:
    models = repository / "catalogs" / "models"
    text = (models / "qwen3-8b.yaml").read_text("utf-8")
    capsheet.write("mine/models/qwen3-8b.yaml", text.replace("kv_heads: 8,", "kv_heads: 32,"))
    gpu = (repository / "catalogs" / "gpus" / "h100-sxm.yaml").read_text("utf-8")
    capsheet.write("mine/gpus/h100-sxm.yaml", gpu.replace("{value: 80 GB,", "{value: 80 GiB,"))
    done = capsheet("plan", "small.yaml", "--catalog", "mine", "--json")
    assert done.code == 0
    assert "doubtful mine/models/qwen3-8b.yaml:" in done.err
    assert "these look like query heads" in done.err and "8 would fit" in done.err
    assert "doubtful mine/gpus/h100-sxm.yaml:" in done.err
    assert "the number on the box is decimal: write 80 GB" in done.err
    assert capsheet("check", "mine").code == 2


def test_a_plan_of_shipped_entries_warns_of_nothing(capsheet: Caller) -> None:
    assert "doubtful" not in capsheet("plan", "small.yaml", "--json").err
