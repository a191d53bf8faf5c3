"""What would make a case fit, and how much is safe: against plans with that one setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from support.command import Caller
from support.tools import REPOSITORY

import planner
from planner.planning import Plan

SCENARIO = REPOSITORY / "catalogs" / "scenarios" / "what-would-fit.yaml"
MODELS = "models=[qwen3-32b, gemma-3-27b, llama-3.1-8b, gpt-oss-20b, qwen2.5-7b]"
WIDE = (MODELS, "gpus=[l40s, h100-sxm, l4]", "contexts=[16384 tokens, 32768 tokens]")
BATCHES = (4, 16)
WORDS = {
    "none needed", "FP8 KV", "fewer batched tokens", "shorter context", "narrower weights",
    "more GPUs",
}  # fmt: skip


def planned(*settings: str) -> Plan:
    return planner.plan(SCENARIO, settings=[*WIDE, *settings])


@cache
def base(batch: int) -> Plan:
    """Dense, windowed and expert models, with what would make each case fit."""
    return planned(f"batches={batch}")


@cache
def verdicts(batch: int, *settings: str) -> dict[str, str]:
    """Verdict by what is not replaced, of plans that know nothing of answers."""
    plan = planned(f"batches={batch}", "answers=false", "mix=[]", "assumptions={}", *settings)
    assert "answers" not in plan.metrics.tables
    return {key(plan, i): str(plan.value("verdict", i)) for i in range(len(plan.cases))}


def key(plan: Plan, index: int) -> str:
    """A case without its formats, sizes and context."""
    case = plan.cases[index]
    return f"{case.model}/{case.gpu}"


def alone(batch: int, plan: Plan, index: int, *settings: str) -> str | None:
    """The verdict of this very case with one setting replaced; None where it is left out."""
    case = plan.cases[index]
    fixed = [f"tp={case.inputs['tp']:.0f}", f"contexts={case.inputs['context']:.0f} tokens"]
    names = {setting.partition("=")[0] for setting in settings}
    kept = [one for one in fixed if one.partition("=")[0] not in names]
    return verdicts(batch, *kept, *settings).get(key(plan, index))


def precision(plan: Plan, index: int, **changed: str) -> str:
    case = plan.cases[index]
    words = {"weights": case.weight_format, "kv": case.kv_format} | changed
    return f"precisions=[{{weights: {words['weights']}, kv: {words['kv']}, compute: bf16}}]"


# ---- each ladder against plans with that one setting ---------------------------------------------


@pytest.mark.parametrize("batch", BATCHES)
def test_the_smallest_tp_is_that_of_plans_with_each_size(batch: int) -> None:
    plan, seen = base(batch), set()
    for index in range(len(plan.cases)):
        formats = precision(plan, index)
        found = {n: alone(batch, plan, index, f"tp={n}", formats) for n in (1, 2, 4, 8)}
        fitting = [n for n, verdict in found.items() if verdict == "fits"]
        assert plan.value("smallest_tp", index) == min(fitting, default=0), plan.cases[index].id
        seen.add(min(fitting, default=0))
    assert len(seen) >= 3


def test_a_size_that_does_not_divide_the_heads_is_no_answer() -> None:
    """Qwen2.5-7B has 28 query heads: eight ranks cannot share them."""
    plan = base(16)
    rows = [i for i, case in enumerate(plan.cases) if case.model == "qwen2.5-7b"]
    child = plan.columns.variants("tp_ladder")["layout_allowed"].reshape(4, len(plan.cases))
    assert child[:, rows].all(axis=1).tolist() == [True, True, True, False]


@pytest.mark.parametrize("batch", BATCHES)
def test_fp8_kv_is_a_plan_with_the_fp8_format(batch: int) -> None:
    plan = base(batch)
    for index, case in enumerate(plan.cases):
        other = planned(
            f"batches={batch}", "answers=false", "mix=[]", "assumptions={}",
            precision(plan, index, kv="fp8"), f"models=[{case.model}]", f"gpus=[{case.gpu}]",
            f"tp={case.inputs['tp']:.0f}", f"contexts={case.inputs['context']:.0f} tokens",
        ) if index % 4 == 0 else None  # fmt: skip
        if other is not None:
            wanted = other.value("max_concurrency")
            assert plan.value("fp8_concurrency", index) == wanted, case.id
        fits = alone(batch, plan, index, precision(plan, index, kv="fp8")) == "fits"
        assert plan.value("fp8_fits", index) is fits


@pytest.mark.parametrize("batch", BATCHES)
def test_widest_weights_are_those_of_plans_with_each_format(batch: int) -> None:
    """16 bit and NVFP4 have just the widths of the rungs; FP8 has scales, a 4096th more."""
    plan = base(batch)
    for index, case in enumerate(plan.cases):
        found = plan.value("widest_weights", index)
        wide, narrow = (
            alone(batch, plan, index, precision(plan, index, weights=word)) == "fits"
            for word in ("bf16", "nvfp4")
        )
        assert (found == 2) == wide, case.id
        assert (found != 0) == narrow, case.id


@pytest.mark.parametrize("batch", BATCHES)
def test_most_batched_tokens_are_those_of_plans_with_each_setting(batch: int) -> None:
    plan = base(batch)
    for index, case in enumerate(plan.cases):
        formats = precision(plan, index)
        settings = {n: f"assumptions={{batched_tokens: {n} tokens}}" for n in (2048, 8192)}
        fitting = [
            n for n, text in settings.items() if alone(batch, plan, index, formats, text) == "fits"
        ]
        assert plan.value("most_batched_tokens", index) == max(fitting, default=0), case.id


def expected_change(batch: int, plan: Plan, index: int) -> str:
    """The first change, in the declared order, with which a plan of its own fits."""
    case, formats = plan.cases[index], precision(plan, index)
    tp, context = case.inputs["tp"], case.inputs["context"]
    tokens = float(plan.value("step_tokens", index) or 0)
    fewer = [n for n in (2048, 8192) if n < tokens]
    shorter = [n for n in (8192, 16384) if n < float(context)]
    trials: dict[str, Sequence[Sequence[str]]] = {
        "none needed": [[formats]],
        "FP8 KV": [[precision(plan, index, kv="fp8")]],
        "fewer batched tokens": [
            [formats, f"assumptions={{batched_tokens: {n} tokens}}"] for n in fewer
        ],
        "shorter context": [[formats, f"contexts={n} tokens"] for n in shorter],
        "narrower weights": [
            [precision(plan, index, weights=word)] for word in ("bf16", "fp8", "nvfp4")
        ],
        "more GPUs": [[formats, f"tp={n}"] for n in (1, 2, 4, 8) if n > float(tp)],
    }
    for word, several in trials.items():
        if any(alone(batch, plan, index, *settings) == "fits" for settings in several):
            return word
    return "nothing alone"


@pytest.mark.parametrize("batch", BATCHES)
def test_the_smallest_change_is_the_first_that_fits_in_a_plan_of_its_own(batch: int) -> None:
    plan = base(batch)
    for index, case in enumerate(plan.cases):
        found = plan.value("smallest_change", index)
        assert found == expected_change(batch, plan, index), case.id


def test_every_word_is_some_cases_answer() -> None:
    found = {plan.value("smallest_change", i) for plan in map(base, BATCHES)
             for i in range(len(plan.cases))}  # fmt: skip
    assert found >= WORDS
    nothing = planned(
        "batches=200", "models=[qwen3-32b]", "gpus=[l4]", "context_ladder=32768 tokens"
    )
    assert nothing.value("smallest_change") == "nothing alone"


def test_an_unknown_figure_leaves_the_answers_unknown() -> None:
    plan = planner.plan(
        SCENARIO,
        settings=["engine=vllm-gaudi", "models=[gemma-3-27b]", "assumptions.overhead=unknown"],
    )
    assert plan.value("verdict") == "unknown"
    for name in ("smallest_change", "smallest_tp", "widest_weights", "safe_max_num_seqs"):
        assert plan.value(name) is None, name


# ---- how much is safe ----------------------------------------------------------------------------


@pytest.mark.parametrize("batch", BATCHES)
def test_so_many_requests_as_are_safe_fit_at_the_limit(batch: int) -> None:
    """Set as max_num_seqs and planned as the batch, the figure fits; it is never above the pool."""
    plan = base(batch)
    for index in range(0, len(plan.cases), 4):
        case, safe = plan.cases[index], plan.value("safe_max_num_seqs", index)
        assert isinstance(safe, float)
        running = plan.value("running_requests", index)
        risk = plan.value("requests_at_risk", index)
        assert isinstance(running, float) and safe <= running
        assert risk == max(0.0, running - float(plan.value("rank_concurrency", index) or 0.0))
        if safe >= 1:
            other = planned(
                f"batches={safe:.0f}", f"max_num_seqs={safe:.0f}", f"models=[{case.model}]",
                f"gpus=[{case.gpu}]", f"tp={case.inputs['tp']:.0f}",
                f"contexts={case.inputs['context']:.0f} tokens", "answers=false", "mix=[]",
                f"assumptions={{max_num_seqs: {safe:.0f}}}", precision(plan, index),
            )  # fmt: skip
            assert other.value("verdict") == "fits"
            assert float(other.value("rank_concurrency") or 0) >= safe


# ---- lengths as they come ------------------------------------------------------------------------

ENGINES = ["plain", "vllm-0.33", "sglang-0.5"]


def mixed(engine: str, mix: str, *settings: str) -> Plan:
    return planner.plan(
        SCENARIO,
        settings=[
            f"engine={engine}", "models=[qwen3-8b, llama-3.1-8b]", "gpus=[h100-sxm]", "tp=[1, 2]",
            "overhead=3 GiB", f"mix={mix}", *settings,
        ],
    )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tokens", [600, 7000, 30001])
def test_a_mix_of_one_length_is_the_concurrency_at_that_limit(engine: str, tokens: int) -> None:
    mix = f"[{{share: 1, prompt: {tokens - 100} tokens, output: 100 tokens}}]"
    plan = mixed(engine, mix, "shared_prefix=0 tokens")
    other = planner.plan(
        SCENARIO,
        settings=[
            f"engine={engine}", "models=[qwen3-8b, llama-3.1-8b]", "gpus=[h100-sxm]", "tp=[1, 2]",
            "assumptions={overhead: 3 GiB}", f"contexts={tokens} tokens", "answers=false", "mix=[]",
            "workloads=[{name: w, prompt: 100 tokens, output: 100 tokens}]",
        ],
    )  # fmt: skip
    assert len(plan.cases) == len(other.cases) == 4
    for index in range(4):
        assert plan.value("mix_concurrency", index) == other.value("max_concurrency", index)
        assert plan.value("prefix_concurrency", index) == other.value("max_concurrency", index)
        mean = plan.value("mix_reserved", index)
        assert math.isclose(float(mean or 0), float(other.value("kv_reserved_gpu", index) or 0))


@pytest.mark.parametrize("prefix", [0, 1000, 1003])
def test_a_mix_with_a_shared_prefix_by_whole_blocks(prefix: int) -> None:
    """Counted in whole blocks: the prefix once, and the mean of what each request has beside it."""
    mix = (
        "[{share: 0.5, prompt: 1500 tokens, output: 500 tokens}, "
        "{share: 0.25, cached: 1000 tokens, prompt: 6000 tokens, output: 1000 tokens}, "
        "{share: 0.25, prompt: 20000 tokens, output: 12000 tokens}]"
    )
    plan = mixed("vllm-0.33", mix, f"shared_prefix={prefix} tokens")
    blocks = [(2, math.ceil(n / 16)) for n in (2000,)] + [(1, 500), (1, 2000)]
    for index in range(len(plan.cases)):
        usable = int(float(plan.value("pool_blocks", index) or 0)) - 1
        shared = prefix // 16
        # Four requests hold so many blocks; all shares are quarters, so this is exact.
        four = sum(count * held for count, held in blocks)
        assert plan.value("mix_concurrency", index) == usable * 4 // four
        found = plan.value("prefix_concurrency", index)
        assert found == (usable - shared) * 4 // (four - 4 * shared)


def test_ranks_have_pools_of_their_own(tmp_path: Path) -> None:
    text = SCENARIO.read_text("utf-8").replace(
        "tp: [1, 2]", "layouts: [{tp: 1}, {tp: 1, dp: 2}, {tp: 1, pp: 2}]"
    )
    (tmp_path / "ranks.yaml").write_text(text, "utf-8")
    plan = planner.plan(tmp_path / "ranks.yaml", settings=["models=[llama-3.1-8b]"])
    for first in range(0, len(plan.cases), 3):
        one, ranks, stages = range(first, first + 3)
        for name in ("mix_concurrency", "prefix_concurrency"):
            alone = float(plan.value(name, one) or 0)
            assert plan.value(name, ranks) == 2 * alone > 0
            assert float(plan.value(name, stages) or 0) > 2 * alone
        assert plan.value("safe_max_num_seqs", ranks) == plan.value("safe_max_num_seqs", one)


def test_without_a_mix_each_case_has_its_own_workload() -> None:
    workloads = (
        "workloads=[{name: a, prompt: 500 tokens, output: 100 tokens}, "
        "{name: b, cached: 1000 tokens, prompt: 8000 tokens, output: 1000 tokens}]"
    )
    plan = mixed("plain", "[]", "answers=true", workloads)
    for index, case in enumerate(plan.cases):
        tokens = 600 if case.workload == "a" else 10000
        other = mixed("plain", f"[{{share: 1, prompt: {tokens - 1} tokens, output: 1 token}}]")
        same = next(i for i, c in enumerate(other.cases)
                    if (c.model, c.inputs["tp"]) == (case.model, case.inputs["tp"]))  # fmt: skip
        for name in ("mix_concurrency", "mix_reserved"):
            assert plan.value(name, index) == other.value(name, same), (name, case.id)
    assert plan.inputs.rungs["length_mix"] == ("own workload",)


def test_a_prefix_is_unknown_where_its_rules_are_others() -> None:
    mix = "mix=[{share: 1, prompt: 1500 tokens, output: 500 tokens}]"
    models = "models=[gemma-3-27b, qwen3-next-80b, deepseek-v3.2, qwen3-8b]"
    plan = planner.plan(
        SCENARIO, settings=[mix, models, "gpus=[b300]", "tp=8", "shared_prefix=1000 tokens"]
    )
    known = {c.model: plan.value("prefix_shared", i) for i, c in enumerate(plan.cases)}
    assert known["qwen3-8b"] is True
    assert known["gemma-3-27b"] is False and known["qwen3-next-80b"] is False
    for index, case in enumerate(plan.cases):
        found = plan.value("prefix_concurrency", index)
        assert (found is None) == (not known[case.model]), case.model
        assert (plan.value("mix_concurrency", index) or 0) > 0
    long = planner.plan(SCENARIO, settings=[mix, "models=[qwen3-8b]", "shared_prefix=1501 tokens"])
    assert long.value("prefix_concurrency") is None


def test_a_length_beyond_the_limit_is_unknown() -> None:
    mix = "mix=[{share: 1, prompt: 32000 tokens, output: 1000 tokens}]"
    plan = planner.plan(SCENARIO, settings=[mix, "models=[qwen3-8b]"])
    assert plan.value("mix_within_limit") is False
    assert plan.value("mix_concurrency") is None and plan.value("prefix_concurrency") is None


# ---- what a scenario may say ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        ("[{share: 0.5, prompt: 5 tokens, output: 5 tokens}]",
         "mix: expected shares that add up to 1, found 0.5 = 0.5"),
        ("[{share: 0.5, prompt: 5 tokens, output: 5 tokens}, "
         "{share: 0.6, prompt: 6 tokens, output: 5 tokens}]",
         "mix: expected shares that add up to 1, found 0.5 + 0.6 = 1.1"),
        ("[{share: -1, prompt: 5 tokens, output: 5 tokens}]", "mix[0].share: expected 0 or more"),
        ("[{share: half, prompt: 5 tokens, output: 5 tokens}]", "mix[0].share: expected a number"),
        ("[{share: 1, prompt: 5 tokens, output: 0 tokens}]",
         "mix[0].output: expected at least 1 token"),
        ("[{share: 1, prompt: 5 tokens}]", "mix[0].output: expected a value"),
        ("[{share: 1, prompt: 5 tokens, output: 5 tokens, extra: 1}]", "mix[0].extra: expected"),
        ("[{share: 0.5, prompt: 5 tokens, output: 5 tokens}, "
         "{share: 0.5, prompt: 5 tokens, output: 5 tokens}]",
         "mix[1]: expected each length or name once, found '5+5' again"),
        ("[" + ", ".join(f"{{share: 0.04, prompt: {n} tokens, output: 5 tokens}}"
                         for n in range(1, 26)) + "]", "mix: expected at most 24 rows, found 25"),
    ],
)  # fmt: skip
def test_a_wrong_mix_is_told_in_one_line(capsheet: Caller, mix: str, words: str) -> None:
    done = capsheet("plan", SCENARIO, "--set", f"mix={mix}")
    assert done.code == 2 and done.out == ""
    assert words in done.err and "Traceback" not in done.err


def test_shares_that_were_rounded_are_taken() -> None:
    thirds = ", ".join(f"{{share: 0.3333333, prompt: {n} tokens, output: 5 tokens}}"
                       for n in (5, 6, 7))  # fmt: skip
    plan = planner.plan(SCENARIO, settings=[f"mix=[{thirds}]", "models=[qwen3-8b]"])
    assert plan.inputs.rungs["length_mix"] == ("5+5", "6+5", "7+5")
    assert plan.value("mix_concurrency") is not None


def test_plans_that_do_not_ask_have_none_of_it() -> None:
    plan = planner.plan(REPOSITORY / "catalogs" / "scenarios" / "example.yaml")
    assert not plan.metrics.tables.keys() & {"answers", "what_if"}
    assert not plan.metrics.fields.keys() & {"mix_share", "shared_prefix"}
    assert set(plan.metrics.variants) == {"context_ladder", "prompt_ladder", "overhead_band"}
