"""``observe``: planned beside measured, the overlay, the command line, and real identities."""

from __future__ import annotations

import io
import json
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.command import SMALL, Caller
from support.golden import Golden

import planner
from planner import yamlfile
from planner.catalog import Catalog
from planner.errors import InputError
from planner.figures import read_record
from planner.importers.startup_log import Observation, read_log
from planner.observation import Compared, compare, measured_ledger
from planner.observation_overlay import SOURCE, overlay
from planner.planning import Plan
from planner.records import Engine

LOGS = Path(__file__).parent / "logs"
GIB = 2**30
NAMES = sorted(path.stem for path in LOGS.glob("*.log"))


def log(name: str) -> Observation:
    with (LOGS / f"{name}.log").open("rb") as stream:
        return read_log(stream)[0]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("plan") / "small.yaml"
    path.write_text(SMALL, "utf-8")
    return planner.plan(path)


def rows(seen: Observation, plan: Plan) -> dict[str, Compared]:
    return {row.quantity: row for row in compare(seen, plan)}


# ---- planned beside measured -------------------------------------------------------------------


def test_each_difference_names_the_assumption_behind_it(plan: Plan) -> None:
    found = rows(log("qwen3-8b"), plan)
    assert found["weights"].error == pytest.approx(-0.0009, abs=2e-4)
    assert found["weights"].cause == ""
    assert found["utilization"].error == pytest.approx(0.9 / 0.95 - 1)
    assert found["utilization"].cause == "assumption memory_utilization"
    assert found["overhead"].measured == pytest.approx(2.5 * GIB)
    assert "activation 2.20 GiB, non-torch 0.30 GiB" in found["overhead"].cause
    assert found["kv_pool"].cause.startswith("memory utilization 0.95, planned 0.9 (+3.96 GiB)")
    assert "overhead 2.50 GiB, planned 3.00 GiB (+0.50 GiB)" in found["kv_pool"].cause
    assert found["token_bytes"].error == pytest.approx(0, abs=1e-3)
    for name in ("kv_tokens", "max_concurrency"):
        assert found[name].error == pytest.approx(found["kv_pool"].error, abs=1e-3)
        assert found[name].cause == "the KV pool"


def test_a_plan_with_the_measured_values_agrees(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    measured = ["memory_utilization=0.95", "overhead=2.5 GiB"]
    found = rows(log("qwen3-8b"), planner.plan(path, settings=measured))
    errors = {name: row.error for name, row in found.items() if row.error is not None}
    assert max(map(abs, errors.values())) < 0.001
    assert {row.cause for row in found.values()} == {""}


def test_the_causes_of_a_pool_add_up_to_its_difference(plan: Plan) -> None:
    from planner.observation import _Pair, _terms

    pair = _Pair(log("qwen3-8b"), plan, 0)
    terms = sum(amount for amount, _ in _terms(pair.plan_ledger, pair.log_ledger))
    row = rows(log("qwen3-8b"), plan)["kv_pool"]
    assert isinstance(row.measured, float) and isinstance(row.planned, float)
    assert terms == pytest.approx(row.measured - row.planned, abs=0.02 * GIB)


# What a release prints that states no overhead: weights, pool, and nothing of the budget.
NO_BUDGET = """\
INFO 04-22 11:00:00 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: \
model='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=16384, tensor_parallel_size=1, \
quantization=None, kv_cache_dtype=auto, seed=0
INFO 04-22 11:00:20 [gpu_model_runner.py:4566] Model loading took 15.27 GiB memory and 6.0 seconds
INFO 04-22 11:00:40 [gpu_worker.py:436] Available KV cache memory: {pool:.2f} GiB
"""


def test_what_the_log_leaves_open_of_a_pool_is_said_with_its_size(plan: Plan) -> None:
    """Weights explain 0.01 GiB of the difference; what is left of it no line speaks of."""
    planned = plan.value("kv_pool", 0)
    assert isinstance(planned, float)
    pool = round(planned / GIB, 2) - 1.27
    (seen,) = read_log(NO_BUDGET.format(pool=pool))
    cause = rows(seen, plan)["kv_pool"].cause
    assert cause == (
        "weights 15.27 GiB, planned 15.26 GiB (-0.01 GiB); "
        "the log does not explain the other -1.26 GiB"
    )
    silent = "\n".join(x for x in NO_BUDGET.format(pool=pool).split("\n") if "loading" not in x)
    (seen,) = read_log(silent)
    assert rows(seen, plan)["kv_pool"].cause == "the log explains nothing of -1.27 GiB"


def test_nothing_is_left_open_where_the_log_states_the_budget(plan: Plan) -> None:
    assert "does not explain" not in rows(log("qwen3-8b"), plan)["kv_pool"].cause


def test_another_length_is_told_and_never_compared(plan: Plan) -> None:
    row = rows(log("vllm-0.10.2"), plan)["max_concurrency"]
    assert (row.planned, row.error) == (None, None)
    assert row.cause == "planned at 16,384 tokens; plan with contexts: [8192 tokens]"


def test_a_token_line_that_misleads_is_marked(plan: Plan) -> None:
    found = rows(log("vllm-0.20.0-hybrid"), plan)
    assert "token_bytes" not in found
    assert found["kv_tokens"].error is None
    assert found["model"].cause == "perhaps another model"
    assert "divided by the number of layer groups" in found["kv_tokens"].note


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_stay_unknown(name: str, plan: Plan) -> None:
    for row in compare(log(name), plan):
        assert row.measured is not None
        if row.error is not None:
            assert math.isfinite(row.error)
            assert isinstance(row.planned, float)


UNKNOWN_POOL = """\
metrics:
  kv_pool:
    label: KV pool, one GPU
    unit: byte/gpu
    why: Nobody knows it here.
    source: {title: Own rule}
    formula: memory_left * unknown()
    replaces: kv_pool
    because: The test needs a figure that is unknown.
"""


def test_an_unknown_figure_of_the_plan_is_no_error(tmp_path: Path) -> None:
    path, own = tmp_path / "small.yaml", tmp_path / "own.yaml"
    path.write_text(SMALL, "utf-8")
    own.write_text(UNKNOWN_POOL, "utf-8")
    found = rows(log("qwen3-8b"), planner.plan(path, metrics=[own]))
    for name in ("kv_pool", "kv_tokens"):
        assert (found[name].planned, found[name].error) == (None, None)
    assert found["weights"].error is not None


def test_the_budget_of_each_engine() -> None:
    assert measured_ledger(log("vllm-0.10.2")).overhead == pytest.approx(2.34 * GIB)
    assert measured_ledger(log("vllm-0.8.5-v0-tp2")).overhead == pytest.approx(2.7 * GIB)
    assert measured_ledger(log("vllm-0.6.4")).overhead == pytest.approx(1.49 * GIB)
    assert measured_ledger(log("sglang-tp2")).overhead == pytest.approx(0.078 * GIB, rel=0.01)
    assert measured_ledger(log("llamacpp-b3900")).overhead == pytest.approx(560 * 2**20)
    assert measured_ledger(log("vllm-gaudi")).requested is None
    assert measured_ledger(log("tensorrt-0.13")).overhead is None
    # A card that the log does not state may come from the plan.
    seen = log("vllm-0.19.0-tp2")
    assert measured_ledger(seen).overhead is None
    assert measured_ledger(seen, 79.19 * GIB).overhead == pytest.approx(4.3005 * GIB, rel=1e-6)


# ---- overlay -----------------------------------------------------------------------------------


@cache
def base(word: str = "plain") -> Any:
    return Catalog.open().entry("engine", word)


def test_the_overlay_is_an_engine_entry_with_the_log_as_source() -> None:
    made = overlay(log("qwen3-8b"), base(), "serve.log")
    record = read_record(yamlfile.parse(made.text, "x.yaml"), Engine)
    assert (record.id, record.release) == ("vllm-0.19.0-measured", "0.19.0")
    overhead = record.defaults.overhead
    assert overhead.value == 2.5 * GIB
    assert (overhead.source, overhead.confidence) == ((SOURCE,), "log")
    source = record.sources[SOURCE]
    assert source.title == "Start-up log of vLLM 0.19.0, file serve.log, dated 04-22 11:00:00"
    assert record.defaults.memory_utilization.value == 0.95
    assert record.block_size == read_record(base().file, Engine).block_size


@pytest.mark.parametrize(
    "name",
    ["vllm-0.6.4", "vllm-0.8.5-v0-tp2", "vllm-0.10.2", "vllm-0.29.0-hybrid-tp2", "sglang-tp2",
     "llamacpp-b3900", "ik-latent"],
)  # fmt: skip
def test_overlays_of_every_engine_are_read_back(name: str) -> None:
    seen = log(name)
    made = overlay(seen, base(), f"{name}.log")
    record = read_record(yamlfile.parse(made.text, "x.yaml"), Engine)
    wanted = measured_ledger(seen).overhead
    assert wanted is not None
    assert record.defaults.overhead.value == pytest.approx(wanted, abs=1e-4 * GIB)


def test_a_card_of_the_plan_is_told_in_the_note() -> None:
    made = overlay(log("vllm-0.19.0-tp2"), base(), "x.log", basis=79.19 * GIB)
    note = yaml.safe_load(made.text)["defaults"]["overhead"]["note"]
    assert note.endswith("The memory of the card is that of the plan, not of the log.")


@pytest.mark.parametrize("name", ["tensorrt-0.13", "vllm-0.7.3-v1", "vllm-refused"])
def test_a_log_that_states_too_little_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected lines that state an overhead, found no "):
        overlay(log(name), base(), f"{name}.log")


def test_an_overhead_below_zero_is_refused() -> None:
    text = (LOGS / "qwen3-8b.log").read_text("utf-8").replace("57.46 GiB", "70.00 GiB")
    with pytest.raises(InputError, match="other processes held memory"):
        overlay(read_log(text)[0], base(), "x.log")


def test_foreign_text_never_becomes_an_id_or_yaml() -> None:
    name = "x: {y: *z}\n# 'log'\u202e"
    text = (LOGS / "qwen3-8b.log").read_text("utf-8").replace("0.19.0", "0.19.0/../../x")
    made = overlay(read_log(text)[0], base(), name)
    assert made.id == "vllm-measured"
    assert name.split("\n")[0] in yaml.safe_load(made.text)["sources"][SOURCE]["title"]


# ---- command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_the_command_prints(
    name: str, capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = capsheet("observe", LOGS / f"{name}.log")
    assert (done.code, done.err) == (0, "")
    assert all(len(line) <= 100 for line in done.out.splitlines())
    golden.check(LOGS / f"{name}.txt", done.out, f"tests/logs/{name}.txt")


@pytest.mark.parametrize("name", ["qwen3-8b", "vllm-0.20.0-hybrid", "sglang-tp2"])
def test_what_the_command_prints_beside_a_plan(
    name: str, capsheet: Caller, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = capsheet("observe", LOGS / f"{name}.log", "--scenario", "small.yaml")
    assert (done.code, done.err) == (0, "")
    start = done.out.index("planned beside measured")
    golden.check(LOGS / f"plan-{name}.txt", done.out[start:], f"tests/logs/plan-{name}.txt")


def test_json_has_every_rank_and_the_comparison(capsheet: Caller) -> None:
    path = LOGS / "vllm-0.19.0-tp2.log"
    done = capsheet("observe", path, "--scenario", "small.yaml", "--json")
    (seen,) = json.loads(done.out)["observations"]
    pool = seen["quantities"]["kv_pool"]
    assert [rank["rank"] for rank in pool["ranks"]] == ["TP1", "TP0"]
    assert pool["value"] == min(rank["value"] for rank in pool["ranks"])
    assert (pool["unit"], pool["line"]) == ("byte", 5)
    names = {row["quantity"] for row in seen["comparison"]["rows"]}
    assert {"weights", "kv_pool", "max_concurrency"} <= names


def test_several_logs_and_standard_input(capsheet: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (LOGS / "sglang-tp2.log").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    empty = capsheet.write("empty.log", "hello\n")
    done = capsheet("observe", LOGS / "qwen3-8b.log", "-", empty, "--json")
    assert done.code == 0
    assert done.err == "empty.log: no line of an engine that starts\n"
    found = json.loads(done.out)["observations"]
    assert [one["log"] for one in found] == ["qwen3-8b.log", "standard input"]


def test_nothing_recognised_is_one_clear_message(capsheet: Caller) -> None:
    path = capsheet.write("empty.log", "hello\n")
    done = capsheet("observe", path)
    assert (done.code, done.out) == (2, "")
    message = done.err.splitlines()[-2:]
    assert message[0] == "empty.log: expected lines of an engine that starts, found none"
    for words in ("GPU KV cache size", "max_total_num_tokens=", "paged KV cache", "KV buffer size"):
        assert words in message[1]


def test_bad_usage_is_told(capsheet: Caller) -> None:
    assert capsheet("observe").code == 2
    missing = capsheet("observe", "none.log")
    assert missing.code == 2 and "none.log: expected a readable file" in missing.err
    assert capsheet("observe", ".").code == 2
    path = LOGS / "qwen3-8b.log"
    assert capsheet("observe", path, "--scenario", "small.yaml", "--case", "9").code == 2


def test_written_overheads_are_planned_with(capsheet: Caller) -> None:
    path = LOGS / "qwen3-8b.log"
    done = capsheet("observe", path, "--scenario", "small.yaml", "--write", "mine")
    assert done.code == 0
    assert done.err == (
        "wrote mine/engines/vllm-0.19.0-measured.yaml; plan with --catalog mine "
        "--set engine=vllm-0.19.0-measured\n"
    )
    assert capsheet("check", "mine").code == 0
    options = ["--catalog", "mine", "--set", "engine=vllm-0.19.0-measured"]
    again = capsheet("observe", path, "--scenario", "small.yaml", "--json", *options)
    (seen,) = json.loads(again.out)["observations"]
    errors = {row["quantity"]: row["error"] for row in seen["comparison"]["rows"]}
    for name in ("requested", "weights", "overhead", "kv_pool", "kv_tokens", "max_concurrency"):
        assert abs(errors[name]) < 0.001, name


def test_starts_of_one_release_get_numbers(capsheet: Caller) -> None:
    for name in ("a.log", "b.log"):
        capsheet.write(name, (LOGS / "qwen3-8b.log").read_text("utf-8"))
    assert capsheet("observe", "a.log", "b.log", "--write", "mine").code == 0
    names = sorted(path.name for path in (capsheet.folder / "mine" / "engines").iterdir())
    assert names == ["vllm-0.19.0-measured-2.yaml", "vllm-0.19.0-measured.yaml"]
    assert capsheet("check", "mine").code == 0


def test_nothing_is_written_when_one_log_states_too_little(capsheet: Caller) -> None:
    logs = [LOGS / "qwen3-8b.log", LOGS / "tensorrt-0.13.log"]
    done = capsheet("observe", *logs, "--write", "mine")
    assert done.code == 2
    assert not (capsheet.folder / "mine").exists()
