"""A second route to parameter counts: the tensors of a checkpoint, one by one, with their shapes.

Each function lists what the files of a family hold, by the names that stand there. It shares no
code with the product; products of the shapes are summed in the tests.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]
Tensors = dict[str, tuple[int, ...]]


def dense(c: Config) -> Tensors:
    """Llama, Mistral, Qwen2 (biases on q, k, v) and Qwen3 (norms of queries and keys)."""
    tensors: Tensors = {}
    h, v = c["hidden_size"], c["vocab_size"]
    tensors["model.embed_tokens.weight"] = (v, h)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        tensors[f"{layer}.input_layernorm.weight"] = (h,)
        tensors |= self_attention(c, layer)
        tensors[f"{layer}.post_attention_layernorm.weight"] = (h,)
        tensors |= gated(f"{layer}.mlp", h, c["intermediate_size"])
    tensors["model.norm.weight"] = (h,)
    if not c["tie_word_embeddings"]:
        tensors["lm_head.weight"] = (v, h)
    return tensors


def self_attention(c: Config, layer: str, doubled: bool = False) -> Tensors:
    """Query, key, value and output projection of one layer."""
    tensors: Tensors = {}
    h = c["hidden_size"]
    q, kv = c["num_attention_heads"], c["num_key_value_heads"]
    d = c.get("head_dim") or h // q
    tensors[f"{layer}.self_attn.q_proj.weight"] = (2 * q * d if doubled else q * d, h)
    tensors[f"{layer}.self_attn.k_proj.weight"] = (kv * d, h)
    tensors[f"{layer}.self_attn.v_proj.weight"] = (kv * d, h)
    tensors[f"{layer}.self_attn.o_proj.weight"] = (h, q * d)
    if c["model_type"] == "qwen2":
        tensors[f"{layer}.self_attn.q_proj.bias"] = (q * d,)
        tensors[f"{layer}.self_attn.k_proj.bias"] = (kv * d,)
        tensors[f"{layer}.self_attn.v_proj.bias"] = (kv * d,)
    if c["model_type"].startswith(("qwen3", "gemma3")):
        tensors[f"{layer}.self_attn.q_norm.weight"] = (d,)
        tensors[f"{layer}.self_attn.k_norm.weight"] = (d,)
    return tensors


def gated(name: str, h: int, inner: int) -> Tensors:
    """A gated feed-forward network."""
    return {
        f"{name}.gate_proj.weight": (inner, h),
        f"{name}.up_proj.weight": (inner, h),
        f"{name}.down_proj.weight": (h, inner),
    }


def qwen3_moe(c: Config) -> Tensors:
    """Qwen3 with experts in every layer."""
    tensors: Tensors = {}
    h, v = c["hidden_size"], c["vocab_size"]
    tensors["model.embed_tokens.weight"] = (v, h)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        tensors[f"{layer}.input_layernorm.weight"] = (h,)
        tensors |= self_attention(c, layer)
        tensors[f"{layer}.post_attention_layernorm.weight"] = (h,)
        tensors[f"{layer}.mlp.gate.weight"] = (c["num_experts"], h)
        for e in range(c["num_experts"]):
            tensors |= gated(f"{layer}.mlp.experts.{e}", h, c["moe_intermediate_size"])
    tensors["model.norm.weight"] = (h,)
    tensors["lm_head.weight"] = (v, h)
    return tensors


def mixtral(c: Config) -> Tensors:
    """Mixtral: experts are numbered matrices w1, w2, w3."""
    tensors: Tensors = {}
    h, v, inner = c["hidden_size"], c["vocab_size"], c["intermediate_size"]
    tensors["model.embed_tokens.weight"] = (v, h)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        tensors[f"{layer}.input_layernorm.weight"] = (h,)
        tensors |= self_attention(c, layer)
        tensors[f"{layer}.post_attention_layernorm.weight"] = (h,)
        moe = f"{layer}.block_sparse_moe"
        tensors[f"{moe}.gate.weight"] = (c["num_local_experts"], h)
        for e in range(c["num_local_experts"]):
            tensors[f"{moe}.experts.{e}.w1.weight"] = (inner, h)
            tensors[f"{moe}.experts.{e}.w2.weight"] = (h, inner)
            tensors[f"{moe}.experts.{e}.w3.weight"] = (inner, h)
    tensors["model.norm.weight"] = (h,)
    tensors["lm_head.weight"] = (v, h)
    return tensors


def gemma(c: Config) -> Tensors:
    """Gemma 2 and the text of Gemma 3: four norms a layer, no head of its own."""
    tensors: Tensors = {}
    h = c["hidden_size"]
    tensors["model.embed_tokens.weight"] = (c["vocab_size"], h)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        for norm in (
            "input_layernorm",
            "post_attention_layernorm",
            "pre_feedforward_layernorm",
            "post_feedforward_layernorm",
        ):
            tensors[f"{layer}.{norm}.weight"] = (h,)
        tensors |= self_attention(c, layer)
        tensors |= gated(f"{layer}.mlp", h, c["intermediate_size"])
    tensors["model.norm.weight"] = (h,)
    return tensors


def latent_attention(c: Config, layer: str) -> Tensors:
    """Latent attention, with or without a latent for queries."""
    tensors: Tensors = {}
    h, n = c["hidden_size"], c["num_attention_heads"]
    nope, rope, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    rank, attn = c["kv_lora_rank"], f"{layer}.self_attn"
    if c.get("q_lora_rank"):
        tensors[f"{attn}.q_a_proj.weight"] = (c["q_lora_rank"], h)
        tensors[f"{attn}.q_a_layernorm.weight"] = (c["q_lora_rank"],)
        tensors[f"{attn}.q_b_proj.weight"] = (n * (nope + rope), c["q_lora_rank"])
    else:
        tensors[f"{attn}.q_proj.weight"] = (n * (nope + rope), h)
    tensors[f"{attn}.kv_a_proj_with_mqa.weight"] = (rank + rope, h)
    tensors[f"{attn}.kv_a_layernorm.weight"] = (rank,)
    tensors[f"{attn}.kv_b_proj.weight"] = (n * (nope + value), rank)
    tensors[f"{attn}.o_proj.weight"] = (h, n * value)
    if c.get("index_n_heads"):
        heads, dim = c["index_n_heads"], c["index_head_dim"]
        tensors[f"{attn}.indexer.wq_b.weight"] = (heads * dim, c["q_lora_rank"])
        tensors[f"{attn}.indexer.wk.weight"] = (dim, h)
        tensors[f"{attn}.indexer.k_norm.weight"] = (dim,)
        tensors[f"{attn}.indexer.k_norm.bias"] = (dim,)
        tensors[f"{attn}.indexer.weights_proj.weight"] = (heads, h)
    return tensors


def deepseek(c: Config) -> Tensors:
    """DeepSeek-V2, V3, V3.2: the first layers dense, then routed and shared experts.

    Modules behind the last layer store embedding and head once more, as the files of V3 do.
    """
    tensors: Tensors = {}
    h, v = c["hidden_size"], c["vocab_size"]
    tensors["model.embed_tokens.weight"] = (v, h)
    tensors["model.norm.weight"] = (h,)
    tensors["lm_head.weight"] = (v, h)
    beside = c.get("num_nextn_predict_layers", 0)
    for i in range(c["num_hidden_layers"] + beside):
        layer = f"model.layers.{i}"
        tensors[f"{layer}.input_layernorm.weight"] = (h,)
        tensors[f"{layer}.post_attention_layernorm.weight"] = (h,)
        tensors |= latent_attention(c, layer)
        if i < c["first_k_dense_replace"]:
            tensors |= gated(f"{layer}.mlp", h, c["intermediate_size"])
            continue
        inner = c["moe_intermediate_size"]
        tensors[f"{layer}.mlp.gate.weight"] = (c["n_routed_experts"], h)
        if c["model_type"] != "deepseek_v2":
            tensors[f"{layer}.mlp.gate.e_score_correction_bias"] = (c["n_routed_experts"],)
        for e in range(c["n_routed_experts"]):
            tensors |= gated(f"{layer}.mlp.experts.{e}", h, inner)
        tensors |= gated(f"{layer}.mlp.shared_experts", h, c["n_shared_experts"] * inner)
        if i >= c["num_hidden_layers"]:
            tensors[f"{layer}.enorm.weight"] = (h,)
            tensors[f"{layer}.hnorm.weight"] = (h,)
            tensors[f"{layer}.eh_proj.weight"] = (h, 2 * h)
            tensors[f"{layer}.shared_head.norm.weight"] = (h,)
            tensors[f"{layer}.shared_head.head.weight"] = (v, h)
            tensors[f"{layer}.embed_tokens.weight"] = (v, h)
    return tensors


def nemotron_h(c: Config) -> Tensors:
    """Nemotron-H: one block a layer, by the letters of a pattern."""
    tensors: Tensors = {}
    h, v = c["hidden_size"], c["vocab_size"]
    tensors["backbone.embeddings.weight"] = (v, h)
    tensors["backbone.norm_f.weight"] = (h,)
    tensors["lm_head.weight"] = (v, h)
    for i, letter in enumerate(c["hybrid_override_pattern"]):
        tensors[f"backbone.layers.{i}.norm.weight"] = (h,)
        mixer = f"backbone.layers.{i}.mixer"
        if letter == "M":
            heads, inner = c["mamba_num_heads"], c["mamba_num_heads"] * c["mamba_head_dim"]
            channels = inner + 2 * c["n_groups"] * c["ssm_state_size"]
            tensors[f"{mixer}.in_proj.weight"] = (inner + channels + heads, h)
            tensors[f"{mixer}.conv1d.weight"] = (channels, 1, c["conv_kernel"])
            tensors[f"{mixer}.conv1d.bias"] = (channels,)
            tensors[f"{mixer}.A_log"] = (heads,)
            tensors[f"{mixer}.D"] = (heads,)
            tensors[f"{mixer}.dt_bias"] = (heads,)
            tensors[f"{mixer}.norm.weight"] = (inner,)
            tensors[f"{mixer}.out_proj.weight"] = (h, inner)
        elif letter == "*":
            q, kv = c["num_attention_heads"], c["num_key_value_heads"]
            d = c.get("head_dim") or h // q
            tensors[f"{mixer}.q_proj.weight"] = (q * d, h)
            tensors[f"{mixer}.k_proj.weight"] = (kv * d, h)
            tensors[f"{mixer}.v_proj.weight"] = (kv * d, h)
            tensors[f"{mixer}.o_proj.weight"] = (h, q * d)
        elif letter == "-":
            tensors[f"{mixer}.up_proj.weight"] = (c["intermediate_size"], h)
            tensors[f"{mixer}.down_proj.weight"] = (h, c["intermediate_size"])
        else:
            inner, wide = c["moe_intermediate_size"], c["moe_shared_expert_intermediate_size"]
            size = c.get("moe_latent_size") or h
            tensors[f"{mixer}.gate.weight"] = (c["n_routed_experts"], h)
            tensors[f"{mixer}.gate.e_score_correction_bias"] = (c["n_routed_experts"],)
            tensors[f"{mixer}.shared_experts.up_proj.weight"] = (wide, h)
            tensors[f"{mixer}.shared_experts.down_proj.weight"] = (h, wide)
            for e in range(c["n_routed_experts"]):
                tensors[f"{mixer}.experts.{e}.up_proj.weight"] = (inner, size)
                tensors[f"{mixer}.experts.{e}.down_proj.weight"] = (size, inner)
            if c.get("moe_latent_size"):
                tensors[f"{mixer}.fc1_latent_proj.weight"] = (size, h)
                tensors[f"{mixer}.fc2_latent_proj.weight"] = (h, size)
    return tensors


def qwen3_next(c: Config) -> Tensors:
    """Qwen3-Next: gated delta nets, every fourth layer attention, a module beside the model."""
    tensors: Tensors = {}
    h, v = c["hidden_size"], c["vocab_size"]
    tensors["model.embed_tokens.weight"] = (v, h)
    tensors["model.norm.weight"] = (h,)
    tensors["lm_head.weight"] = (v, h)
    kinds = [
        "full" if (i + 1) % c["full_attention_interval"] == 0 else "linear"
        for i in range(c["num_hidden_layers"])
    ]
    for layer, kind in [
        *((f"model.layers.{i}", kind) for i, kind in enumerate(kinds)),
        ("mtp.layers.0", "full"),
    ]:
        tensors[f"{layer}.input_layernorm.weight"] = (h,)
        tensors[f"{layer}.post_attention_layernorm.weight"] = (h,)
        if kind == "full":
            tensors |= self_attention(c, layer, doubled=True)
        else:
            heads, dim = c["linear_num_value_heads"], c["linear_value_head_dim"]
            keys = c["linear_num_key_heads"] * c["linear_key_head_dim"]
            values = heads * dim
            mixer = f"{layer}.linear_attn"
            tensors[f"{mixer}.in_proj_qkvz.weight"] = (2 * keys + 2 * values, h)
            tensors[f"{mixer}.in_proj_ba.weight"] = (2 * heads, h)
            tensors[f"{mixer}.conv1d.weight"] = (
                2 * keys + values,
                1,
                c["linear_conv_kernel_dim"],
            )
            tensors[f"{mixer}.A_log"] = (heads,)
            tensors[f"{mixer}.dt_bias"] = (heads,)
            tensors[f"{mixer}.norm.weight"] = (dim,)
            tensors[f"{mixer}.out_proj.weight"] = (h, values)
        tensors[f"{layer}.mlp.gate.weight"] = (c["num_experts"], h)
        for e in range(c["num_experts"]):
            tensors |= gated(f"{layer}.mlp.experts.{e}", h, c["moe_intermediate_size"])
        shared = c["shared_expert_intermediate_size"]
        tensors |= gated(f"{layer}.mlp.shared_expert", h, shared)
        tensors[f"{layer}.mlp.shared_expert_gate.weight"] = (1, h)
    tensors["mtp.fc.weight"] = (h, 2 * h)
    tensors["mtp.pre_fc_norm_embedding.weight"] = (h,)
    tensors["mtp.pre_fc_norm_hidden.weight"] = (h,)
    tensors["mtp.norm.weight"] = (h,)
    return tensors


TENSORS_OF = {
    "llama": dense,
    "mistral": dense,
    "qwen2": dense,
    "qwen3": dense,
    "qwen3_moe": qwen3_moe,
    "mixtral": mixtral,
    "gemma2": gemma,
    "gemma3_text": gemma,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v32": deepseek,
    "nemotron_h": nemotron_h,
    "qwen3_next": qwen3_next,
}
