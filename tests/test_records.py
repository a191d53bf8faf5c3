"""Catalog schemas: units, sources, dense peaks, and messages that name place and way out."""

from __future__ import annotations

import pytest
from support.records import GPU, MODEL, problems, read

from planner.records import Model


def test_quantities_come_in_base_units() -> None:
    gpu = read(GPU)
    assert gpu.memory.marketed.value == 80e9
    assert gpu.memory.device.value == 81559 * 2**20
    assert gpu.memory_bandwidth.value == 3.35e12
    assert gpu.peak_dense.bf16.value == 989.5e12


def test_unknown_stays_unknown() -> None:
    gpu = read(GPU)
    assert gpu.memory.framework.value is None
    assert gpu.peak_dense.fp8.value is None and gpu.peak_dense.fp8.note == "not published"
    assert gpu.peak_dense.fp4 is None


def test_plain_figures_take_the_default_source_and_its_confidence() -> None:
    gpu = read(GPU)
    assert (gpu.memory.marketed.source, gpu.memory.marketed.confidence) == (
        ("default",),
        "datasheet",
    )
    assert (gpu.memory.device.source, gpu.memory.device.confidence) == (("log",), "log")


def test_records_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(GPU).label = "other"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "3.35 TB/s",
            "3.35",
            "x.yaml:9:19: memory_bandwidth: expected a number with a unit such as 3.35 TB/s, "
            "found the bare number 3.35 | add the unit: '3.35 TB/s'",
        ),
        (
            "3.35 TB/s",
            "{value: 3350}",
            "x.yaml:9:27: memory_bandwidth.value: expected a number with a unit such as "
            "3.35 TB/s, found the bare number 3350 | add the unit: '3350 TB/s'",
        ),
        (
            "3.35 TB/s",
            "3.35 TB",
            "x.yaml:9:19: memory_bandwidth: expected a unit of byte/s, found TB (byte)",
        ),
        (
            "3.35 TB/s",
            "fast",
            "x.yaml:9:19: memory_bandwidth: expected a number with a unit such as 3.35 TB/s, "
            "found 'fast'",
        ),
        (
            "3.35 TB/s",
            "-1 TB/s",
            "x.yaml:9:19: memory_bandwidth: expected 0 or more, found '-1 TB/s'",
        ),
        (
            "8 GPU",
            "7.5 GPU",
            "x.yaml:11:24: scale_up.max_domain: expected a whole number, found '7.5 GPU'",
        ),
        (
            "80 GB,",
            "80 Gb,",
            "x.yaml:8:20: memory.marketed: expected a known unit, found 'Gb' | "
            "write GB for bytes or Gbit for bits",
        ),
    ],
)
def test_figures_need_the_right_unit(old: str, new: str, message: str) -> None:
    assert problems(GPU.replace(old, new, 1)) == [message]


DENSE = (
    "only dense peaks are planned with: write peak_dense, and halve a figure that is printed "
    "with 2:4 sparsity"
)


@pytest.mark.parametrize(
    "key", ["peak", "flops", "tflops", "peak_sparse", "peak_tflops", "peak_dense_tflops", "tops"]
)
def test_flops_that_are_not_marked_dense_are_refused(key: str) -> None:
    assert problems(GPU + f"{key}: {{bf16: 1979 TFLOP/s}}\n") == [
        f"x.yaml:15:1: {key}: expected peak_dense, the only spelling of FLOPS, "
        f"found the unknown key '{key}' | {DENSE}"
    ]


def test_sparse_figure_among_the_dense_ones_is_refused() -> None:
    text = GPU.replace("{bf16:", "{bf16_sparse: 1979 TFLOP/s, bf16:")
    assert problems(text) == [
        "x.yaml:10:14: peak_dense.bf16_sparse: expected a dense figure, "
        f"found the unknown key 'bf16_sparse' | {DENSE}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "source: log",
            "source: lgo",
            "x.yaml:8:62: memory.device.source: expected the id of a source of this file, "
            "found 'lgo' | did you mean 'log'?",
        ),
        (
            "source: log",
            "source: [default, nowhere]",
            "x.yaml:8:72: memory.device.source[1]: expected the id of a source of this file, "
            "found 'nowhere'",
        ),
        (
            "via: default",
            "via: defalt",
            "x.yaml:14:51: sources.log.via: expected the id of a source of this file, "
            "found 'defalt' | did you mean 'default'?",
        ),
        (
            "confidence: log",
            "confidence: logg",
            "x.yaml:14:41: sources.log.confidence: expected one of datasheet, vendor page, log, "
            "third party, announced, config, derived, recalled, assumed, found 'logg' | "
            "did you mean 'log'?",
        ),
        (
            '"https://vendor.example/sheet.pdf"',
            "shelf",
            "x.yaml:13:37: sources.default.url: expected an address that starts with https://, "
            "found 'shelf'",
        ),
    ],
)
def test_figures_resolve_to_sources(old: str, new: str, message: str) -> None:
    assert message in problems(GPU.replace(old, new, 1))


def test_figure_without_any_source_is_refused() -> None:
    text = GPU.replace("  default:", "  sheet:").replace("via: default", "via: sheet")
    assert (
        "x.yaml:9:19: memory_bandwidth: expected a source, found none | "
        "name one of this file, or write sources.default"
    ) in problems(text)


def test_figure_without_confidence_is_refused() -> None:
    text = GPU.replace(", confidence: log", "")
    (found,) = problems(text)
    assert found.startswith("x.yaml:8:35: memory.device: expected a confidence, found none")


def test_recalled_figure_stands_alone_and_assumed_one_needs_a_reason() -> None:
    gpu = read(GPU.replace("81559 MiB, source: log", "81559 MiB, confidence: recalled"))
    assert (gpu.memory.device.source, gpu.memory.device.confidence) == ((), "recalled")
    text = GPU.replace("81559 MiB, source: log", "81559 MiB, confidence: assumed")
    assert problems(text) == [
        "x.yaml:8:66: memory.device.confidence: expected a note that gives the reason, found none"
    ]


def test_all_problems_of_a_file_come_together() -> None:
    text = GPU.replace("vendor: Example", "vendr: 4").replace("shipping", "shiping")
    found = problems(text.replace("generation: 2", "generation: yes").replace("3.35 TB/s", "3"))
    assert [line.split(" expected")[0] for line in found] == [
        "x.yaml:1:1: vendor:",
        "x.yaml:3:1: vendr:",
        "x.yaml:6:13: generation:",
        "x.yaml:7:9: status:",
        "x.yaml:9:19: memory_bandwidth:",
    ]
    assert found[1].endswith("found the unknown key 'vendr' | did you mean 'vendor'?")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml: expected a mapping, found nothing"),
        ("- a", "x.yaml:1:1: expected a mapping, found a list"),
        ("80 GB", "x.yaml:1:1: expected a mapping, found '80 GB'"),
    ],
)
def test_file_that_is_no_entry(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_id_that_reads_as_a_number_asks_for_quotes() -> None:
    (found,) = problems(GPU.replace("id: example-80", "id: 4090"))
    assert found == "x.yaml:1:5: id: expected a text, found 4090 | put it in quotes"


@pytest.mark.parametrize("word", ["Upper", "under_score", "sp ace", "../up", "4090", "a/b"])
def test_ids_are_slugs(word: str) -> None:
    assert problems(GPU.replace("id: example-80", f"id: '{word}'")) == [
        f"x.yaml:1:6: id: expected small letters, digits, '.' and '-', "
        f"a letter among them, found '{word}'"
    ]


# ---- models ----


def test_model_reads() -> None:
    model = read(MODEL, Model)
    assert model.params.total.value == 100
    assert model.layer_groups[1].window.value == 128


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "norm: 20 params",
            "norm: 21 params",
            "x.yaml:13:17: params.total: expected the sum of the components, 101 params, "
            "found 100 params",
        ),
        (
            "80 params, norm",
            "80, norm",
            "x.yaml:13:40: params.embedding: expected a number with a unit such as 1 param, "
            "found the bare number 80 | add the unit: '80 param'",
        ),
        (
            "4096 tokens",
            "4096",
            "x.yaml:11:14: max_context: expected a number with a unit such as 8192 tokens, "
            "found the bare number 4096 | add the unit: '4096 tokens'",
        ),
        (
            "kind: full_attention",
            "kind: full_atention",
            "x.yaml:15:12: layer_groups[0].kind: expected one of full_attention, sliding_window, "
            "chunked_local, cross_attention, encoder_only, mla, index_key, compressed_mla, "
            "sliding_window_mla, compressed_index_key, compressor_state, pool_tail, gdn, kda, "
            "mamba1, mamba2, lightning, short_conv, found 'full_atention' | did you mean "
            "'full_attention'?",
        ),
        (
            "1, kv_heads: 2, ",
            "1, ",
            "x.yaml:15:5: layer_groups[0]: expected 'kv_heads' for full_attention, "
            "found no such key | one of q_heads, kv_heads, key_dim, value_dim, head_dim",
        ),
        (
            "head_dim: 4}",
            "head_dim: 4, window: 8 tokens}",
            "x.yaml:15:73: layer_groups[0].window: expected one of q_heads, kv_heads, key_dim, "
            "value_dim, head_dim, v_projection, kv_bias, read_limit, q_lora_rank, scale_sets, "
            "found 'window' | full_attention has none",
        ),
        (
            "head_dim: 4}",
            "head_dim: 4, first: 1}",
            "x.yaml:15:5: layer_groups[0]: expected first, period and run together, "
            "found only first",
        ),
        (
            "head_dim: 4}",
            "head_dim: 4, shared_layers: 99}",
            "x.yaml:15:80: layer_groups[0].shared_layers: expected at most the 1 layers of the "
            "group, found 99",
        ),
        (
            "tied_embedding: true",
            "tied_embedding: true\nexperts: 8",
            "x.yaml:13:10: experts: expected params.experts beside it, "
            "found a model without experts",
        ),
        (
            "norm: 20 params",
            "lm_head: 20 params",
            "x.yaml:13:60: params.lm_head: expected 0 or no key, as the embedding is tied, "
            "found 20 params",
        ),
        (
            "norm: 20 params",
            "experts: 20 params",
            "x.yaml:1:1: experts: expected a count, as params.experts is given, found no such key",
        ),
        (
            "source: default}\nweight",
            "source: hub}\nweight",
            "x.yaml:5:37: config_source.source: expected the id of a source of this file, "
            "found 'hub'",
        ),
    ],
)
def test_model_that_contradicts_itself(old: str, new: str, message: str) -> None:
    assert MODEL.replace(old, new, 1) != MODEL
    assert problems(MODEL.replace(old, new, 1), Model) == [message]


def test_seven_layer_groups_are_too_many() -> None:
    row = "  - {kind: full_attention, layers: 1, kv_heads: 2, head_dim: 4}\n"
    (found,) = problems(MODEL.replace(row, row * 6), Model)
    assert "layer_groups: expected at most 6 entries, found 7 of them" in found
