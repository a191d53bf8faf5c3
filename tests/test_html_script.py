"""What a reader does in the page: sort, filter, ask why, replace inputs; by keyboard alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Page, open_page
from support.plans import example, hostile

from planner import saved
from planner.explain import explain
from reports import html

_ROWS = """[...document.querySelectorAll('#cases tbody tr:not(.group)')]
  .filter(r=>!r.hidden).map(r=>r.cells[INDEX].textContent.trim())"""
_FOCUS = """(e=>(e.id||e.tagName)+'|'+(e.getAttribute('aria-label')||e.textContent.trim()))
  (document.activeElement)"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan, view = example()
    path = tmp_path_factory.mktemp("page") / "example.html"
    path.write_text(html.render(view, saved.dumps(saved.document(plan))), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(path: Path) -> Iterator[Page]:
    with open_page(path) as page:
        yield page


@pytest.fixture
def page(browser: Page, path: Path) -> Iterator[Page]:
    """The example, opened anew; at the end it has complained of nothing and asked for nothing."""
    browser.attach()
    browser.look(1280)
    browser.open(path)
    yield browser
    assert browser.errors == []
    assert browser.requests == [path.resolve().as_uri()]


def rows(page: Page, index: int = 0) -> list[str]:
    return list(page.evaluate(_ROWS.replace("INDEX", str(index))))


def focus(page: Page, selector: str) -> None:
    one = f"document.querySelector({json.dumps(selector)})"
    assert page.evaluate(f"({one}.focus(),document.activeElement==={one})")


def settle(page: Page) -> None:
    page.evaluate("new Promise(done=>setTimeout(done,150))")


def numbers(texts: list[str]) -> list[float]:
    return [float(re.sub(r"[,x]", "", t).replace("\u2212", "-")) for t in texts]


# ---- keyboard ----------------------------------------------------------------------------------


def test_every_control_can_be_reached_by_tab(page: Page) -> None:
    seen = []
    page.evaluate("document.querySelector('.more').open=true")
    for _ in range(80):
        page.press("Tab")
        seen.append(page.evaluate(_FOCUS))
        if seen[-1].startswith("TD|"):
            break
    names = [one.partition("|")[2] for one in seen]
    assert names[0] == "Skip to the answer"
    ids = [one.partition("|")[0] for one in seen]
    assert [i for i in ids if i.startswith("if-")] == [
        f"if-{control.name}" for control in example()[1].live.controls
    ]
    assert "q" in ids
    assert {"Columns", "Copy as Markdown", "CSV", "Plan as JSON", "Sort by Max concurrency"} <= set(
        names
    )
    assert seen[-1] == "TD|does not fit"  # one stop a table: its first figure


def test_sorting_goes_up_down_and_back(page: Page) -> None:
    before = rows(page)
    focus(page, "[aria-label='Sort by Max concurrency']")
    page.press("Enter")
    assert numbers(rows(page, 2)) == sorted(numbers(rows(page, 2)))
    head = "document.querySelector('#cases [aria-sort]')"
    assert page.evaluate(f"{head}.getAttribute('aria-sort')+{head}.textContent") == (
        "ascendingMax concurrency"
    )
    assert page.evaluate("document.querySelectorAll('#cases tr.group:not([hidden])').length") == 0
    assert rows(page)[0].startswith("Qwen3-Next-80B-A3B-Instruct · ")
    page.press("Enter")
    assert numbers(rows(page, 2)) == sorted(numbers(rows(page, 2)), reverse=True)
    page.press("Enter")
    assert [r.rpartition("·")[2] for r in rows(page)] == [r.rpartition("·")[2] for r in before]
    assert page.evaluate("document.querySelectorAll('#cases tr.group:not([hidden])').length") == 5
    assert page.evaluate("document.querySelectorAll('[aria-sort]').length") == 0
    focus(page, "[aria-label='Sort by What binds']")
    page.press("Enter")
    assert rows(page, 3) == sorted(rows(page, 3))


def test_unknown_figures_come_last_both_ways(page: Page) -> None:
    page.evaluate("location.hash='#compute_dtype=fp4'")  # H100 and H200 have no such peak
    settle(page)
    focus(page, "#cases [aria-label='Sort by B* compute']")
    for way in ("ascending", "descending"):
        page.press("Enter")
        texts = [text.partition("was")[0] for text in rows(page, 7)]
        assert [text == "unknown" for text in texts] == [False] * 10 + [True] * 20
        known = numbers(texts[:10])
        assert known == sorted(known, reverse=way == "descending")


def test_filter_by_keyboard_and_by_address(page: Page, path: Path) -> None:
    focus(page, "#q")
    for key in "b200 long":
        page.press(key)
    found = rows(page)
    assert len(found) == 5 and all("B200" in r and "long" in r for r in found)
    assert (
        page.evaluate("document.querySelector('.tools [aria-live]').textContent") == "5 of 30 rows"
    )
    assert page.evaluate("location.hash") == "#q=b200+long"
    memory = "#s-memory tbody tr:not(.group):not([hidden])"
    assert page.evaluate(f"document.querySelectorAll('{memory}').length") >= 5
    page.evaluate("location.hash='#q=H100&batch=8'")
    settle(page)
    assert len(rows(page)) == 10
    assert page.evaluate("document.getElementById('if-batch').value") == "8"
    page.evaluate("location.hash='#q=no+such+case'")
    settle(page)
    assert rows(page) == []


def test_a_figure_explains_itself(page: Page) -> None:
    plan, _ = example()
    page.evaluate("document.querySelector('#cases td[tabindex]').focus()")
    page.press("ArrowRight")
    page.press("ArrowDown")
    page.press("Enter")
    assert page.evaluate("document.getElementById('explain').open")
    assert page.evaluate(_FOCUS) == "explain-title|Max concurrency"
    tree = explain(plan, "max_concurrency", 1, 0)
    text = page.evaluate("document.getElementById('explain').innerText")
    assert f"= {tree.numbers} = {tree.exact}" in text and tree.meaning in text
    assert plan.cases[1].id in text
    assert "explain=max_concurrency" in page.evaluate("location.hash")
    focus(page, "#explain .deep")
    page.press("Enter")
    assert page.evaluate(_FOCUS) == "explain-title|Concurrency of one data-parallel rank"
    page.press("Escape")
    assert not page.evaluate("document.getElementById('explain').open")
    assert page.evaluate(_FOCUS) == "TD|23"
    assert page.evaluate("location.hash") in ("", "#")


def test_tiles_totals_and_checks_explain_themselves(page: Page) -> None:
    plan, view = example()
    for selector, label in (
        (".tiles li:nth-child(2) .tile-number", "Concurrency per GPU"),
        (".note b[data-m=gpus_per_replica]", "GPUs per replica"),
        ("#checks tbody tr:last-child td[data-m]", view.checks[-1].label),
    ):
        focus(page, selector)
        page.press("Enter")
        text = page.evaluate("document.getElementById('explain').innerText")
        assert label in text and " = " in text, selector
        page.press("Escape")
    page.evaluate("document.querySelector('.tiles li:nth-child(2) .tile-number').click()")
    best = view.tiles[1].case
    assert best is not None
    text = page.evaluate("document.getElementById('explain').innerText")
    assert (
        plan.cases[best].id in text
        and explain(plan, "concurrency_per_gpu", best, 0).numbers in text
    )


def test_every_figure_explains_itself_down_to_sources(page: Page) -> None:
    plan, _ = example()
    for case in (0, 20):
        for name, metric in plan.metrics.metrics.items():
            if metric.part_of:
                continue
            page.evaluate(f"capsheet.explain({{m:'{name}',i:{case}}})")
            text = page.evaluate("document.getElementById('explain').innerText")
            tree = explain(plan, name, case, 1)
            assert tree.label in text and (tree.numbers or tree.rows[0].numbers) in text, name
            for operand in tree.operands:
                assert operand.label in text, (name, operand.name)
                if operand.basis and operand.basis.sources:
                    assert operand.basis.sources[0].title in text, (name, operand.name)
            assert metric.entry.source.title in text


# ---- what if -----------------------------------------------------------------------------------


def test_replaced_inputs_are_computed_by_keyboard(page: Page) -> None:
    focus(page, "#if-batch")
    for key in "24":
        page.press(key)
    settle(page)
    told = page.evaluate("document.querySelector('.told').textContent")
    assert told == (
        "Planned batch 24 requests in every case. 18 of 30 cases fit the planned batch "
        "(issued: 16)."
    )
    verdict = "document.querySelector('.verdict').textContent"
    assert page.evaluate(verdict) == ("What if: 18 of 30 cases fit the planned batch (issued: 16).")
    assert rows(page, 1)[6] == "fitswas does not fit"
    assert page.evaluate("location.hash") == "#batch=24"
    live = page.evaluate("[...document.querySelectorAll('.not-live')].every(n=>!n.hidden)")
    assert live and page.evaluate("document.querySelectorAll('figure .not-live').length") > 3
    tile = page.evaluate("document.querySelector('.tiles li').innerText").split("\n")
    assert tile[0:2] == ["Planned batch fits", "18 of 30"] and tile[-1] == "(was 16 of 30)"
    page.press("Backspace", times=2)
    settle(page)
    assert page.evaluate("document.querySelectorAll('.changed').length") == 0
    assert page.evaluate("[...document.querySelectorAll('.not-live')].every(n=>n.hidden)")
    assert rows(page, 1)[6] == "does not fit"
    assert page.evaluate(verdict) == example()[1].verdict_line


def test_what_is_not_allowed_is_named_and_changes_nothing(page: Page) -> None:
    for name, text, words in (
        ("memory_utilization", "1.5", "Memory utilization: expected a number from 0.0500 to 1"),
        ("batch", "0", "Planned batch: expected a whole number of at least 1"),
        ("context", "2.5", "Context limit: expected a whole number of at least 1"),
    ):
        focus(page, f"#if-{name}")
        for key in text:
            page.press(key)
        settle(page)
        assert page.evaluate("document.querySelector('.told').textContent").startswith(words)
        assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
        assert page.evaluate("document.querySelectorAll('.changed').length") == 0
        page.press("Backspace", times=len(text))


def test_cases_that_a_plan_would_leave_out_are_counted(page: Page) -> None:
    page.evaluate("location.hash='#context=4096'")
    settle(page)
    told = page.evaluate("document.querySelector('.told').textContent")
    assert "In 15 the request is longer than the context limit" in told
    page.evaluate("location.hash='#gpu=h200-sxm'")
    settle(page)
    assert page.evaluate(
        "document.querySelector('#cases tbody tr:not(.group) th').innerText"
    ).endswith("what if: H200 SXM 141 GB")


# ---- taking figures away -----------------------------------------------------------------------


def test_copies_and_files_hold_what_is_shown(page: Page, path: Path) -> None:
    plan, view = example()
    page.evaluate(
        """(()=>{globalThis.kept=[];
        navigator.clipboard.writeText=async t=>{kept.push(t)};
        URL.createObjectURL=b=>{b.text().then(t=>kept.push(t));return 'blob:none'};
        HTMLAnchorElement.prototype.click=function(){kept.push(this.download)}})()"""
    )
    page.evaluate("document.querySelector('#cases td[tabindex]').focus()")
    page.press("c")
    for name in ("Copy as Markdown", "CSV", "Plan as JSON"):
        page.evaluate(
            f"[...document.querySelectorAll('.tools button')]"
            f".find(b=>b.textContent==={name!r}).click()"
        )
        settle(page)
    row, table, *files = page.evaluate("kept")
    lines = table.splitlines()
    assert lines[0].startswith("| Case | Verdict | Max concurrency [requests] |")
    assert len(lines) == 2 + len(plan.cases)
    assert row.splitlines() == [*lines[:2], lines[2]]
    assert (
        "| Qwen3-8B · H100 SXM 80 GB · long-prompt | does not fit | 23 | memory | −18.99 |" in row
    )
    named = dict(zip(files[::2], files[1::2], strict=True))
    assert list(named) == ["example.csv", "example.plan.json"]
    first = named["example.csv"].splitlines()[1].split(",")
    assert float(first[4]) == view.summary.columns[3].values[0]
    assert saved.document(saved.loads(named["example.plan.json"], "x")) == saved.document(plan)


def test_columns_can_be_hidden(page: Page) -> None:
    page.evaluate("document.querySelector('.columns summary').focus()")
    page.press("Enter")
    page.press("Tab")
    page.press(" ")
    shown = "getComputedStyle(document.querySelector('#cases tbody td')).display"
    assert page.evaluate(shown) == "none"
    assert "Verdict" not in page.evaluate("document.querySelector('#cases thead').innerText")
    page.press(" ")
    assert page.evaluate(shown) == "table-cell"


# ---- safe, and an extra only -------------------------------------------------------------------


def test_a_changed_script_does_not_run(path: Path, tmp_path: Path) -> None:
    changed = path.read_text("utf-8").replace("const K=", "const  K=", 1)
    other = tmp_path / "changed.html"
    other.write_text(changed, "utf-8")
    with open_page(other) as page:
        assert any("Content Security Policy" in error for error in page.errors)
        assert page.evaluate("typeof capsheet") == "undefined"
        assert page.evaluate("document.querySelectorAll('button,dialog').length") == 0
        assert len(rows(page)) == 30


def test_hostile_names_stay_text_in_what_the_script_makes(tmp_path: Path) -> None:
    plan, view = hostile(tmp_path)
    made = tmp_path / "hostile.html"
    made.write_text(html.render(view, saved.dumps(saved.document(plan))), "utf-8")
    with open_page(made) as page:
        page.evaluate(f"location.hash='#explain=own_share@{plan.cases[0].id}'".replace("+", "%2B"))
        settle(page)
        text = page.evaluate("document.getElementById('explain').innerText")
        assert "Own <b>share</b> | of =pool" in text and "</script>" in text
        assert (
            page.evaluate("document.querySelectorAll('img,b b,i,[href^=javascript]').length") == 0
        )
        assert page.errors == [] and len(page.requests) == 1
