"""Models of further families, each as the keys of its configuration that matter, with its total."""

from __future__ import annotations

from typing import Any

MODELS: dict[str, tuple[dict[str, Any], int]] = {
    # The totals that the hub shows.
    "gemma-2b": (
        {"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18,
         "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
         "intermediate_size": 16384, "vocab_size": 256000},
        2_506_172_416,
    ),
    "starcoder2-7b": (
        {"model_type": "starcoder2", "hidden_size": 4608, "num_hidden_layers": 32,
         "num_attention_heads": 36, "num_key_value_heads": 4, "intermediate_size": 18432,
         "vocab_size": 49152, "use_bias": True},
        7_173_923_840,
    ),
    "olmo-1b": (
        {"model_type": "olmo", "hidden_size": 2048, "num_hidden_layers": 16,
         "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 8192,
         "vocab_size": 50304, "tie_word_embeddings": True},
        1_176_764_416,
    ),
    "olmoe-1b-7b": (
        {"model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16,
         "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 1024,
         "num_experts": 64, "vocab_size": 50304},
        6_919_161_856,
    ),
    "qwen1.5-moe-a2.7b": (
        {"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24,
         "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5632,
         "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
         "num_experts": 60, "vocab_size": 151936},
        14_315_784_192,
    ),
    "qwen2-vl-7b": (
        {"model_type": "qwen2_vl", "hidden_size": 3584, "num_hidden_layers": 28,
         "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
         "vocab_size": 152064, "tie_word_embeddings": False,
         "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "patch_size": 14}},
        8_291_375_616,
    ),
    "granite-3.0-1b-a400m": (
        {"model_type": "granitemoe", "hidden_size": 1024, "num_hidden_layers": 24,
         "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 512,
         "num_local_experts": 32, "vocab_size": 49155, "tie_word_embeddings": True},
        1_334_628_352,
    ),
    "glm-4-9b": (
        {"model_type": "glm", "hidden_size": 4096, "num_hidden_layers": 40,
         "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
         "intermediate_size": 13696, "vocab_size": 151552, "attention_bias": True},
        9_399_951_360,
    ),
    "glm-4-9b-0414": (
        {"model_type": "glm4", "hidden_size": 4096, "num_hidden_layers": 40,
         "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
         "intermediate_size": 13696, "vocab_size": 151552, "attention_bias": True},
        9_400_279_040,
    ),
    "ernie-4.5-0.3b": (
        {"model_type": "ernie4_5", "hidden_size": 1024, "num_hidden_layers": 18,
         "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128,
         "intermediate_size": 3072, "vocab_size": 103424, "tie_word_embeddings": True},
        360_748_032,
    ),
    "openelm-270m": (
        {"model_type": "openelm", "model_dim": 1280, "num_transformer_layers": 16, "head_dim": 64,
         "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
         "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
         "ffn_multipliers": [0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07,
                             3.3, 3.53, 3.77, 4.0],
         "ffn_dim_divisor": 256, "normalize_qk_projections": True,
         "share_input_output_layers": True, "vocab_size": 32000},
        271_527_168,
    ),
    "lfm2-1.2b": (
        {"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 16,
         "num_attention_heads": 32, "num_key_value_heads": 8, "block_ff_dim": 12288,
         "block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 1.0,
         "block_multiple_of": 256, "conv_L_cache": 3, "conv_bias": False,
         "full_attn_idxs": [2, 5, 8, 10, 12, 14], "vocab_size": 65536},
        1_170_340_608,
    ),
    "mamba-130m": (
        {"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "state_size": 16,
         "conv_kernel": 4, "expand": 2, "time_step_rank": 48, "vocab_size": 50280},
        129_135_360,
    ),
    "falcon-mamba-7b": (
        {"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64,
         "state_size": 16, "conv_kernel": 4, "expand": 16, "intermediate_size": 8192,
         "time_step_rank": 256, "vocab_size": 65024, "tie_word_embeddings": False},
        7_272_665_088,
    ),
    "mt5-small": (
        {"model_type": "mt5", "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_heads": 6,
         "num_layers": 8, "vocab_size": 250112, "tie_word_embeddings": False,
         "feed_forward_proj": "gated-gelu"},
        300_176_768,
    ),
    "roberta-base": (
        {"model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12,
         "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
         "max_position_embeddings": 514, "type_vocab_size": 1},
        124_645_632,
    ),
    # Older decoders: all totals but one are also those of transformers 5.24.0 without weights;
    # InternLM2 has no class there, and its total is the one of the hub.
    "opt-2.7b": (
        {"model_type": "opt", "hidden_size": 2560, "num_hidden_layers": 32,
         "num_attention_heads": 32, "ffn_dim": 10240, "vocab_size": 50272,
         "word_embed_proj_dim": 2560, "max_position_embeddings": 2048},
        2_651_596_800,
    ),
    "phi-2": (
        {"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 10240,
         "vocab_size": 51200, "partial_rotary_factor": 0.4, "qk_layernorm": False},
        2_779_683_840,
    ),
    "bitnet-b1.58-2b-4t": (
        {"model_type": "bitnet", "hidden_size": 2560, "num_hidden_layers": 30,
         "num_attention_heads": 20, "num_key_value_heads": 5, "intermediate_size": 6912,
         "vocab_size": 128256, "tie_word_embeddings": True},
        2_412_820_480,
    ),
    "nemotron-3-8b": (
        {"model_type": "nemotron", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 16384,
         "vocab_size": 256000},
        8_540_135_424,
    ),
    "internlm2-7b": (
        {"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 92544, "bias": False, "tie_word_embeddings": False},
        7_737_708_544,
    ),
    "gpt2": ({"model_type": "gpt2", "vocab_size": 50257}, 124_439_808),
    "gpt2-xl": (
        {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257},
        1_557_611_200,
    ),
    "falcon-7b": ({"model_type": "falcon"}, 6_921_720_704),
    "falcon-40b": (
        {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
         "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": True},
        41_303_293_952,
    ),
    "pythia-6.9b": (
        {"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "intermediate_size": 16384, "vocab_size": 50432},
        6_857_302_016,
    ),
    "bloom-7b1": (
        {"model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32,
         "vocab_size": 250880},
        7_069_016_064,
    ),
    "falcon-rw-1b": (
        {"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24,
         "num_attention_heads": 32, "vocab_size": 50304, "multi_query": False,
         "parallel_attn": False, "bias": True},
        1_311_625_216,
    ),
}  # fmt: skip
