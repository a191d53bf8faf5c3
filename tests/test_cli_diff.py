"""``capsheet diff``: any pair of inputs, exit codes, rules, a line of cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import SMALL, Caller, processor_seconds
from support.diffs import CATALOG, METRICS, NEW, OLD

B200 = SMALL.replace("h100-sxm", "b200").replace("name: small", "name: large")


@pytest.fixture
def pair(capsheet: Caller) -> Caller:
    capsheet.write("large.yaml", B200)
    return capsheet


def test_any_pair_of_scenario_plan_workbook_and_page(pair: Caller) -> None:
    for name in ("small", "large"):
        assert pair("build", f"{name}.yaml").code == 0
    ends = [".plan.json", ".xlsx", ".html"]
    olds = ["small.yaml", *(f"out/small{end}" for end in ends)]
    news = ["large.yaml", *(f"out/large{end}" for end in ends)]
    outputs = set()
    # each kind beside its like, and beside the next kind
    for old, new in [*zip(olds, news, strict=True), *zip(olds, news[1:] + news[:1], strict=True)]:
        done = pair("diff", old, new, "--json")
        assert (done.code, done.err) == (0, ""), (old, new)
        outputs.add(done.out)
    assert len(outputs) == 1
    step = json.loads(outputs.pop())["steps"][0]
    assert step["metrics"]["max_concurrency"]["old"] == [23]
    assert step["summary"]["better"] == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0), (("--exit-code",), 4), (("--fail-on", "max_concurrency > 0"), 3),
        (("--fail-on", "max_concurrency < 0"), 0), (("--fail-on", "max_concurrency>10%"), 3),
        (("--fail-on", "max_concurrency < 0", "--exit-code"), 4),
        (("--fail-on", "max_concurrency > 0", "--exit-code"), 3),
        (("--fail-on", "memory_spare > 1 GiB/gpu"), 3),
        (("--fail-on", "memory_spare > 1000"), 0), (("--fail-on", "nothing > 0"), 2),
        (("--fail-on", "next_bound != memory"), 0), (("--why", "nothing"), 2),
        (("--tolerance", "2"), 2), (("--set", "batches=[8, 16]"), 0),
    ],
)  # fmt: skip
def test_exit_codes(options: tuple[str, ...], code: int, pair: Caller) -> None:
    done = pair("diff", "small.yaml", "large.yaml", *options)
    assert done.code == code, done.err
    assert bool(done.out) == (code != 2)


def test_same_plans_leave_with_0_and_one_line(pair: Caller) -> None:
    done = pair("diff", "small.yaml", "small.yaml", "--exit-code")
    assert done.code == 0
    assert done.out.splitlines()[1] == "no change over the tolerance of 0.1 %"


def test_a_word_may_be_a_rule(pair: Caller) -> None:
    pair.write("full.yaml", B200.replace("[8]", "[200]").replace("name: large", "name: full"))
    done = pair("diff", "small.yaml", "full.yaml", "--fail-on", "verdict == does not fit")
    assert done.code == 3
    assert "broken rule: verdict == does not fit: 1 time" in done.err
    assert "BROKEN RULE" in done.out
    kept = pair("diff", "small.yaml", "full.yaml", "--fail-on", "verdict == fits")
    assert kept.code == 0


def test_an_unknown_change_keeps_no_rule(pair: Caller) -> None:
    own = pair.write("own.yaml", (
        "metrics:\n  own_peak:\n    label: FP4 peak\n    unit: flop/s/gpu\n    better: up\n"
        "    why: Own.\n    source: {title: Own}\n    formula: peak_fp4\n"
    ))  # fmt: skip
    args = ("diff", "small.yaml", "large.yaml", "--metrics", own)
    done = pair(*args, "--fail-on", "own_peak < 0", "--json")
    assert done.code == 3
    assert json.loads(done.out)["policy"]["breached"][0]["reason"] == "the change is not known"


def test_not_comparable_leaves_with_5_and_names_the_field(pair: Caller) -> None:
    two = SMALL.replace("[h100-sxm]", "[h200-sxm, b200]").replace("name: small", "name: two")
    pair.write("two.yaml", two)
    done = pair("diff", "small.yaml", "two.yaml")
    assert (done.code, done.out) == (5, "")
    assert "small -> two: cases: expected" in done.err and "--pair gpu:OLD=NEW" in done.err
    pair("build", "small.yaml")
    path = pair.folder / "out" / "small.plan.json"
    path.write_text(path.read_text("utf-8").replace('"version": 1', '"version": 7', 1), "utf-8")
    other = pair("diff", path, "large.yaml")
    assert (other.code, other.out) == (5, "") and "version: expected" in other.err


def test_forced_comparison_bears_a_banner(pair: Caller) -> None:
    shipped = Path(__file__).parents[1] / "catalogs" / "engines" / "plain.yaml"
    text = shipped.read_text("utf-8").replace("id: plain", "id: boxed")
    pair.write("own/engines/boxed.yaml", text.replace("value: framework", "value: marketed"))
    pair.write("boxed.yaml", B200 + "engine: boxed\n")
    args = ("diff", "small.yaml", "boxed.yaml", "--catalog", "own")
    refused = pair(*args)
    assert refused.code == 5 and "engine_memory_basis" in refused.err
    forced = pair(*args, "--force")
    assert forced.code == 0
    assert "! COMPARED BY FORCE: engine_memory_basis: old framework, new marketed" in forced.out


def test_a_line_of_cards(pair: Caller) -> None:
    done = pair("diff", "small.yaml", "--generation", "H100,H200,B200", "--json")
    assert done.code == 0
    data = json.loads(done.out)
    cards = [(s["old"]["gpus"], s["new"]["gpus"]) for s in data["steps"]]
    assert cards == [(["h100-sxm"], ["h200-sxm"]), (["h200-sxm"], ["b200"])]
    text = pair("diff", "small.yaml", "--generation", "H100,H200,B200")
    assert text.out.startswith("small: H100 SXM 80 GB -> H200 SXM 141 GB -> B200 SXM 180 GB")
    assert pair("diff", "small.yaml", "--generation", "h100-nvl,B200").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("small.yaml",), "two plans, or one scenario with --generation"),
        (("small.yaml", "large.yaml", "--generation", "H100,B200"), "leave out NEW"),
        (("small.yaml", "--generation", "H100"), "two cards or more"),
        (("small.yaml", "--generation", "H100,H100"), "several cards begin with it"),
        (("small.yaml", "--generation", "b200,b200"), "each card once"),
        (("small.yaml", "--generation", "H100,nonsense"), "'nonsense'"),
        (("small.yaml", "none.yaml"), "none.yaml"),
        (("small.yaml", "large.yaml", "--output", "small.yaml"), "a file that is no input"),
    ],
)
def test_wrong_calls(args: tuple[str, ...], words: str, pair: Caller) -> None:
    before = pair.files()
    done = pair("diff", *args)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert pair.files() == before


def test_output_goes_to_a_file(pair: Caller) -> None:
    done = pair("diff", "small.yaml", "large.yaml", "--md", "--output", "comment.md")
    assert (done.code, done.out) == (0, "comment.md\n")
    shown = pair("diff", "small.yaml", "large.yaml", "--md").out
    assert (pair.folder / "comment.md").read_text("utf-8") == shown


def test_a_thousand_cases_take_less_than_five_seconds(pair: Caller) -> None:
    large = SMALL.replace("[qwen3-8b]", "[qwen3-8b, llama-3.1-8b, gemma-3-27b, qwen3-30b-a3b]")
    large = large.replace("[8]", str([8 * n for n in range(1, 126)]))
    large += "tp: [1, 2]\n"
    for name, gpu in (("one", "h100-sxm"), ("other", "b200")):
        text = large.replace("h100-sxm", gpu).replace("name: small", f"name: {name}")
        pair.write(f"{name}.yaml", text)
        plan = pair("plan", f"{name}.yaml", "--json")
        pair.write(f"{name}.plan.json", plan.out)
        assert len(json.loads(plan.out)["cases"]) == 1000
    for form in ("--md", "--json"):
        args = ["diff", "one.plan.json", "other.plan.json", form]
        assert processor_seconds(args, pair.folder) < 5


def test_a_workbook_by_its_name(pair: Caller) -> None:
    done = pair("diff", "small.yaml", "large.yaml", "--output", "both.xlsx")
    assert (done.code, done.out) == (0, "both.xlsx\n")
    assert (pair.folder / "both.xlsx").read_bytes()[:2] == b"PK"
    before = pair.files()
    refused = pair("diff", "small.yaml", "large.yaml", "--md", "--output", "other.xlsx")
    assert refused.code == 2 and "md is text: give --output another ending" in refused.err
    assert pair.files() == before
    # a comparison is no plan, and says so
    again = pair("plan", "both.xlsx")
    assert again.code == 2 and "a workbook with a plan inside" in again.err


def test_methods_and_orders(pair: Caller) -> None:
    args = (
        "diff",
        OLD,
        NEW,
        "--metrics",
        METRICS,
        "--catalog",
        CATALOG,
        "--why",
        "slo_concurrency",
    )
    shown = pair(*args, "--method", "sequential", "--order", "precision,hardware")
    assert shown.code == 0 and "one after the other: weight_format, kv_format" in shown.out
    assert "Shapley values" in pair(*args, "--method", "shapley").out
    assert pair(*args, "--method", "lmdi").code == 2
