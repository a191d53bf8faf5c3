"""Engine and format entries, schemas for editors, and the walk over figures."""

from __future__ import annotations

import pytest
from support.records import MODEL, problems, read

from planner.figures import figures
from planner.records import Engine, Format, Gpu, Model, Record

# ---- engines and formats ----


def test_engine_basis_is_a_word() -> None:
    text = (
        "id: e\nlabel: E\nmemory_basis: {value: framwork, confidence: recalled}\n"
        "block_size: {value: 16 tokens, confidence: recalled}\ndefaults: {}\n"
    )
    assert problems(text, Engine) == [
        "x.yaml:3:23: memory_basis.value: expected one of framework, device, marketed, "
        "found 'framwork' | did you mean 'framework'?",
        "x.yaml:5:11: defaults.hot_experts: expected a value, found no such key",
        "x.yaml:5:11: defaults.hot_traffic: expected a value, found no such key",
        "x.yaml:5:11: defaults.reserve: expected a value, found no such key",
    ]


def test_format_needs_a_block() -> None:
    assert problems("id: f\nlabel: F\n", Format) == [
        "x.yaml:1:1: expected a weight: or kv: block, found neither"
    ]


# ---- schema for editors ----


@pytest.mark.parametrize("kind", [Model, Gpu, Engine, Format])
def test_json_schema_allows_both_forms(kind: type[Record]) -> None:
    parts = kind.model_json_schema()["$defs"]
    sizes = [parts[name] for name in ("Bytes", "Tokens", "Params") if name in parts]
    assert sizes
    for part in sizes:
        plain, full = part["anyOf"]
        assert plain["type"] == ["string", "null"]
        assert full["additionalProperties"] is False
        assert set(full["properties"]) == {"value", "source", "confidence", "note"}


def test_figures_are_walked_with_their_paths() -> None:
    found = {key: figure.value for key, figure in figures(read(MODEL, Model))}
    assert found[("layer_groups", 1, "window")] == 128
    assert found[("params", "norm")] == 20
    assert all(isinstance(key, tuple) for key in found)
