"""A page of a thousand cases in headless Chromium: bytes, opening, and answers to a reader.

By hand: ``python benchmarks/page.py`` (needs chromium). Aims: below 2 MB, open below a second. CPU
is that of the page's main thread; wall time grows with whatever else is running. The scenario has
many layouts and workloads, so that no table can merge its rows down to a few.

Measured on two shared cores: 1.97 MB (plan.json alone 2.79 MB), of which tables and words are
1.17 MB and the plan 0.62 MB.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.browser import Page, open_page  # noqa: E402

import planner  # noqa: E402
from planner import saved  # noqa: E402
from planner.catalog import Catalog  # noqa: E402
from planner.offers import CHOSEN, offers  # noqa: E402
from reports import html  # noqa: E402
from reports.view import view_of  # noqa: E402

SCENARIO = """\
name: thousand
title: A thousand cases
as_of: "2026-11-29"
models: [qwen3-8b, llama-3.1-8b, qwen3-30b-a3b, gemma-3-27b, qwen3-next-80b]
gpus: [h100-sxm, h200-sxm, b200, b300, mi300x]
tp: [1, 2]
precisions:
  - {weights: bf16, kv: bf16, compute: bf16}
contexts: [8192 tokens, 16384 tokens]
workloads:
  - {name: a, prompt: 4096 tokens, output: 1025 tokens}
  - {name: b, prompt: 2048 tokens, output: 1025 tokens}
  - {name: c, prompt: 1024 tokens, output: 1025 tokens}
  - {name: d, prompt: 512 tokens, output: 1025 tokens}
  - {name: e, prompt: 256 tokens, output: 1025 tokens}
batches: [16, 64]
"""
_FRAMES = "new Promise(done=>requestAnimationFrame(()=>requestAnimationFrame(done)))"
ANSWERS = {
    "sort by a figure": "document.querySelectorAll('#cases .sort')[2].click()",
    "filter": "const q=document.getElementById('q');q.value='b200';"
    "q.dispatchEvent(new Event('input'))",
    "explain": "capsheet.explain({m:'longest_context',i:500})",
    "what if, first chart": "document.getElementById('explain').close();"
    "const b=document.getElementById('if-batch');b.value='24';"
    "b.dispatchEvent(new Event('change',{bubbles:true}))",
}


def made(folder: Path) -> tuple[Path, float]:
    """The page in a folder, and the seconds that view and page took."""
    scenario = folder / "thousand.yaml"
    scenario.write_text(SCENARIO, "utf-8")
    plan = planner.plan(scenario)
    assert len(plan.cases) == 1000
    text = saved.dumps(saved.document(plan))
    offered = offers(plan, Catalog.open([]), CHOSEN)
    start = time.process_time()
    page = html.render(view_of(plan, offered), text)
    seconds = time.process_time() - start
    path = folder / "thousand.html"
    path.write_text(page, "utf-8")
    data, code = page.index('id="plan-data"'), page.rindex("<script>")
    print(f"{'plan.json, bytes':<34} {len(text.encode()):>12,}")
    for name, size in (
        ("page, bytes", len(page.encode())),
        ("  tables, charts, words", len(page[:data].encode())),
        ("  the plan, each value once", len(page[data:code].encode())),
        ("  script and formulas", len(page[code:].encode())),
    ):
        print(f"{name:<34} {size:>12,}")
    return path, seconds


def spent(page: Page) -> dict[str, float]:
    """Seconds of the main thread so far, by kind of work."""
    return {one["name"]: one["value"] for one in page.call("Performance.getMetrics")["metrics"]}


def opened(page: Page, path: Path) -> tuple[float, ...]:
    """Milliseconds of CPU, of it for scripts and for layout, and of wall time until it is drawn."""
    page.call("Page.navigate", url="about:blank")
    page.evaluate("new Promise(done=>setTimeout(done,300))")
    before, start = spent(page), time.monotonic()
    page.open(path)
    page.evaluate(_FRAMES)
    wall, after = time.monotonic() - start, spent(page)
    kinds = ("TaskDuration", "ScriptDuration", "LayoutDuration")
    return (*(1000 * (after[kind] - before[kind]) for kind in kinds), 1000 * wall)


def main() -> None:
    """Print sizes and medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = made(Path(folder))
        print(f"{'view and page, CPU s':<34} {seconds:>12.2f}")
        with open_page(path) as page:
            page.call("Performance.enable", timeDomain="threadTicks")
            times = [opened(page, path) for _ in range(runs)]
            names = ("open, CPU ms", "  script", "  layout", "open until drawn, wall ms")
            for name, found in zip(names, zip(*times, strict=True), strict=True):
                print(f"{name:<34} {statistics.median(found):>12.0f}")
            for name, script in ANSWERS.items():
                code = f"(()=>{{const t=performance.now();{script};return performance.now()-t}})()"
                print(f"{name + ', ms':<34} {page.evaluate(code):>12.0f}")
            assert page.errors == []


if __name__ == "__main__":
    main()
