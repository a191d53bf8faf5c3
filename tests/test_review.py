"""``capsheet review``: order, trends, causes, measurements, decisions; text and command."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
from support.command import Caller
from support.diffs import plan_of
from support.reviews import DECISIONS, QUARTERS, keep, quarter, quarters, renamed

from planner.diff import Options
from planner.errors import InputError
from planner.review import Review, ordered, review
from planner.review_decisions import read_decisions
from planner.saved import load
from reports import numbers
from reports.text_review import render
from reports.view_review import ReviewView, review_view


@cache
def kept() -> dict[str, bytes]:
    """The files of the folder, made once."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return {p.name: p.read_bytes() for p in quarters(Path(folder)).iterdir()}


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    folder = tmp_path / "plans"
    folder.mkdir()
    for name, data in kept().items():
        (folder / name).write_bytes(data)
    return folder


def reviewed(folder: Path, **options: object) -> Review:
    issues = ordered([(p.name, load(p)) for p in sorted(folder.glob("*.plan.json"))])
    decisions = read_decisions(folder / "decisions.yaml")
    return review(issues, decisions, Options(top=3, **options))  # type: ignore[arg-type]


def viewed(folder: Path, **options: object) -> ReviewView:
    return review_view(reviewed(folder, **options), decisions_read=True)


# ---- order -------------------------------------------------------------------------------------


def test_plans_stand_by_date_then_name(plans: Path) -> None:
    found = [(p.name, load(p)) for p in sorted(plans.glob("*.plan.json"), reverse=True)]
    one = found[-1][1]
    found += [("z", renamed(one, name="beta")), ("y", renamed(one, name="alpha"))]
    told = [(i.as_of, i.plan.name) for i in ordered(found)]
    assert told == [
        ("2027-03-31", "alpha"), ("2027-03-31", "beta"), ("2027-03-31", "two"),
        ("2027-06-30", "two"), ("2027-09-30", "two"),
    ]  # fmt: skip


def test_the_same_plan_in_several_files_counts_once(plans: Path) -> None:
    plan = load(plans / "2027Q1.plan.json")
    assert [i.file for i in ordered([("a", plan), ("b", plan)])] == ["a"]


def test_two_plans_of_one_name_and_date_are_refused(plans: Path) -> None:
    plan = load(plans / "2027Q1.plan.json")
    with pytest.raises(InputError, match="'two' of 2027-03-31, which a is too"):
        ordered([("a", plan), ("b", renamed(plan, title="Another"))])


# ---- content -----------------------------------------------------------------------------------


def test_cases_are_followed_through_the_pairs(plans: Path) -> None:
    found = reviewed(plans)
    # The second model goes in the third quarter, another comes; a new card is the same case.
    assert found.threads == ((0, 0, 0), (None, None, 1), (1, 1, None))
    trend = next(t for t in found.trends if t.name == "max_concurrency")
    for thread, values in zip(found.threads, trend.values, strict=True):
        for issue, at, value in zip(found.issues, thread, values, strict=True):
            wanted = None if at is None else issue.plan.value("max_concurrency", at)
            assert value == wanted
    first, second, third = trend.values[0]
    assert isinstance(first, float) and trend.ends.changes[0] == float(third or 0) - first
    assert second != first


def test_rows_say_what_is_new_gone_and_better(plans: Path) -> None:
    trend = viewed(plans).trends[0]
    assert [(r.label, r.word) for r in trend.rows] == [
        ("Qwen3-8B", "better"), ("Qwen3-30B-A3B", "new"), ("Llama-3.1-8B-Instruct", "gone"),
    ]  # fmt: skip
    assert trend.rows[1].texts[:2] == ("–", "–")
    assert trend.rows[2].texts[2] == "–"


def test_each_step_names_the_causes_that_weigh_most(plans: Path) -> None:
    view = viewed(plans)
    assert [s.label for s in view.steps] == [
        "2027-03-31 → 2027-06-30", "2027-06-30 → 2027-09-30",
    ]  # fmt: skip
    first = view.steps[0].moved[0]
    assert first.parts[0][0] == "KV format" and first.told.startswith("KV format +")
    assert view.steps[1].moved[0].parts[0][0] == "GPU memory"
    for step in view.steps:
        for moved in step.moved:
            groups = [g.raw for g in moved.bridge.groups]
            assert sum(groups) == pytest.approx(moved.bridge.total_raw)
    assert view.steps[1].view.added == ("Qwen3-30B-A3B",)


def test_measured_figures_stand_beside_planned_ones(plans: Path) -> None:
    pool, tokens = viewed(plans).measured
    assert (pool.label, pool.issue, pool.log) == ("KV pool, one GPU", "2027-06-30", "start.log")
    assert pool.error_raw == pytest.approx(1 / 0.95 - 1)
    assert pool.note == "The engine took more for its graphs."
    assert (tokens.planned, tokens.error, tokens.error_raw) == ("unknown", "unknown", None)


def test_decisions_are_carried_along(plans: Path) -> None:
    view = viewed(plans)
    rows = {r.id: (r.opened, r.closed, r.open_at_last) for r in view.decisions}
    assert rows == {
        "cache": ("2027-03-31", "2027-06-30", False),
        "order": ("2027-06-30", "2027-09-30", False),
        "moe": ("2027-09-30", "–", True),
        "next": ("after the last plan", "–", False),
    }
    assert [s.opened for s in view.steps] == [
        ("Order 16 B200 (Procurement)",), ("Move to experts (Product)",),
    ]  # fmt: skip
    assert [s.closed for s in view.steps] == [
        ("Serve with an FP8 cache (Serving team)",), ("Order 16 B200 (Procurement)",),
    ]  # fmt: skip
    assert "1 of 4 decisions open, 1 closed since the plan before." in view.summary


def test_named_figures_are_followed_and_explained(plans: Path) -> None:
    view = viewed(plans, why=("kv_per_token",))
    assert [t.name for t in view.trends] == ["kv_per_token"]
    assert {m.bridge.metric for s in view.steps for m in s.moved} == {"kv_per_token"}
    with pytest.raises(InputError, match="--why: expected a number"):
        viewed(plans, why=("nothing",))


def test_one_plan_is_a_review_without_steps(plans: Path) -> None:
    issues = ordered([("a", load(plans / "2027Q1.plan.json"))])
    view = review_view(review(issues))
    assert view.summary == ("One plan: there is nothing to compare it with yet.",)
    assert view.steps == () and view.trends[0].chart is None
    assert "Plans" in render(view, 80)


def test_a_metric_that_an_older_plan_lacks_is_no_number(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "metrics:\n  own_room:\n    label: Own room\n    unit: request\n    better: up\n"
        "    why: Own.\n    source: {title: Own}\n    formula: max_concurrency * 2\n",
        "utf-8",
    )
    first = quarter(tmp_path, "2027Q1")
    later = plan_of(tmp_path, QUARTERS["2027Q3"], "later.yaml", metrics=[own])
    found = review(ordered([("a", first), ("b", later)]))
    trend = next(t for t in found.trends if t.name == "own_room")
    assert trend.there[0] == (False, True) and trend.values[0][0] is None
    row = next(t for t in review_view(found).trends if t.name == "own_room").rows[0]
    assert (row.texts[0], row.word) == ("–", "new")


# ---- terminal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 60, 132])
@pytest.mark.parametrize("every", [False, True])
def test_no_line_is_wider_than_the_terminal(plans: Path, width: int, every: bool) -> None:
    text = render(viewed(plans), width, every=every)
    assert max(numbers.display_width(line) for line in text.splitlines()) <= width
    assert "−" not in text and "→" not in text
    for block in ("Plans", "Max concurrency (requests)", "What moved 2027-03-31 -> 2027-06-30",
                  "Plan against measured", "Decisions"):  # fmt: skip
        assert f"\n{block}\n" in text, block


# ---- command -----------------------------------------------------------------------------------


def test_the_command_prints_and_writes_the_same_twice(
    capsheet: Caller, plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = capsheet("review", "plans")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == render(viewed(plans), 80)
    for ending in ("html", "xlsx", "txt"):
        done = [capsheet("review", "plans", "-o", f"{n}.{ending}") for n in "ab"]
        assert [(d.code, d.out) for d in done] == [(0, f"{n}.{ending}\n") for n in "ab"]
        one, two = ((capsheet.folder / f"{n}.{ending}").read_bytes() for n in "ab")
        assert one == two
    page = capsheet("review", "plans", "--format", "html").out
    assert page == (capsheet.folder / "a.html").read_text("utf-8")


def test_outputs_in_the_folder_and_copies_of_a_plan_do_not_count(
    capsheet: Caller, plans: Path
) -> None:
    before = capsheet("review", "plans").out
    for name in ("plans/review.html", "plans/review.xlsx"):
        assert capsheet("review", "plans", "-o", name).code == 0
    assert capsheet("workbook", "plans/2027Q1.plan.json", "-o", "plans/q1.xlsx").code == 0
    assert capsheet("report", "plans/2027Q1.plan.json", "-o", "plans/q1.html").code == 0
    (plans / "other.json").write_text('{"format": "another"}', "utf-8")
    after = capsheet("review", "plans")
    assert (after.code, after.out) == (0, before)
    assert after.err == "no plan inside, passed over: other.json, review.xlsx, review.html\n"


def test_plans_are_read_from_workbooks_and_pages(capsheet: Caller, plans: Path) -> None:
    text = capsheet("review", "plans").out
    assert capsheet("workbook", "plans/2027Q1.plan.json", "-o", "plans/q1.xlsx").code == 0
    assert capsheet("report", "plans/2027Q3.plan.json", "-o", "plans/q3.html").code == 0
    for name in ("2027Q1", "2027Q3"):
        (plans / f"{name}.plan.json").unlink()
    found = capsheet("review", "plans").out
    start = "\nMax concurrency (requests)\n"
    assert found[found.index(start) :] == text[text.index(start) :]


def test_a_broken_plan_is_said_and_nothing_is_written(capsheet: Caller, plans: Path) -> None:
    (plans / "2027Q4.plan.json").write_text("{", "utf-8")
    done = capsheet("review", "plans", "-o", "r.html")
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("plans/2027Q4.plan.json:1:2: expected a saved plan (JSON)")
    assert not (capsheet.folder / "r.html").exists()


def test_two_different_plans_of_one_day_are_a_stated_error(capsheet: Caller, plans: Path) -> None:
    keep(plans, "2027Q1b", renamed(load(plans / "2027Q1.plan.json"), title="Another"))
    done = capsheet("review", "plans")
    assert done.code == 2 and done.err.startswith(
        "2027Q1b.plan.json: expected a name and date that no other plan of the folder has, found "
        "'two' of 2027-03-31, which 2027Q1.plan.json is too\n  hint: "
    )


def test_plans_that_cannot_be_compared_leave_with_5(capsheet: Caller, plans: Path) -> None:
    text = QUARTERS["2027Q3"].replace("2027-09-30", "2027-12-31")
    other = text.replace("qwen3-8b, qwen3-30b-a3b", "gemma-3-27b, llama-3.3-70b")
    keep(plans, "2027Q4", plan_of(capsheet.folder, other, "other.yaml"))
    done = capsheet("review", "plans", "-o", "r.html")
    assert (done.code, done.out) == (5, "") and "no case of one plan pairs" in done.err
    assert not (capsheet.folder / "r.html").exists()


def test_an_input_is_never_overwritten(capsheet: Caller, plans: Path) -> None:
    done = capsheet("review", "plans", "-o", "plans/decisions.yaml")
    assert done.code == 2 and "a file that is no input" in done.err
    assert (plans / "decisions.yaml").read_text("utf-8") == DECISIONS


def test_the_folder_can_be_checked_and_has_a_schema(capsheet: Caller, plans: Path) -> None:
    done = capsheet("check", "plans")
    assert (done.code, done.err) == (0, "no problem in 1 decisions file\n")
    schema = capsheet("schema", "decisions").out
    assert '"closed"' in schema and '"open"' in schema


def test_a_moved_folder_gives_the_same_bytes(capsheet: Caller, plans: Path) -> None:
    shutil.copytree(plans, capsheet.folder / "elsewhere" / "plans")
    for form in ("text", "html", "xlsx"):
        name = f"r.{form}" if form != "text" else "r.txt"
        assert capsheet("review", "plans", "-o", name).code == 0
        assert capsheet("review", "elsewhere/plans", "-o", f"x{name}").code == 0
        one, two = ((capsheet.folder / n).read_bytes() for n in (name, f"x{name}"))
        assert one == two
