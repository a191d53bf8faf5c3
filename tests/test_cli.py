"""The command line: help, exit codes, streams, settings, metrics of one's own, saved plans."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.command import EXAMPLE, SMALL, Caller, environment, processor_seconds, program

from planner.cli import cli

OWN_METRIC = """\
metrics:
  pool_share:
    label: Pool share
    unit: "1"
    display: "%"
    why: What the planned batch takes of the pool.
    source: {title: Own rule}
    formula: batch * kv_reserved_gpu / kv_pool
"""
REPLACEMENT = """\
metrics:
  max_concurrency:
    label: Max concurrency
    unit: request
    why: Half of it.
    source: {title: Own rule}
    formula: floordiv(floordiv(kv_pool, kv_reserved_gpu), 2)
    replaces: max_concurrency
    because: We run two replicas on each card.
"""


def commands(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


# ---- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(path: tuple[str, ...], option: str, capsheet: Caller) -> None:
    done = capsheet(*path, option)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: capsheet " + " ".join(path))
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=lambda one: str(one)[:20])
def test_every_option_is_explained(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, (path, parameter.name)


def test_no_command_shows_help(capsheet: Caller) -> None:
    done = capsheet()
    assert done.code == 2
    assert "Commands:" in done.out + done.err


def test_version(capsheet: Caller) -> None:
    done = capsheet("--version")
    assert done.code == 0
    assert done.out.startswith("capsheet ")


def test_help_is_cheap(tmp_path: Path) -> None:
    least = min(processor_seconds(["plan", "--help"], tmp_path) for _ in range(3))
    assert least < 0.3


def test_help_loads_no_heavy_module() -> None:
    heavy = {"numpy", "pandas", "pydantic", "yaml", "jinja2", "openpyxl", "rich"}
    code = f"import sys, planner.cli; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=True
    )
    assert done.stdout.strip() == b"[]"


# ---- exit codes and streams --------------------------------------------------------------------


@pytest.mark.parametrize(("args", "code"), [
    (["plan", "small.yaml"], 0),
    (["plan", "small.yaml", "--strict"], 0),
    (["plan", "small.yaml", "--strict", "--set", "batches=[400]"], 3),
    (["build", "small.yaml", "--strict", "--set", "batches=[400]"], 3),
    (["plan", "small.yaml", "--set", "batches=[400]"], 0),
    (["plan", "small.yaml", "--set", "batches=[0]"], 2),
    (["plan", "nowhere.yaml"], 2),
    (["plan"], 2),
    (["nonsense"], 2),
    (["check", "small.yaml"], 0),
    (["explain", "small.yaml", "verdict"], 0),
    (["explain", "small.yaml", "verdct"], 2),
    (["catalog", "list"], 0),
    (["catalog", "show", "nonsense"], 2),
    (["schema"], 0),
    (["init", "new"], 0),
    (["plan", "small.yaml", "--json", "--table", "memory"], 2),
    (["plan", "small.yaml", "--csv", "--table", "memory", "--table", "access"], 2),
])  # fmt: skip
def test_exit_codes(args: list[str], code: int, capsheet: Caller) -> None:
    done = capsheet(*args)
    assert done.code == code, done.err
    if code == 2:
        assert done.out == ""
        assert done.err


def test_a_crash_says_little_and_a_traceback_is_one_option_away(
    capsheet: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("the sky\nfalls")

    monkeypatch.setattr("planner.planning.plan", broken)
    done = capsheet("plan", "small.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == "capsheet crashed (RuntimeError: the sky falls)"
    assert "--debug" in done.err
    assert "Traceback" not in done.err
    for args in (["--debug", "plan", "small.yaml"], ["plan", "small.yaml", "--debug"]):
        done = capsheet(*args)
        assert done.code == 1
        assert "Traceback" in done.err


def test_an_interrupt_is_no_crash(capsheet: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.planning.plan", stopped)
    done = capsheet("plan", "small.yaml")
    assert (done.code, done.err.strip()) == (130, "stopped")


def test_data_and_words_keep_apart(capsheet: Caller) -> None:
    done = capsheet("plan", "small.yaml", "--json", "--set", "batches=[400]")
    assert json.loads(done.out)["format"] == "capsheet plan"
    assert done.err == (
        "policy check: Cases in which the planned batch does not fit: 1 (limit 0)\n"
    )
    done = capsheet("build", "small.yaml")
    assert done.out.splitlines() == ["out/small.plan.json", "out/small.xlsx", "out/small.html"]
    assert done.err == "1 case\n"
    done = capsheet("explain", "small.yaml", "verdict", "--depth", "0")
    assert done.out.startswith("verdict: fits")
    assert done.err.startswith("case qwen3-8b/h100-sxm/")


def test_dropped_combinations_are_told(capsheet: Caller) -> None:
    done = capsheet("build", "small.yaml", "--set", "contexts=[16384 tokens, 8192 tokens]")
    assert "left out 1: request is longer than the context limit" in done.err


@pytest.mark.parametrize("form", ["--json", "--csv", "--md", ""])
def test_a_reader_that_goes_is_no_error(form: str, tmp_path: Path) -> None:
    tables = [] if form else ["--table", "all"]
    words = [sys.executable, "-m", "planner.cli", "plan", str(EXAMPLE), *tables]
    command = " ".join([*words, form, "| head -n 1"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], cwd=tmp_path, env=environment(),
        capture_output=True, check=False,
    )  # fmt: skip
    lines = done.stderr.decode().splitlines()
    assert [line for line in lines if not line.startswith("policy check: ")] == []
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


# ---- terminal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["80", "100", "160"])
def test_tables_keep_to_the_terminal(
    columns: str, capsheet: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    done = capsheet("plan", EXAMPLE, "--table", "all")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= int(columns)


def on_a_terminal(tmp_path: Path, **variables: str) -> bytes:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "plan", str(EXAMPLE)],
        cwd=tmp_path, env=environment(COLUMNS="80", **variables), stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # the other end is closed
        pass
    assert process.wait() == 0
    os.close(ours)
    return text


@pytest.mark.parametrize(("variables", "colours"), [
    ({"TERM": "xterm-256color"}, True),
    ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
    ({"TERM": "dumb"}, False),
])  # fmt: skip
def test_colours_only_where_they_are_wanted(
    variables: dict[str, str], colours: bool, tmp_path: Path
) -> None:
    assert (b"\x1b[" in on_a_terminal(tmp_path, **variables)) is colours


def test_a_pipe_gets_no_colours(tmp_path: Path) -> None:
    done = program(["plan", EXAMPLE], tmp_path, TERM="xterm-256color")
    assert b"\x1b" not in done.stdout + done.stderr


# ---- settings, metrics, catalogs ---------------------------------------------------------------


def values(done_out: str, name: str) -> list[object]:
    found = json.loads(done_out)["values"][name]
    assert isinstance(found, list)
    return found


def test_settings_reach_every_output(capsheet: Caller) -> None:
    plain = capsheet("plan", "small.yaml", "--json").out
    changed = capsheet("plan", "small.yaml", "--json", "--set", "memory_utilization=0.5").out
    assert values(plain, "max_concurrency") == [23]
    assert values(changed, "max_concurrency") == [9]
    assert json.loads(changed)["assumptions"]["memory_utilization"] == 0.5
    origin = json.loads(changed)["origins"]["memory_utilization"]
    assert (origin["kind"], origin["where"]) == ("given", "--set memory_utilization=0.5")
    capsheet("build", "small.yaml", "--set", "memory_utilization=0.5", "--set", "title=Half")
    page = (capsheet.folder / "out" / "small.html").read_text("utf-8")
    assert "<title>Half" in page
    assert "--set memory_utilization=0.5" in page


def test_later_settings_win_and_lists_are_set_whole(capsheet: Caller) -> None:
    done = capsheet(
        "plan", "small.yaml", "--json", "--set", "batches=[1, 2]", "--set", "batches=4",
        "--set", "models=[llama-3.1-8b, qwen3-8b]",
    )  # fmt: skip
    cases = json.loads(done.out)["cases"]
    assert [(c["model"], c["inputs"]["batch"]) for c in cases] == [
        ("llama-3.1-8b", 4), ("qwen3-8b", 4),
    ]  # fmt: skip


def test_an_own_metric_joins_every_output(capsheet: Caller) -> None:
    capsheet.write("own.yaml", OWN_METRIC)
    own = ["small.yaml", "--metrics", "own.yaml"]
    assert values(capsheet("plan", *own, "--json").out, "pool_share") == [
        pytest.approx(8 * 2415919104 / 56923957346)
    ]
    shown = capsheet("plan", *own, "--table", "user").out
    assert "34.0 %" in shown
    rows = list(csv.DictReader(io.StringIO(capsheet("plan", *own, "--csv", "--table", "user").out)))
    assert any(name.startswith("pool_share") for name in rows[0])
    assert "Pool share" in capsheet("plan", *own, "--md").out
    capsheet("build", *own)
    assert "Pool share" in (capsheet.folder / "out" / "small.html").read_text("utf-8")
    tree = capsheet("explain", "small.yaml", "pool_share", "--metrics", "own.yaml").out
    assert tree.startswith("pool_share: 34.0 %")
    assert "Own rule" in tree


def test_a_replaced_metric_carries_its_reason(capsheet: Caller) -> None:
    capsheet.write("half.yaml", REPLACEMENT)
    own = ["small.yaml", "--metrics", "half.yaml"]
    document = json.loads(capsheet("plan", *own, "--json").out)
    assert document["values"]["max_concurrency"] == [11]
    assert document["declarations"]["replaced"] == {
        "max_concurrency": ["half.yaml", "We run two replicas on each card."]
    }
    tree = capsheet("explain", "small.yaml", "binding", "--metrics", "half.yaml").out
    assert "We run two replicas on each card." in " ".join(tree.split())
    capsheet("build", *own)
    assert "We run two replicas on each card." in (
        capsheet.folder / "out" / "small.html"
    ).read_text("utf-8")


def test_an_own_catalog_wins(capsheet: Caller) -> None:
    shipped = (EXAMPLE.parents[1] / "gpus" / "h100-sxm.yaml").read_text("utf-8")
    capsheet.write("mine/gpus/h100-sxm.yaml", shipped.replace("79.19 GiB", "70 GiB"))
    done = capsheet("plan", "small.yaml", "--json", "--catalog", "mine")
    document = json.loads(done.out)
    fact = document["facts"]["gpu"]["h100-sxm"]["memory_framework"]
    assert fact["value"] == 70 * 2**30
    assert fact["place"].startswith("mine/gpus/h100-sxm.yaml:")


# ---- saved plans -------------------------------------------------------------------------------


def test_a_saved_plan_stands_where_a_scenario_does(capsheet: Caller) -> None:
    capsheet("build", "small.yaml")
    saved = "out/small.plan.json"
    text = (capsheet.folder / saved).read_text("utf-8")
    assert capsheet("plan", "small.yaml", "--json").out == text
    assert capsheet("plan", saved, "--json").out == text
    for args in (["plan", "FILE"], ["plan", "FILE", "--table", "all"], ["plan", "FILE", "--csv"],
                 ["plan", "FILE", "--md"], ["explain", "FILE", "binding"]):  # fmt: skip
        one, other = (
            capsheet(*[name if word == "FILE" else word for word in args])
            for name in ("small.yaml", saved)
        )
        assert one == other
        assert one.code == 0
    for copy in ("out/small.html", "out/small.xlsx"):
        assert capsheet("plan", copy, "--json").out == text
    assert capsheet("report", saved, "-o", "again.html").code == 0
    pages = [
        (capsheet.folder / name).read_text("utf-8") for name in ("again.html", "out/small.html")
    ]
    # A scenario's page lets its reader try what is in the catalog, a saved plan's what is in it.
    assert '["h200-sxm","H200' not in pages[0] and '["h200-sxm","H200' in pages[1]
    own = r"<script>.*?</script>|'sha256-[^']*'|<select id=\"if-.*?</select>"
    bare = [re.sub(own, "", page, flags=re.S) for page in pages]
    assert bare[0] == bare[1]
    assert capsheet("workbook", saved, "-o", "again.xlsx").code == 0
    assert (capsheet.folder / "again.xlsx").read_bytes()[:2] == b"PK"


def test_the_example_is_planned_when_nothing_is_named(capsheet: Caller) -> None:
    done = capsheet("build")
    assert done.code == 0
    assert done.out.splitlines()[0] == "out/example.plan.json"
    assert SMALL not in done.out
    assert set(capsheet.files()) == {
        "small.yaml", "out/example.plan.json", "out/example.xlsx", "out/example.html",
    }  # fmt: skip
