"""From a configuration to a catalog entry: its text, its checks, the command, the hub."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command import Caller
from support.golden import Golden
from support.hf import text_of

from planner.catalog import Catalog
from planner.errors import InputError
from planner.importers.hf_entry import slug
from planner.importers.huggingface import Imported, import_from_hub, import_model

HERE = Path(__file__).parent
SEEING = {
    "model_type": "gemma3",
    "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {
        "model_type": "gemma3_text", "num_hidden_layers": 6, "hidden_size": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 32,
        "intermediate_size": 96, "max_position_embeddings": 1000,
    },
    "torch_dtype": "bfloat16",
}  # fmt: skip
SPARSE: dict[str, Any] = {
    "num_hidden_layers": 4, "num_key_value_heads": 4, "kv_lora_rank": 32, "q_lora_rank": 24,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "index_n_heads": 2,
    "index_head_dim": 128, "index_topk": 64, "n_routed_experts": 8, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1, "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}  # fmt: skip


def imported(tmp_path: Path, text: str, **names: str) -> Imported:
    path = tmp_path / "given" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return import_model(path, **names)


def test_entry_of_a_multimodal_model(tmp_path: Path, golden: Golden) -> None:
    found = imported(tmp_path, json.dumps(SEEING), id="seeing", label="Seeing 4B", vendor="A: B")
    golden.check(HERE / "golden" / "import-seeing.yaml", found.text, "import-seeing.yaml")


def test_entry_of_a_sparse_quantised_model(tmp_path: Path, golden: Golden) -> None:
    text = text_of("deepseek_v32", architectures=["DeepseekV32ForCausalLM"], **SPARSE)
    found = imported(tmp_path, text, hf_id="someone/Sparse-1B")
    golden.check(HERE / "golden" / "import-sparse.yaml", found.text, "import-sparse.yaml")
    assert (found.id, found.format_id) == ("sparse-1b", "") and found.warnings == ()


def test_entries_are_read_by_the_catalog(tmp_path: Path) -> None:
    text = text_of("deepseek_v32", **SPARSE)
    found = imported(tmp_path, text, id="sparse", vendor="x")
    for name, content in found.files().items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(content, encoding="utf-8")
    catalog = Catalog.open([tmp_path / "own"])
    facts = catalog.facts("model", "sparse")
    assert facts["params_experts"].value == 3 * 8 * 3 * 64 * 32
    assert (facts["layers"].value, facts["hidden_size"].confidence) == (4, "config")
    latent, index = catalog.groups("sparse")
    assert latent.facts["group_key_dim"].value == 40
    assert latent.facts["group_places"].value == "****"  # every layer of the model
    assert (facts["moe_places"].value, facts["dense_places"].value) == (".***", "*...")
    assert latent.facts["group_replicated_params"].value == 64 * (24 + 32 + 8)
    assert latent.facts["group_kv_params"].value == 0
    assert index.facts["group_replicated_params"].value == (
        24 * 2 * 128 + 64 * 128 + 64 * 2 + 2 * 128
    )
    assert facts["params_indexer"].value == 4 * index.facts["group_replicated_params"].value


def test_same_input_same_bytes(tmp_path: Path) -> None:
    text = text_of("deepseek_v32", **SPARSE)
    assert imported(tmp_path, text) == imported(tmp_path, text)


def test_a_format_of_its_own(tmp_path: Path) -> None:
    section = {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["*attn*"]}
    text = text_of("llama", quantization_config=section)
    found = imported(tmp_path, text, id="mixed", vendor="x")
    assert "weight_format: mixed-weights" in found.text
    assert list(found.files()) == ["models/mixed.yaml", "formats/mixed-weights.yaml"]
    said = "no shipped weight format has these widths: it needs 'mixed-weights'"
    assert found.warnings == (said,)
    assert "Kept in 16 bit: attention, embedding, lm_head, norm." in found.text


def test_what_stays_unknown_is_said(tmp_path: Path) -> None:
    text = dict(SEEING, model_type="gemma3", audio_config={"hidden_size": 3})
    text["text_config"] = SEEING["text_config"]
    found = imported(tmp_path, json.dumps(text), id="a")
    assert found.warnings == ("the vendor is unknown: name it with --vendor",)
    found = imported(tmp_path, text_of("t5", d_kv=16, d_ff=32, max_position_embeddings=...), id="t")
    assert "max_context: {value: null, confidence: derived" in found.text
    assert "tokens: {value: null, confidence: derived" in found.text
    for facts in Catalog.open([_catalog(tmp_path, found)]).groups("t"):
        known = facts.facts["group_fixed_tokens"].value
        assert known == (None if facts.kind == "cross_attention" else 0)


def _catalog(folder: Path, found: Imported) -> Path:
    for name, content in found.files().items():
        (folder / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "own" / name).write_text(content, encoding="utf-8")
    return folder / "own"


def test_embedders_have_no_head_and_no_cache(tmp_path: Path) -> None:
    text = text_of("qwen3", architectures=["Qwen3Model"], head_dim=16, tie_word_embeddings=False)
    assert "lm_head" not in imported(tmp_path, text, id="e").text
    text = text_of("xlm-roberta", max_position_embeddings=514, torch_dtype="float32")
    found = imported(tmp_path, text, id="e")
    assert "kind: encoder_only" in found.text and "weight_format: fp32" in found.text
    assert "max_context: {value: 512 tokens, confidence: derived" in found.text


def test_experts_of_a_token_may_be_repeated_for_each_layer(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"num_experts": 8, "num_shared_expert": 1, "moe_intermediate_size": 32}
    found = imported(tmp_path, text_of("hunyuan", moe_topk=[2] * 8, **keys), id="h")
    assert "experts_per_token: 2 " in found.text
    for odd in ([2, 3], [[2]], [True], []):
        with pytest.raises(InputError, match="the same number for all layers"):
            imported(tmp_path, text_of("hunyuan", moe_topk=odd, **keys), id="h")


@pytest.mark.parametrize(
    ("text", "id"),
    [("Qwen3-8B", "qwen3-8b"), ("a_B c", "a-b-c"), ("--x--", "x"), ("é.1a", "1a")],
)
def test_slug(text: str, id: str) -> None:
    assert slug(text) == id


def test_names_come_from_the_hub_id_the_folder_or_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "My_Model"
    folder.mkdir()
    (folder / "config.json").write_text(text_of("llama"), encoding="utf-8")
    assert import_model(folder).id == "my-model"
    other = folder / "other-1b.json"
    other.write_text(text_of("llama"), encoding="utf-8")
    assert import_model(other).id == "other-1b"
    found = import_model(folder, hf_id="someone/Name-7B")
    assert (found.id, found.warnings) == ("name-7b", ())
    assert str(tmp_path) not in found.text and "config.json of someone/Name-7B" in found.text
    with pytest.raises(InputError) as caught:
        import_model(Path(folder.name) / "config.json")
    assert "expected a readable file" in str(caught.value)
    for bad in ("name", "a/b/c", "../x", "a/b c"):
        with pytest.raises(InputError, match="expected owner/name"):
            import_model(folder, hf_id=bad)
    with pytest.raises(InputError, match="expected a name with a letter"):
        import_model(folder, id="42")


# ---- weight files beside it -------------------------------------------------------------------


def shard(path: Path, shapes: dict[str, list[int]]) -> None:
    """A safetensors file of zeros."""
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 2
        for length in shape:
            size *= length
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(end))


def weights(**more: list[int]) -> dict[str, list[int]]:
    shapes = {"model.embed_tokens.weight": [100, 64], "lm_head.weight": [100, 64],
              "model.norm.weight": [64]}  # fmt: skip
    for name, shape in {
        "self_attn.q_proj": [64, 64], "self_attn.k_proj": [32, 64], "self_attn.v_proj": [32, 64],
        "self_attn.o_proj": [64, 64], "mlp.gate_proj": [96, 64], "mlp.up_proj": [96, 64],
        "mlp.down_proj": [64, 96], "input_layernorm": [64], "post_attention_layernorm": [64],
    }.items():  # fmt: skip
        shapes[f"model.layers.0.{name}.weight"] = shape
    return shapes | more


def test_weight_files_beside_it_prove_the_counts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text_of("llama", num_hidden_layers=1), encoding="utf-8")
    shard(tmp_path / "model.safetensors", weights())
    found = import_model(tmp_path, id="m", vendor="x")
    assert "level: two_methods_agree\n  source: files" in found.text and found.warnings == ()
    shard(tmp_path / "model.safetensors", weights(**{"model.layers.0.mlp.extra.weight": [9]}))
    found = import_model(tmp_path, id="m", vendor="x")
    assert "level: single_method" in found.text
    assert found.warnings == ("mlp: 18432 counted, 18441 stored (not explained)",)


def test_index_without_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text_of("llama", num_hidden_layers=1), encoding="utf-8")
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights(), "a.safetensors")}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    found = import_model(tmp_path, id="m", vendor="x")
    assert found.warnings == ("1 weight files are not there to check the counts by",)


def test_quantisation_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text_of("llama"), encoding="utf-8")
    section = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(section), encoding="utf-8")
    text = import_model(tmp_path, id="m").text
    assert "weight_format: fp8-tensor" in text and "hf_quant_config.json: modelopt" in text
    assert "The checkpoint is made for a KV cache in fp8." in text


# ---- the command ------------------------------------------------------------------------------


def test_command_prints_the_entry_and_says_what_is_unknown(capsheet: Caller) -> None:
    capsheet.write("config.json", text_of("llama"))
    done = capsheet("import", "hf", "config.json", "--id", "mine")
    assert done.code == 0 and done.out.startswith("id: mine\n")
    assert done.err == "warning: the vendor is unknown: name it with --vendor\n"


def test_command_writes_whole_and_never_over_an_entry(capsheet: Caller) -> None:
    capsheet.write("config.json", text_of("llama"))
    call = ("import", "hf", "config.json", "--id", "mine", "--vendor", "x", "--write", "own")
    done = capsheet(*call)
    assert (done.code, done.out, done.err) == (0, "", "wrote own/models/mine.yaml\n")
    assert capsheet("check", "own/models/mine.yaml").code == 0
    before = capsheet.files()
    done = capsheet(*call)
    assert done.code == 2 and capsheet.files() == before
    assert done.err == (
        "own/models/mine.yaml: expected a new entry, found one that is there\n"
        "  hint: --force replaces it\n"
    )
    assert capsheet(*call, "--force").code == 0


def test_command_plans_with_what_it_wrote(capsheet: Caller) -> None:
    """An imported entry serves in a scenario at once."""
    small = {"num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
             "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
             "intermediate_size": 12288, "max_position_embeddings": 40960}  # fmt: skip
    capsheet.write("config.json", text_of("qwen3", **small))
    call = ("import", "hf", "config.json", "--id", "mine", "--label", "Qwen3-8B")
    assert capsheet(*call, "--write", "own").code == 0
    scenario = (capsheet.folder / "small.yaml").read_text().replace("qwen3-8b", "mine")
    capsheet.write("other.yaml", scenario)
    mine = capsheet("plan", "other.yaml", "--catalog", "own")
    shipped = capsheet("plan", "small.yaml")
    assert mine.code == 0
    assert mine.out.replace("mine", "qwen3-8b").split() == shipped.out.split()


def test_command_for_a_format_of_its_own(capsheet: Caller) -> None:
    capsheet.write("config.json", text_of("llama"))
    done = capsheet("import", "hf", "config.json", "--id", "q", "--part", "weight-format")
    assert done.code == 2 and "a shipped weight format fits" in done.err
    section = {"quant_method": "awq", "bits": 4, "group_size": 64}
    capsheet.write("config.json", text_of("llama", quantization_config=section))
    done = capsheet("import", "hf", "config.json", "--id", "q", "--part", "weight-format")
    assert done.code == 0 and done.out.startswith("id: q-weights\n")


def test_command_needs_a_name_that_does_not_come_from_the_machine(capsheet: Caller) -> None:
    capsheet.write("config.json", text_of("llama"))
    capsheet.write("sub/config.json", text_of("llama"))
    assert capsheet("import", "hf", "sub").out.startswith("id: sub\nlabel: sub\n")
    for path in ("config.json", "."):
        done = capsheet("import", "hf", path)
        assert done.code == 2 and done.err == (
            "--id: expected an id for the entry, found none\n"
            "  hint: a config.json does not say how its model is called\n"
        )


def test_command_refuses_what_it_does_not_know(capsheet: Caller) -> None:
    capsheet.write("config.json", '{"model_type": "llama9"}')
    done = capsheet("import", "hf", "config.json")
    assert done.code == 2 and done.out == ""
    assert done.err.splitlines()[0] == (
        "config.json:1:17: model_type: expected an architecture that the importer knows, one of "
        "arcee, bailing_hybrid, bamba, bert and 101 more, found 'llama9'"
    )
    done = capsheet("import", "hf", "absent.json")
    assert done.code == 2 and "expected a readable file" in done.err


# ---- the hub ----------------------------------------------------------------------------------


def test_hub_fetches_the_configuration_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsheet: Caller
) -> None:
    kept, asked = tmp_path / "cache.json", []
    kept.write_text(text_of("llama"), encoding="utf-8")

    def download(repository: str, name: str, revision: str | None) -> str:
        asked.append((repository, name, revision))
        if name != "config.json":
            raise ValueError("no such file")
        return str(kept)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(hf_hub_download=download))
    done = capsheet("import", "hf", "someone/Name-7B", "--hub", "--revision", "v1")
    assert done.code == 0 and "hf_id: someone/Name-7B" in done.out
    assert "url: https://huggingface.co/someone/Name-7B/blob/v1/config.json" in done.out
    assert "title: 'config.json of someone/Name-7B'" in done.out
    assert asked == [
        ("someone/Name-7B", "config.json", "v1"),
        ("someone/Name-7B", "hf_quant_config.json", "v1"),
    ]


def test_hub_without_the_library_or_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError) as caught:
        import_from_hub("someone/name")
    assert str(caught.value) == (
        "--hub: expected the library huggingface_hub, found none\n"
        "  hint: install it with: pip install 'capsheet[hub]'"
    )

    def fail(*args: object, **kwargs: object) -> str:
        raise OSError("secret detail of a network")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(hf_hub_download=fail))
    with pytest.raises(InputError) as caught:
        import_from_hub("someone/name")
    assert str(caught.value) == (
        "someone/name: expected a repository with config.json, found none (OSError)"
    )
    with pytest.raises(InputError, match="expected owner/name"):
        import_from_hub("https://example.org/x")
