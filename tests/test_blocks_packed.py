"""Kinds packed side by side in a block: over pipeline stages, and beside recurrent states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.blocks import Slot, catalog, changed, run

from planner.engine import Columns


def test_packed_kinds_pad_to_no_common_page() -> None:
    # A window of 64 tokens is as wide as 256 tokens of latents that stand for 4 each; 26 windows
    # fit beside each other into the 1,002,240 bytes of all latents and index keys.
    columns = run(catalog("deepseek-v4-flash"), 1048576, "ds-v4")
    pages = columns["page_bytes"][:, 0].tolist()
    assert sorted(pages) == [1728, 8640, 32768, 37440, 37440, 40960]
    assert columns["kind_groups"][:, 0].tolist() == [2, 0, 0, 1, 0, 1]
    # Steady decode keeps the windows alone: 2 x 3 + 3 + 17 blocks beside the context.
    assert columns["request_blocks_decode"][0] == 4096 + 2 * 3 + 3 + 17


def widest_dealt(slots: tuple[Slot, ...], columns: Columns, layers: range) -> int:
    """Bytes of a block of a stage: layers dealt out one by one, then the widest group counted."""
    pages, groups = columns["page_bytes"][:, 0], columns["kind_groups"][:, 0]
    windows = columns["kind_window"][:, 0]
    shared, widest = 0, 0
    for index, one in enumerate(slots):
        taken = [layer for layer, mark in enumerate(str(one["group_places"])) if mark == "*"]
        number = int(groups[index])
        if not windows[index]:
            shared += sum(int(pages[index]) for layer in taken if layer in layers)
            continue
        for group in range(number):
            mine = [layer for layer in taken[group::number] if layer in layers]
            widest = max(widest, len(mine) * int(pages[index]))
    return max(shared, widest)


@pytest.mark.parametrize("pp", [2, 3, 4])
@pytest.mark.parametrize("word", ["deepseek-v4-flash", "deepseek-v4-pro"])
def test_packed_kinds_over_stages(word: str, pp: int) -> None:
    slots, depth = catalog(word), {"deepseek-v4-flash": 43, "deepseek-v4-pro": 61}[word]
    stages = np.arange(pp, dtype=float)[:, None, None]
    given = {"pp": [float(pp)], "layers": [float(depth)], "stage_index": stages}
    columns = changed(slots, 1048576, **given)
    ends = np.concatenate([columns["stage_start"][:, 0, 0], [depth]]).astype(int)
    wanted = [widest_dealt(slots, columns, range(a, b)) for a, b in itertools.pairwise(ends)]
    assert columns["stage_block_bytes"][:, 0, 0].tolist() == wanted
    # Every request holds the same blocks of all groups, whatever stage their layers are in.
    held = [
        changed(slots, 1048576, **(one | {"tokens_in_flight": [16384.0]}))["request_blocks"][0]
        for one in (given, {"pp": [1.0]})
    ]
    assert held[0] == held[1]


# GLM-5.3-Flash over 2 ranks with fp8_ds_mla and 7 draft tokens: block, page of a state, blocks of
# 1,000,000 tokens, groups of states and their copies as a fork's log of pull request 94 of
# MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks prints them (its draft has groups of its own).
GLM_FLASH = "glm-5.3-flash"


def test_pooled_keys_beside_states() -> None:
    one = {"tp": [2.0], "speculative_tokens": 7.0, "prefix_caching": 1.0}
    columns = changed(catalog(GLM_FLASH), 1_000_000, kv="fp8-ds-mla", **one)
    assert columns["block_tokens"][0] == 3584
    assert columns["largest_page"][0] == 2_351_104
    assert columns["packed_state_groups"][0] == 4
    assert columns["groups_in_pool"][0] == 1 + 1 + 4
    assert columns["request_blocks"][0] == 280 + 1 + 4 * 9
    assert columns["block_bytes"][0] == 11 * 2_351_104 + 11 * 896 * 132


def test_pooled_keys_beside_states_in_16_bit_over_4_ranks() -> None:
    # A listing of LMCache pull request 5042 has blocks of 1,152 tokens over 4 ranks.
    columns = changed(catalog(GLM_FLASH), 262144, tp=[4.0])
    assert columns["block_tokens"][0] == 1152
    assert columns["block_bytes"][0] == 11 * 1152 * 1024 + 11 * 288 * 132


def test_states_of_a_stage_lie_in_its_own_latents() -> None:
    # 45 layers, every fourth with latents: 23 and 22 in a stage, 5 and 6 latents, 18 and 16 states.
    stages = np.arange(2, dtype=float)[:, None, None]
    columns = changed(catalog(GLM_FLASH), 262144, pp=[2.0], layers=[45.0], stage_index=stages)
    assert columns["stage_state_groups"][:, 0, 0].tolist() == [4, 3]
    assert columns["packed_state_groups"][0] == 4
    wide = np.arange(15, dtype=float)[:, None, None]
    alone = changed(catalog(GLM_FLASH), 262144, pp=[15.0], layers=[45.0], stage_index=wide)
    assert np.isnan(alone["block_bytes"]).all()  # three layers a stage: some have states alone
