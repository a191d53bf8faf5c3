"""Reading a ``config.json``: families, sections, spellings, defaults, places, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.hf import SIZES, config_of, text_of

from planner.errors import InputError
from planner.importers.hf_config import CONFIG, DEFAULT, parse_config, read_config
from planner.importers.hf_families import FAMILIES, SPELLINGS, defaults_of
from planner.yamlfile import path_text


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_config(text, "config.json")
    return str(caught.value)


def test_names_belong_to_one_family_each() -> None:
    types = [name for family in FAMILIES for name in family.model_types]
    assert len(types) == len(set(types))
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_the_text_tower_comes_first_and_the_outer_mapping_second() -> None:
    text = {"model_type": "gemma3_text", "hidden_size": 64, "head_dim": 16}
    outer = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
             "text_config": text, "hidden_size": 7, "torch_dtype": "bfloat16",
             "vision_config": {"hidden_size": 99}}  # fmt: skip
    config = parse_config(json.dumps(outer))
    assert (config.family.name, config.model_type) == ("gemma3", "gemma3_text")
    assert config.get("hidden_size") == 64
    assert config.get("dtype") == "bfloat16"
    assert path_text(config.readings["hidden_size"].path) == "text_config.hidden_size"
    assert path_text(config.readings["dtype"].path) == "torch_dtype"
    tower = config.section("vision_config")
    assert tower is not None and tower.get("hidden_size") == 99
    assert tower.get("num_attention_heads") is None  # a nested part has no defaults
    assert config.looked_at() == (
        "text_config.model_type", "text_config.hidden_size", "torch_dtype",
        "vision_config.hidden_size",
    )  # fmt: skip


@pytest.mark.parametrize("section", ["text_config", "llm_config", "language_config"])
def test_other_names_of_the_text_section(section: str) -> None:
    text = json.loads(text_of("kimi_k2"))
    outer = {"model_type": "kimi_k25", section: text}
    assert parse_config(json.dumps(outer)).whole("hidden_size") == 64


@pytest.mark.parametrize(("key", "others"), SPELLINGS.items())
def test_spellings(key: str, others: tuple[str, ...]) -> None:
    for name in others:
        text = {"model_type": "kimi_k2", name: 5}
        config = parse_config(json.dumps(text))
        assert config.get(key) == 5 and config.readings[key].key == name
        assert config.readings[key].place == name


def test_spellings_of_one_family() -> None:
    config = parse_config('{"model_type": "whisper", "decoder_layers": 3, "encoder_layers": 5}')
    assert config.whole("num_hidden_layers") == 3
    config = parse_config('{"model_type": "openelm", "model_dim": 64}')
    assert config.whole("hidden_size") == 64


def test_defaults_of_transformers_stand_in_for_absent_keys_and_say_so() -> None:
    config = config_of("mistral", num_key_value_heads=..., sliding_window=None)
    assert config.get("num_key_value_heads") == 8
    assert config.readings["num_key_value_heads"].origin == DEFAULT
    assert config.readings["num_key_value_heads"].place == (
        "num_key_value_heads, default of transformers"
    )
    assert config.get("sliding_window") is None  # null is null
    assert config.readings["sliding_window"].origin == CONFIG
    assert config.get("nothing_of_this_name") is None
    assert list(config.missing) == ["nothing_of_this_name"]


def test_a_type_that_transformers_does_not_know_has_no_defaults() -> None:
    assert defaults_of("kimi_k2") == {}
    with pytest.raises(InputError) as caught:
        config_of("kimi_k2", hidden_size=...).whole("hidden_size")
    assert "hidden_size: expected a value, found no such key" in str(caught.value)


def test_computed_layer_types_are_a_default_too() -> None:
    config = config_of("gemma2", sliding_window=16, layer_types=None)
    assert config.get("layer_types") == ["sliding_attention", "full_attention"] * 4
    assert config.readings["layer_types"].origin == DEFAULT


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"model_type": "gpt_os", "architectures": ["GptOsForCausalLM"]},
            "config.json:1:17: model_type: expected an architecture that the importer knows, one "
            "of arcee, bailing_hybrid, bamba, bert and 101 more, found 'gpt_os'",
        ),
        (
            {"architectures": ["LlamaForCausalLM"]},
            "config.json:1:1: model_type: expected an architecture that the importer knows, one "
            "of arcee, bailing_hybrid, bamba, bert and 101 more, found no model_type",
        ),
        (
            {"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"]},
            "config.json:1:44: architectures[0]: expected one of LlamaForCausalLM, LlamaModel, "
            "found 'LlamaForCausalLMEagle3'",
        ),
        (
            {"model_type": "qwen2_audio", "text_config": {"model_type": "qwen2"}},
            "config.json:1:17: model_type: expected the model of a qwen2 text tower, one of qwen2, "
            "found 'qwen2_audio'",
        ),
    ],
)  # fmt: skip
def test_an_architecture_that_is_not_known_is_refused(data: dict[str, Any], said: str) -> None:
    assert message(json.dumps(data)).splitlines()[0] == said


def test_a_refusal_names_the_nearest_and_all_that_was_looked_at() -> None:
    text = json.dumps({"model_type": "outer", "text_config": {"model_type": "qwen3next"}})
    assert message(text).splitlines()[-1] == (
        "  hint: did you mean 'qwen3_next'? looked at model_type outer, architectures (absent), "
        "text_config.model_type qwen3next"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "config.json:1:1: expected JSON, found expecting value"),
        ("{'a': 1}", "config.json:1:2: expected JSON, found expecting property name enclosed in"),
        ("[1]", "config.json:1:1: expected a JSON mapping, found a list"),
        ('{"a": 1, "a": 2}', "config.json: a: expected each key once, found a repeat"),
        ("[" * 5000 + "]" * 5000, "config.json: expected fewer levels, found deep nesting"),
    ],
)
def test_what_is_no_configuration(text: str, said: str) -> None:
    assert message(text).splitlines()[0].startswith(said)


def test_places_are_told_whatever_the_layout() -> None:
    """Escapes that only JSON has cost the line and column, and nothing else."""
    text = json.dumps({"model_type": "llama", "x": "\n"} | SIZES | {"hidden_size": "wide"})
    with pytest.raises(InputError) as caught:
        parse_config(text).whole("hidden_size")
    assert "hidden_size: expected a whole number, found 'wide'" in str(caught.value)
    with pytest.raises(InputError) as caught:
        parse_config(text.replace("\\n", "\\ud83d\\ude00")).whole("hidden_size")
    assert str(caught.value) == ("config.json: hidden_size: expected a whole number, found 'wide'")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "1.5", "true", '"7"', "[7]"])
def test_what_is_no_whole_number(number: str) -> None:
    config = parse_config(f'{{"model_type": "llama", "hidden_size": {number}}}')
    with pytest.raises(InputError):
        config.whole("hidden_size")


def test_flags_lists_and_numbers_that_may_be_absent() -> None:
    config = config_of("llama", attention_bias=True, wide="yes", some=[1, 2])
    assert config.flag("attention_bias") and not config.flag("absent_flag")
    assert config.items("some", 2) == [1, 2] and config.whole_or("absent_number", 3) == 3
    for call in (
        lambda: config.flag("wide"), lambda: config.items("wide"),
        lambda: config.items("some", 3),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name, content, said in (
        ("absent.json", None, "absent.json: expected a readable file, found no such file or"),
        ("bytes.json", b"\xff{}", "bytes.json: expected UTF-8 text, found other bytes"),
        ("big.json", b" " * (8 * 2**20 + 1), "big.json: expected at most 8 MiB of JSON, found"),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_config(path)
        assert str(caught.value).startswith(said)


def test_defaults_hold_plain_figures_of_known_types() -> None:
    known = {name for family in FAMILIES for name in family.model_types}
    file = Path(__file__).parents[1] / "planner" / "importers" / "hf_defaults.yaml"
    table = yaml.safe_load(file.read_text("utf-8"))
    assert set(table) <= known
    for keys in table.values():
        assert all(isinstance(v, (bool, int, str, list)) for v in keys.values())
