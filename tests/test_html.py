"""The page: safe, self-contained, accessible, printable, and a plan again when taken apart."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from support.browser import CLIPPED, TOO_WIDE, open_page
from support.command import SMALL
from support.pictures import pdf_pages
from support.plans import HOSTILE, OWN_METRICS, example, hostile, small
from support.tools import REPOSITORY, need

from planner import saved
from planner.errors import InputError
from planner.planning import Plan
from reports import html, palette
from reports.html_data import embedded
from reports.html_script import COMPARING, PARTS, own, script
from reports.view import View, view_of
from reports.view_layout import CASE_ROWS, PAGE_ROWS

VOID = {"meta", "br", "link", "img", "input", "hr", "rect", "circle", "polyline"}


def page_of(plan: Plan, view: View) -> str:
    return html.render(view, saved.dumps(saved.document(plan)))


@cache
def page() -> str:
    return page_of(*example())


class Reading(HTMLParser):
    """Tags in order with their attributes, checked to be closed, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, tag: str) -> str:
        return "".join(data for path, data in self.texts if tag in path)


@cache
def reading() -> Reading:
    return Reading(page())


# ---- safe and self-contained -------------------------------------------------------------------


def test_nothing_is_asked_of_the_outside() -> None:
    for tag, attributes in reading().tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "video"), tag
        assert tag != "form" or set(attributes) == {"class"}  # inert, and sends nothing
        for name in ("src", "srcset", "data", "action", "poster", "background", "xlink:href"):
            assert name not in attributes, (tag, attributes)
    style = reading().text("style")
    assert "url(" not in style and "@import" not in style


def test_links_are_anchors_of_the_page_or_plain_web_addresses() -> None:
    ids = {attributes["id"] for _, attributes in reading().tags if "id" in attributes}
    for attributes in reading().named("a"):
        href = attributes["href"]
        if href.startswith("#"):
            assert href[1:] in ids, href
        else:
            assert re.match(r"https?://", href)
            assert attributes["rel"] == "noreferrer noopener"
            assert set(attributes) == {"rel", "href"}


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_admits_the_one_style_and_the_one_script() -> None:
    policies = [a for a in reading().named("meta") if a.get("http-equiv")]
    assert len(policies) == 1 and policies[0]["http-equiv"] == "Content-Security-Policy"
    assert len(reading().named("style")) == 1
    code = page().rpartition("<script>")[2].partition("</script>")[0]
    assert code == script(example()[1].live)
    assert policies[0]["content"] == (
        f"default-src 'none'; style-src 'sha256-{_hash(reading().text('style'))}'; "
        f"script-src 'sha256-{_hash(code)}'; base-uri 'none'; form-action 'none'"
    )
    for tag, attributes in reading().tags:
        assert "style" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")], tag
    scripts = reading().named("script")
    assert scripts == [{"type": "application/json", "id": "plan-data"}, {}]


def test_the_script_makes_no_markup_and_no_code_from_text(repository: Path) -> None:
    code = script(example()[1].live)
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert word not in code, word
    for word in ("fetch(", "XMLHttpRequest", "import(", "WebSocket", "sendBeacon", "http:"):
        assert word not in code, word
    assert "</" not in code and "<!--" not in code


def test_only_our_own_text_is_trusted(repository: Path) -> None:
    uses = []
    for path in sorted((repository / "reports").rglob("*.py")):
        lines = path.read_text("utf-8").splitlines()
        uses += [(path.name, line.strip()) for line in lines if "Markup(" in line]
    assert [name for name, _ in uses] == ["html.py"] * 5 + ["html_diff.py"] * 3
    wanted = [
        "_math(term))", "charts.render(chart, prefix))", "code),", "code),", "embedded(document)),",
        "embedded(packed(plan_json))),", "style),", "style),",
    ]  # fmt: skip
    assert sorted(line.partition("Markup(")[2].partition("  #")[0] for _, line in uses) == wanted
    template = (repository / "templates" / "report.html.j2").read_text("utf-8")
    assert "safe" not in re.findall(r"\|\s*(\w+)", template) and "autoescape" not in template


def test_hostile_names_are_text(tmp_path: Path) -> None:
    plan, view = hostile(tmp_path)
    made = page_of(plan, view)
    found = Reading(made)
    assert found.named("img") == [] and len(found.named("script")) == 2
    assert "onerror=alert(1)>" in found.text("h1") and "</script>" in found.text("h1")
    assert "<img" not in made and "onerror=alert(1)>" not in made
    assert "Own <b>share</b> | of =pool" in found.text("table")
    assert "javascript:alert(1)" in found.text("ol")
    assert not [a for a in found.named("a") if "javascript" in a["href"]]
    assert "\u202e" not in made
    assert made.count("</script>") == 2 and "<!--" not in made
    with open_page(_kept(tmp_path, made)) as shown:
        assert (shown.errors, len(shown.requests)) == ([], 1)


# ---- the plan inside ---------------------------------------------------------------------------


def test_the_plan_comes_out_as_it_went_in(tmp_path: Path) -> None:
    for plan, view in (example(), hostile(tmp_path)):
        text = saved.dumps(saved.document(plan))
        taken = html.extract_plan(html.render(view, text))
        assert taken == text
        assert view_of(saved.loads(taken, "page")) == view


@pytest.mark.parametrize(
    "text",
    ['"</script>"', '"<!-- <script>"', '"\\\\u003c"', '"\\\\\\\\<"', '"&amp;\u2028\u2029"', '"中"'],
)
def test_any_json_text_survives_the_page(text: str) -> None:
    inside = embedded(text)
    assert "<" not in inside and ">" not in inside and "&" not in inside
    made = f'<script type="application/json" id="plan-data">\n{inside}</script>'
    assert html.extract_plan(made) == text + "\n"


def test_a_page_without_a_plan_is_refused() -> None:
    for text in ("", "<html></html>", '<script type="application/json" id="plan-data">{}'):
        with pytest.raises(InputError, match="a page with a plan inside"):
            html.extract_plan(text)


# ---- structure ---------------------------------------------------------------------------------


def test_one_heading_names_the_page_and_levels_follow_each_other() -> None:
    levels = [int(tag[1]) for tag, _ in reading().tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert reading().text("h1") == example()[1].title
    assert reading().text("title").startswith(example()[1].title)
    assert reading().named("html")[0]["lang"] == "en"
    assert reading().tags[-1][0] == "script"


def test_sections_stand_in_reading_order() -> None:
    ids = [a["id"] for a in reading().named("section") if a["id"] != "what-if"]  # of the script
    sections = [f"s-{section.name}" for section in example()[1].sections]
    assert ids == [
        "answer", "cases", *sections, "assumptions", "facts", "sources", "glossary", "checks",
        "provenance",
    ]  # fmt: skip
    links = [a["href"][1:] for a in reading().named("a")]
    assert links[0] == "answer" and links[1 : 1 + len(ids)] == ids


def test_left_out_combinations_have_a_section(tmp_path: Path) -> None:
    two = SMALL.replace("[16384 tokens]", "[16384 tokens, 65536 tokens]")
    found = Reading(page_of(*small(tmp_path, two)))
    assert "dropped" in [a["id"] for a in found.named("section")]
    assert "context limit exceeds what the model was published for" in found.text("tbody")


def test_tables_have_captions_scopes_and_regions() -> None:
    found = reading()
    tables = len(found.named("table"))
    assert tables > 15
    for tag in ("caption", "thead", "tbody"):
        assert len(found.named(tag)) == tables, tag
    assert all(a.get("scope") in ("col", "row", "rowgroup") for a in found.named("th"))
    regions = [a for _, a in found.tags if a.get("role") == "region"]
    assert all(a["tabindex"] == "0" for a in regions)
    named = {a["aria-labelledby"] for a in regions if "aria-labelledby" in a}
    assert named <= {a["id"] for a in found.named("caption")}
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in regions)


def test_ids_are_unique_and_every_case_and_metric_has_one() -> None:
    _, view = example()
    counts = Counter(a["id"] for _, a in reading().tags if "id" in a)
    assert [name for name, count in counts.items() if count > 1] == []
    assert {case.anchor for case in view.cases} <= set(counts)
    assert {f"m-{term.name}" for term in view.glossary} <= set(counts)
    assert {f"source-{source.number}" for source in view.sources} <= set(counts)


def test_charts_say_what_they_show() -> None:
    found = reading()
    charts = found.named("svg")
    assert len(charts) == 6
    assert all(a["role"] == "img" and a["aria-labelledby"] for a in charts)
    assert "Qwen3-8B · H200 SXM 141 GB" in found.text("desc")
    assert len(found.named("math")) == len(example()[1].glossary)


@pytest.mark.parametrize(
    "text",
    ["144", "15.26", "1,223.9", "863.3", "967x", "1,535x", "12.53", "50.12", "295.4", "8,912,384",
     "6,286,337", "2.25", "144 KiB/token", "1,224 GiB/request", "does not fit"],
)  # fmt: skip
def test_figures_of_the_documentation_are_in_the_page(text: str) -> None:
    body = "\n".join(data for path, data in reading().texts if "script" not in path)
    assert re.search(rf"(?<![\d,.]){re.escape(text)}(?![\d,]|\.\d)", body)


def test_the_same_bytes_twice_and_of_a_loaded_plan() -> None:
    plan, _ = example()
    text = saved.dumps(saved.document(plan))
    assert html.render(view_of(plan), text) == page()
    assert html.render(view_of(saved.loads(text, "x")), text) == page()


@pytest.mark.parametrize("parts", [PARTS, COMPARING])
def test_scripts_lose_comments_and_indents_alone(parts: tuple[str, ...]) -> None:
    """No text and no template runs over several lines, which a page would shorten too."""
    sources = [(REPOSITORY / "templates" / name).read_text("utf-8") for name in parts]
    for line in "".join(sources).splitlines():
        code = re.sub(r"^\s*//.*", "", line)
        assert code.count("`") % 2 == 0, line
        assert not code.endswith("\\"), line
    kept = [line.strip() for line in "".join(sources).splitlines()]
    written = [line for line in kept if line and not line.startswith("//")]
    assert len(own("en", parts).splitlines()) == len(written)


def test_the_page_stays_small(tmp_path: Path) -> None:
    assert len(page().encode()) < 1_070_000
    assert len(own("en").encode()) < 41_000  # all of our own script: explain, what if, charts
    # Sort, filter, links, columns, copies and files.
    assert len(own("en", ("sort.js", "tables.js")).encode()) < 8_000
    workloads = "\n".join(
        f"  - {{name: w{n}, prompt: {1000 + n} tokens, output: 500 tokens}}" for n in range(500)
    )
    big = SMALL.replace("  - {name: chat, prompt: 8192 tokens, output: 1025 tokens}", workloads)
    big = big.replace("[h100-sxm]", "[h100-sxm, h200-sxm]")
    plan, view = small(tmp_path, big)
    assert len(plan.cases) == 1000
    made = page_of(plan, view)
    assert len(made.encode()) < 2_000_000
    assert f"The first {PAGE_ROWS} of 1000 rows" in made and len(plan.cases) < CASE_ROWS
    assert saved.dumps(saved.document(plan)) == html.extract_plan(made)
    bare = re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    assert len(re.findall(r'<th scope="row" id="case-', bare)) == 1000


# ---- in a browser ------------------------------------------------------------------------------


def _kept(folder: Path, text: str) -> Path:
    path = folder / "page.html"
    path.write_text(text, "utf-8")
    return path


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    path = _kept(tmp_path, page())
    with open_page(path, 1280) as shown:
        assert shown.errors == []
        assert shown.requests == [path.resolve().as_uri()]
        assert shown.evaluate("document.documentElement.scrollWidth") == 1280
        assert shown.evaluate(TOO_WIDE) == []
        assert shown.evaluate(CLIPPED) == []
        light = shown.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        text = shown.evaluate("document.getElementById('plan-data').textContent")
        assert html.extract_plan(page()).strip() != "" and '"format": "capsheet plan"' in text
    with open_page(path, 320, dark=True) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") == 320
        assert shown.evaluate(CLIPPED) == []
        dark = shown.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (light, dark) == (_rgb("page", "light"), _rgb("page", "dark"))


def _rgb(role: str, mode: palette.Mode) -> str:
    value = palette.colour(role, mode)
    return f"rgb({', '.join(str(int(value[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_a_changed_style_is_not_applied(tmp_path: Path) -> None:
    changed = page().replace("max-width:84rem", "max-width:83rem", 1)
    with open_page(_kept(tmp_path, changed)) as shown:
        assert any("Content Security Policy" in error for error in shown.errors)


def test_the_page_reads_without_its_style(tmp_path: Path) -> None:
    bare = re.sub(r"<style>.*?</style>", "<style></style>", page(), flags=re.DOTALL)
    with open_page(_kept(tmp_path, bare)) as shown:
        seen = shown.evaluate("document.body.innerText")
    assert example()[1].verdict_line in seen and "12.53" in seen
    assert '"format"' not in seen


def test_the_printed_page(tmp_path: Path) -> None:
    need("pdftotext", "the text of printed pages")
    path = _kept(tmp_path, page())
    with open_page(path, 1280, dark=True) as shown:
        shown.print(tmp_path / "page.pdf")
    done = subprocess.run(
        ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sheets = done.stdout.split("\f")
    assert 10 < len(sheets) < 72
    assert "16 of 30 cases fit" in sheets[0] and "Contents" not in sheets[0]
    # Thirty cases fill one sheet; a longer table runs over sheets, and its headings with it.
    assert len([sheet for sheet in sheets[:5] if "Which cases fit" in sheet]) == 1
    assert sheets[1].count("does not fit") == 14
    assert len([sheet for sheet in sheets[2:6] if "Steps before" in sheet]) >= 2
    assert not any(word in done.stdout for word in ("Copy as Markdown", "as planned", "Filter"))
    picture = pdf_pages(tmp_path / "page.pdf", tmp_path, 40)[0].read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_own_metrics_are_marked(tmp_path: Path) -> None:
    found = Reading(page_of(*small(tmp_path, own=OWN_METRICS)))
    assert "s-user" in [a["id"] for a in found.named("section")]
    assert "declared in own.yaml" in found.text("section")
    assert HOSTILE not in found.text("section")
