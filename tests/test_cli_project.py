"""check, init, schema, and the catalog commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.command import Caller
from support.tools import REPOSITORY

from planner import yamlfile
from planner.cli_project import SCHEMAS
from planner.schemas import KINDS, schema, schemas

CATALOGS = REPOSITORY / "catalogs"


# ---- init and check ----------------------------------------------------------------------------


def test_a_new_project_works_at_once(capsheet: Caller) -> None:
    done = capsheet("init", "mine")
    assert done.out.splitlines() == [
        "mine/scenario.yaml", "mine/metrics.yaml", "mine/catalog/models/my-model.yaml",
        "mine/README.md",
    ]  # fmt: skip
    assert capsheet("check", "mine").code == 0
    own = ["mine/scenario.yaml", "--metrics", "mine/metrics.yaml", "--catalog", "mine/catalog"]
    built = capsheet("build", *own, "--strict")
    assert built.code == 0, built.err
    document = json.loads((capsheet.folder / "out" / "my-plan.plan.json").read_text("utf-8"))
    assert {case["model"] for case in document["cases"]} == {"my-model", "llama-3.1-8b"}
    assert None not in document["values"]["pool_used"]
    assert capsheet("explain", own[0], "pool_used", *own[1:]).code == 0


def test_commands_in_the_notes_of_a_new_project_work(
    capsheet: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    capsheet("init", "mine")
    monkeypatch.chdir(capsheet.folder / "mine")
    text = Path("README.md").read_text("utf-8")
    commands = [line.split() for line in text.splitlines() if line.startswith("    capsheet ")]
    assert len(commands) == 4
    for command in commands:
        assert capsheet(*command[1:]).code == 0, command


def test_a_new_project_overwrites_nothing(capsheet: Caller) -> None:
    capsheet.write("metrics.yaml", "metrics: {}\n")
    before = capsheet.files()
    done = capsheet("init")
    assert done.code == 2
    assert "metrics.yaml: expected a name that is free" in done.err
    assert capsheet.files() == before


def test_check_names_what_it_checked(capsheet: Caller) -> None:
    assert "1 scenario\n" in capsheet("check", "small.yaml").err
    shipped = capsheet("check")
    assert (shipped.code, shipped.out) == (0, "")
    assert f"{len(list((CATALOGS / 'models').glob('*.yaml')))} models" in shipped.err


def test_check_collects_problems_of_all_files(capsheet: Caller) -> None:
    capsheet.write("all/a.yaml", "name: a\nmodels: [qwen3-8b]\n")
    capsheet.write("all/b.yml", "metrics: {h100: {}}\n")
    capsheet.write("all/.hidden.yaml", "nonsense: 1\n")
    capsheet.write("all/catalog/gpus/c.yaml", "id: c\n")
    capsheet.write("all/notes.txt", "nothing to see")
    done = capsheet("check", "all")
    assert done.code == 2
    for name in ("all/a.yaml", "all/b.yml", "all/catalog/gpus/c.yaml"):
        assert f"{name}:" in done.err
    assert "hidden" not in done.err
    assert "notes" not in done.err


def test_check_takes_saved_plans(capsheet: Caller) -> None:
    capsheet("build", "small.yaml")
    assert capsheet("check", "out/small.plan.json").err == "no problem in 1 saved plan\n"


def test_an_own_entry_must_not_take_a_shipped_name(capsheet: Caller) -> None:
    text = (CATALOGS / "models" / "qwen3-8b.yaml").read_text("utf-8")
    capsheet.write("mine/models/mine.yaml", text.replace("id: qwen3-8b", "id: mine", 1))
    done = capsheet("check", "mine")
    assert done.code == 2
    assert "Qwen/Qwen3-8B" in done.err


# ---- catalog -----------------------------------------------------------------------------------


def test_list_shows_every_entry(capsheet: Caller) -> None:
    out = capsheet("catalog", "list").out
    for folder in ("models", "gpus", "engines", "formats"):
        for path in (CATALOGS / folder).glob("*.yaml"):
            assert f"\n{path.stem} " in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(("filters", "ids"), [
    (["gpus", "--vendor", "amd"], {"mi300x", "mi355x"}),
    (["gpus", "--line", "instinct"], {"mi300x", "mi355x"}),
    (["models", "--family", "gemma"], {"gemma-3-27b"}),
    (["gpus", "--vendor", "nobody"], set()),
    (["engines", "--vendor", "amd"], set()),
])  # fmt: skip
def test_list_filters(filters: list[str], ids: set[str], capsheet: Caller) -> None:
    done = capsheet("catalog", "list", *filters, "--json")
    rows = json.loads(done.out)[filters[0]]
    found = {row["id"] for row in rows}
    assert found >= ids if ids else not found
    assert done.code == 0


def test_show_gives_unit_source_and_confidence(capsheet: Caller) -> None:
    out = capsheet("catalog", "show", "h100-sxm").out
    line = next(line for line in out.splitlines() if line.startswith("memory.framework"))
    assert line.split()[1:4] == ["79.19", "GiB", "log"]
    assert "https://github.com/vllm-project/vllm/issues/27508 (read 2026-11-29)" in out
    data = json.loads(capsheet("catalog", "show", "h100-sxm", "--json").out)
    figure = next(one for one in data["figures"] if one["name"] == "memory.framework")
    assert figure["value"] == 85029615042.56
    assert figure["unit"] == "byte"
    assert set(figure["source"]) <= set(data["sources"])


@pytest.mark.parametrize("word", ["Qwen/Qwen3-8B", "qwen3-8b", "a100-40", "fp8", "plain"])
def test_show_takes_ids_and_aliases_of_every_kind(word: str, capsheet: Caller) -> None:
    assert capsheet("catalog", "show", word).code == 0


def test_show_says_unknown(capsheet: Caller) -> None:
    text = (CATALOGS / "gpus" / "l4.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("  framework:")]
    capsheet.write("mine/gpus/l4.yaml", "\n".join(lines) + "\n")
    out = capsheet("catalog", "show", "l4", "--catalog", "mine").out
    line = next(line for line in out.splitlines() if line.startswith("memory.framework"))
    assert line.split() == ["memory.framework", "unknown"]


# ---- schema ------------------------------------------------------------------------------------


def written(kind: str) -> list[Path]:
    """Files of one kind that are known to be right."""
    places = {
        "scenario": CATALOGS / "scenarios", "metrics": REPOSITORY / "planner" / "metrics",
        "model": CATALOGS / "models", "gpu": CATALOGS / "gpus", "engine": CATALOGS / "engines",
        "format": CATALOGS / "formats", "price": CATALOGS / "prices",
        "decisions": REPOSITORY / "tests" / "decisions",
    }  # fmt: skip
    return sorted(places[kind].glob("*.yaml"))


def data_of(path: Path) -> Any:
    return yamlfile.read(path).data


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_takes_every_shipped_file(kind: str, capsheet: Caller) -> None:
    found = json.loads(capsheet("schema", kind).out)
    validator = jsonschema.Draft202012Validator(found)
    validator.check_schema(found)
    assert written(kind)
    for path in written(kind):
        assert [e.message for e in validator.iter_errors(data_of(path))] == [], path.name


def test_one_schema_takes_them_all(capsheet: Caller) -> None:
    found = json.loads(capsheet("schema").out)
    assert found == schemas()
    validator = jsonschema.Draft202012Validator(found)
    for kind in SCHEMAS:
        validator.validate(data_of(written(kind)[0]))
    assert not validator.is_valid({"nonsense": 1})


@pytest.mark.parametrize(("change", "message"), [
    ({"modls": ["qwen3-8b"]}, "modls"),
    ({"as_of": 2026}, "2026"),
    ({"models": []}, "[]"),
    ({"workloads": {"name": "chat"}}, "chat"),
])  # fmt: skip
def test_schema_refuses_what_the_program_refuses(change: dict[str, Any], message: str) -> None:
    data = {**data_of(CATALOGS / "scenarios" / "example.yaml"), **change}
    errors = list(jsonschema.Draft202012Validator(schema("scenario")).iter_errors(data))
    assert any(message in error.message for error in errors)


def test_schema_takes_the_short_forms() -> None:
    data = data_of(CATALOGS / "scenarios" / "example.yaml")
    short = {**data, "models": "qwen3-8b", "batches": 32, "workloads": data["workloads"][0]}
    jsonschema.Draft202012Validator(schema("scenario")).validate(short)


def test_schema_explains_assumptions() -> None:
    known = schema("scenario")["properties"]["assumptions"]["properties"]
    assert known["overhead"]["examples"] == ["80 GB"]
    assert "runtime, activations" in known["overhead"]["description"]


def test_schemas_are_those_of_the_command() -> None:
    assert tuple(KINDS) == SCHEMAS
