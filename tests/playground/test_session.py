"""Messages and sessions without a socket: every message gets a reply or one sentence."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import struct
import subprocess
import time
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.playground import lessons, messages
from maxmargin.playground.messages import MessageError
from maxmargin.playground.notebook import start_of, widget_module
from maxmargin.playground.one_file import joined_modules, lesson_page
from maxmargin.playground.plane import fitted_reply
from maxmargin.playground.session import Session
from maxmargin.playground.tuning_tab import TableTab
from maxmargin.playground.wire import Reply, packed

VIEW = {"x0": -3, "x1": 3, "y0": -2, "y1": 2, "nx": 8, "ny": 6}
POINTS = [[-1, 0.2, 0], [-2, 1, 0], [-1.5, -1, 0], [1, 0, 1], [2, 1, 1], [1.4, -1, 1]]


def ask(session: Session, **message: Any) -> Reply:
    return session.handle(message, lambda reply: None)


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """A reply as the page reads it."""
    (n,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + n])
    arrays = {
        name: np.frombuffer(data, "<f4", count, 4 + n + offset) for name, offset, count in header["arrays"]
    }
    return header, arrays


@pytest.mark.parametrize("machine", messages.MACHINES)
def test_fit_watch_and_step_of_every_machine(machine: str) -> None:
    session = Session()
    wanted = {
        "points": POINTS,
        "view": VIEW,
        "settings": {"machine": machine, "kernel": "linear", "solver": "smo"},
    }
    header, arrays = unpacked(packed(ask(session, do="fit", id=1, **wanted)))
    assert (header["do"], header["id"]) == ("fitted", 1)
    assert len(arrays["f"]) == (8 if machine.endswith("SVR") else 48)
    watched = ask(session, do="watch", **wanted)
    n = watched.header["steps"]
    assert n >= 1
    last = ask(session, do="step", k=n - 1, view=VIEW)
    assert last.header["do"] == "stepped"
    np.testing.assert_allclose(last.arrays["f"], arrays["f"], atol=0.02 * (1 + np.abs(arrays["f"]).max()))
    assert ask(session, do="step", k=10**6, view=VIEW).header["k"] == n - 1
    np.testing.assert_array_equal(ask(session, do="step", k=0, view=VIEW).header["k"], 0)


@pytest.mark.parametrize("solver", messages.SOLVERS)
def test_every_solver_ends_at_the_same_place(solver: str) -> None:
    session = Session()
    settings_ = {"machine": "SVC", "kernel": "linear", "C": 1, "solver": solver}
    watched = ask(session, do="watch", points=POINTS, view=VIEW, settings=settings_)
    last = ask(session, do="step", k=watched.header["steps"] - 1, view=VIEW)
    X, y = np.array(POINTS)[:, :2], np.array(POINTS)[:, 2]
    primal = mm.SVC(kernel="linear", tol=1e-8).fit(X, y).certificate_.primal
    assert last.header["primal"] == pytest.approx(primal, rel=0.05)


def test_a_long_trace_stays_here() -> None:
    rng = np.random.default_rng(0)
    points = [
        [float(a), float(b), int(c)]
        for a, b, c in zip(*rng.normal(size=(2, 60)), rng.integers(0, 2, 60), strict=True)
    ]
    session = Session()
    wanted = {"machine": "SVC", "kernel": "linear", "C": 1e4, "solver": "smo"}
    watched = packed(ask(session, do="watch", points=points, view=VIEW, settings=wanted))
    header, arrays = unpacked(watched)
    assert header["steps"] > 1000
    assert len(watched) < 64_000
    assert len(arrays["gap"]) <= 1000
    assert len(packed(ask(session, do="step", k=500, view={**VIEW, "nx": 80, "ny": 60}))) < 64_000


def test_a_wrong_expression_names_its_column() -> None:
    wrong = {"machine": "SVC", "kernel": "expression", "expression": "RBF(gamma=1) + Nothing()"}
    header = ask(Session(), do="fit", points=POINTS, view=VIEW, settings=wrong).header
    assert (header["do"], header["field"], header["column"]) == ("error", "expression", 16)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/owned')",
        "RBF.__class__",
        "(lambda: 1)()",
        "open('/etc/passwd')",
        "RBF(gamma=1e999)",
        "RBF()" * 500,
        "+".join(["RBF()"] * 200),
        "exp(exp(exp(Linear())))",
        "RBF(gamma=[x for x in ()])",
        "\x00",
        "RBF(features='../../x')",
    ],
)
def test_expressions_cannot_run_code(text: str) -> None:
    wanted = {"machine": "SVC", "kernel": "expression", "expression": text[:1000]}
    header = ask(Session(), do="fit", points=POINTS, view=VIEW, settings=wanted).header
    assert header["do"] in ("error", "fitted")
    assert "internal" not in header
    assert not Path("/tmp/owned").exists()


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"do": 1},
        {"do": "__init__"},
        {"do": "fit"},
        {"do": "fit", "points": []},
        {"do": "step", "k": 1, "view": VIEW},
        {"do": "fit", "points": [[0, 0]], "view": VIEW},
        {"do": "fit", "points": POINTS, "view": VIEW, "settings": {"C": -1}},
        {"do": "fit", "points": POINTS, "view": VIEW, "settings": {"C": 10**400}},
        {"do": "fit", "points": POINTS, "view": VIEW, "settings": {"solver": "eval"}},
        {"do": "fit", "points": POINTS, "view": VIEW, "settings": {"machine": "Pipeline"}},
        {"do": "fit", "points": POINTS, "view": VIEW, "settings": {"kernel": ["rbf"]}},
        {"do": "fit", "points": POINTS, "view": {**VIEW, "nx": 10**6}},
        {"do": "fit", "points": POINTS, "view": VIEW, "more": 1},
        {"do": "fit", "points": [[0, 0, 9]], "view": VIEW},
        {"do": "fit", "points": [[True, 0, 0]], "view": VIEW},
        {"do": "lesson", "name": "../../etc/passwd"},
        {"do": "lesson", "lesson": 0},
        {"do": "export", "what": "../x"},
        {"do": "tune"},
        {"do": "explain", "row": 0},
        {"do": "file", "what": "model"},
        {"do": "table", "name": "x.csv"},
        {"do": "table", "name": "../../etc/passwd", "content": ""},
        {"do": "table", "target": "y"},
    ],
)
def test_bad_messages_get_a_sentence(message: dict[str, Any]) -> None:
    header = ask(Session(), **message).header
    assert header["do"] == "error"
    assert header["sentence"]
    assert "internal" not in header


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 100_000, '"x"', '{"do": NaN}', "null", "1" * 10**6, "", "{" + '"a":' * 3000]
)
def test_texts_that_are_no_message(text: str) -> None:
    with pytest.raises(MessageError):
        messages.parsed(text)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "points",
        "settings",
        "view",
        "pair",
        "patient",
        "slot",
        "k",
        "name",
        "lesson",
        "what",
        "params",
        "row",
        "grid",
        "folds",
        "x",
        "content",
        "target",
    ]
)
DO = st.sampled_from(
    ["hello", "fit", "watch", "step", "lesson", "export", "table", "tune", "model", "explain", "file", "zap"]
)
NEARLY = st.fixed_dictionaries(
    {
        "points": st.lists(st.lists(st.floats(-5, 5) | st.integers(0, 3), min_size=3, max_size=3), max_size=4)
        | JSON,
        "view": st.just(VIEW) | JSON,
        "settings": st.dictionaries(
            st.sampled_from(
                ["machine", "kernel", "C", "gamma", "nu", "epsilon", "degree", "solver", "expression"]
            ),
            st.sampled_from([*messages.MACHINES, *messages.KERNELS]) | JSON,
            max_size=3,
        ),
    }
)
ANY = st.builds(
    lambda do, near, more: {**near, **more, "do": do},
    DO | JSON,
    st.just({}) | NEARLY,
    st.dictionaries(KEYS, JSON, max_size=3),
)


@given(message=ANY)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_messages(message: dict[str, Any]) -> None:
    header, _ = unpacked(packed(SHARED.handle(message, lambda reply: None)))
    assert isinstance(header["do"], str)
    assert "internal" not in header, message


FIT: dict[str, Any] = {"points": POINTS, "view": VIEW, "pair": 0, "patient": False, "slot": 0}
RIGHT: list[dict[str, Any]] = [
    {"do": "hello", "id": 1, "language": "es"},
    {"do": "fit", "id": 2, **FIT, "settings": {"machine": "SVC", "kernel": "rbf", "gamma": 1.0, "C": 1.0}},
    {
        "do": "fit",
        "id": 2,
        **FIT,
        "settings": {"machine": "SVR", "kernel": "expression", "expression": "RBF()"},
    },
    {"do": "watch", "id": 3, **FIT, "settings": {"machine": "NuSVC", "nu": 0.5, "solver": "smo"}},
    {"do": "step", "id": 4, "k": 1, "view": VIEW, "slot": 0},
    {"do": "lesson", "id": 5, "lesson": {**lessons.ready("01-separable")}},
    {"do": "export", "id": 6, "what": "lines", **FIT, "settings": {"machine": "OneClassSVM", "nu": 0.5}},
    {"do": "table", "id": 7, "name": "x.csv", "content": "a,b,y\n1,2,u\n", "target": "y"},
    {"do": "tune", "id": 8, "grid": {"C": [1.0], "gamma": [1.0]}, "folds": 3},
    {"do": "model", "id": 9, "params": {"C": 1.0, "gamma": 1.0}},
    {"do": "explain", "id": 10, "row": 0},
    {"do": "file", "id": 11, "what": "points", "x": "a", "y": "b"},
]
JUNK: list[Any] = [
    None, True, -1, 0, 7, 1e308, -1e-308, 10**400, "", "x" * 3000, "\x00", "../../etc/passwd", "__class__",
    [], {}, [[]], [[[[[[[[[0]]]]]]]]], {"a": {"b": 1}}, "{", "é\u202e", [1, "2", None], "NaN", 0.1, 1e9,
]  # fmt: skip


def spoilt(rng: random.Random, value: Any) -> Any:
    """A copy with one part replaced, removed, doubled or added, at any depth."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        found, name = dict(value), rng.choice(list(value))
        way = rng.randrange(6)
        if way == 0:
            del found[name]
        elif way == 1:
            found[rng.choice(["more", "__proto__", "do", "id", "view", "points", "grid"])] = rng.choice(JUNK)
        else:
            found[name] = spoilt(rng, value[name])
        return found
    if isinstance(value, list) and value and rng.random() < 0.9:
        found, k = list(value), rng.randrange(len(value))
        return [*found[:k], *[spoilt(rng, found[k])] * rng.choice([0, 1, 1, 2, 50]), *found[k + 1 :]]
    return rng.choice(JUNK)


def test_ten_thousand_spoilt_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """Messages that are nearly right, as text: closed in one sentence, answered, or refused in one."""
    rng, session, seen = random.Random(0), Session(), {"closed": 0, "error": 0, "answered": 0}
    for k in range(10_000):
        message = rng.choice(RIGHT)
        for _ in range(1 + k % 3):
            message = spoilt(rng, message)
        text = json.dumps(message)
        if k % 4 == 0:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["", '"', "}", "\\", "1", "NaN", text]) + text[at + 1 :]
        try:
            parsed = messages.parsed(text)
        except MessageError:
            seen["closed"] += 1
            continue
        header = session.handle(parsed, lambda reply: None).header
        assert "internal" not in header, text
        assert header["do"] != "error" or header["sentence"]
        seen["error" if header["do"] == "error" else "answered"] += 1
    assert min(seen.values()) > 300, seen
    assert capsys.readouterr().out == ""  # no traceback in the terminal
    assert ask(session, do="fit", points=POINTS, view=VIEW).header["do"] == "fitted"


SHARED = Session()


# -- lessons, tables, files --------------------------------------------------------------------------------


def test_ready_lessons() -> None:
    names = [one["name"] for one in lessons.listed()]
    assert len(names) == 10
    docs = (Path(__file__).parents[2] / "docs" / "play.md").read_text(encoding="utf-8")
    for name in names:
        assert f"lessons/{name}.html" in docs
        lesson = lessons.ready(name)
        for part in ("title", "text"):
            assert set(lesson[part]) == {"en", "es"}
        wanted = {"points": lesson["points"], "settings": lesson["settings"], "view": VIEW}
        fitted = ask(Session(), do="fit", **wanted).header
        assert fitted["do"] == "fitted"
        assert fitted["gap"] is None or fitted["gap"] >= 0
        assert ask(Session(), do="watch", **wanted).header["steps"] > 1


def test_a_lesson_in_one_file_is_whole() -> None:
    page = lesson_page({**lessons.ready("09-svr"), "title": "</script><script>alert(1)</script>"}, "en")
    assert page.count("<script") == 2
    assert "http" not in re.sub(r"http://www.w3.org/\d+/svg", "", page).replace("http-equiv", "")
    assert "src=" not in page


@pytest.mark.parametrize(
    "broken",
    [
        {"points": [[0, 0]]},
        {"hidden": ["all"]},
        {"settings": {"machine": "X"}},
        {"text": {"fr": ""}},
        {"more": 1},
        {"view": 3},
        {"title": "half \ud800"},
        {"text": {"en": "\udfff"}},
    ],
    ids=str,
)
def test_broken_lessons_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(MessageError):
        lessons.checked({**lessons.ready("05-smo"), **broken})


def test_a_title_cannot_turn_the_page_around() -> None:
    lesson = lessons.checked({**lessons.ready("05-smo"), "title": "a\u202eb", "text": {"en": "\x1b[2J"}})
    assert lesson["title"] == "a\\u202eb"
    assert lesson["text"] == {"en": "\\x1b[2J"}


def test_python_lines_run() -> None:
    for machine in messages.MACHINES:
        wanted = {
            "points": POINTS,
            "view": VIEW,
            "settings": {
                "machine": machine,
                "kernel": "expression",
                "expression": "2*RBF(gamma=1) + Linear()",
            },
        }
        reply = ask(Session(), do="export", what="lines", **wanted)
        code = reply.body.decode()
        ast.parse(code)
        scope: dict[str, Any] = {"print": lambda *_: None}
        exec(code, scope)
        model = scope["model"]
        assert type(model).__name__ == machine


def test_the_lines_of_a_table_read_it_as_the_page_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Semicolons, decimal commas, money and dates: pandas alone would read one column of text."""
    rows = [
        f"{k % 9},5 €;{k % 28 + 1:02d}/{k % 12 + 1:02d}/2024;{'ab'[k % 3 // 2]};{'uv'[k % 2] * (k != 7)}"
        for k in range(60)
    ]
    content = "\n".join(["año;día;casa;y", *rows])
    session = Session()
    ask(session, do="table", name="t.csv", content=content, target="y")
    ask(session, do="tune", grid={"C": [1.0], "gamma": [0.1]}, folds=3)
    ask(session, do="model", params={"C": 1.0, "gamma": 0.1})
    lines = ask(session, do="file", what="lines").body.decode()
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {}
    exec(lines, made)
    assert session.table is not None
    assert made["X_test"].equals(session.table.parts[1].set_index(made["X_test"].index))
    assert (made["model"].predict(made["X_test"]) == session.table.model.predict(made["X_test"])).all()
    assert "accuracy" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["rare", "three", "amount"])
def test_the_errors_of_folds_and_of_held_out_rows_are_of_one_kind(target: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    rare, three = np.where(x[:, 0] > 1.1, "yes", "no"), np.array(["a", "b", "c"])[np.arange(120) % 3]
    columns = {"rare": rare, "three": three, "amount": np.round(3.0 * x[:, 1] + 0.01, 4)}
    lines = [f"{a:.4f},{b:.4f},{y}" for (a, b), y in zip(x, columns[target], strict=True)]
    session = Session()
    ask(session, do="table", name="t.csv", content="\n".join(["u,v,y", *lines]), target="y")
    tuned = ask(session, do="tune", grid={"C": [1.0], "gamma": [0.1]}, folds=3)
    model = ask(session, do="model", params={"C": 1.0, "gamma": 0.1})
    assert session.table is not None
    X_test, y_test = session.table.parts[1], session.table.parts[3]
    predicted = session.table.model.predict(X_test)
    names, error = {
        "rare": (("balanced error", "error equilibrado"), (predicted != y_test).groupby(y_test).mean().mean),
        "three": (("error", "error"), (predicted != y_test).mean),
        "amount": (
            ("mean squared error", "error cuadrático medio"),
            lambda: np.mean((predicted - y_test) ** 2),
        ),
    }[target]
    assert tuned.header["measure"] == dict(zip(("en", "es"), names, strict=True))
    assert model.header["test"] == pytest.approx(error())
    assert ("score" in model.arrays) == (target == "rare")
    assert ask(session, do="explain", row=1).header["terms"]


def test_tables_with_hostile_headers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["<script>alert(1)</script>", "=cmd()", "__proto__", "y"]
    rows = [f"{rng.normal():.3f},{rng.normal():.3f},{rng.normal():.3f},{'ab'[k % 2]}" for k in range(40)]
    session = Session()
    content = "\n".join([",".join(names), *rows])
    reply = ask(session, do="table", name="../../../etc/x.csv", content=content, target="y")
    assert reply.header["table"]["name"] == "x.csv"
    assert [column["name"] for column in reply.header["table"]["columns"]] == names[:3]
    told: list[Reply] = []
    grid = {"C": [0.1, 1.0], "gamma": [0.1]}
    done = session.handle({"do": "tune", "grid": grid, "folds": 3}, told.append)
    assert done.header["do"] == "tuned"
    assert sum(len(reply.header["cells"]) for reply in told) == 2
    model = ask(session, do="model", params=done.header["best"])
    assert len(model.arrays["score"]) == len(model.arrays["truth"]) == 10
    assert ask(session, do="explain", row=2).header["terms"]
    assert ask(session, do="explain", row=10).header["do"] == "error"
    ast.parse(ask(session, do="file", what="lines").body.decode())
    stopped = Session(TableTab.made_of(session.table.source, session.table.table, "y", []))
    stop = lambda reply: stopped.stop.set()  # noqa: E731  # a page that cancels at once
    ended = stopped.handle({"do": "tune", "folds": 3}, stop)
    assert ended.header["do"] == "error" or ended.header["interrupted"]


def test_files_are_made_without_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken away comes down as bytes: the server writes nothing, not even for a moment."""
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'no' if a + b < 0 else 'yes'}" for a, b in rng.normal(size=(80, 2))]
    session = Session()
    ask(session, do="table", name="x.csv", content="\n".join(["a,b,y", *rows]), target="y")
    ask(session, do="tune", grid={"C": [1.0], "gamma": [0.1]}, folds=3)
    ask(session, do="model", params={"C": 1.0, "gamma": 0.1})
    opened = os.open
    ask(session, do="file", what="report")  # matplotlib may look for its fonts the first time

    def guarded(path: Any, flags: int, *more: Any, **options: Any) -> int:
        assert not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT), path
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", guarded)
    monkeypatch.setattr("tempfile.mkdtemp", None)
    model, report = (ask(session, do="file", what=what) for what in ("model", "report"))
    assert model.header["name"] == "x.mm"
    assert model.body.startswith(b"maxmargin-model")
    assert report.body.startswith(b"<!doctype html>")


def test_the_words() -> None:
    folder = resources.files("maxmargin.playground")
    english, spanish = (
        tomllib.loads((folder / "languages" / f"{code}.toml").read_text()) for code in ("en", "es")
    )
    assert english.keys() == spanish.keys()
    for key in english:
        assert re.findall(r"\{\w+\}", english[key]).sort() == re.findall(r"\{\w+\}", spanish[key]).sort(), key
        assert set(re.findall(r"\{(\w+)\}", english[key])) == set(re.findall(r"\{(\w+)\}", spanish[key])), key
    sources = "".join(file.read_text() for file in (folder / "page").iterdir() if file.name.endswith(".js"))
    used = set(re.findall(r'(?:say\(|text: |label: )"(\w+)"', sources))
    assert used <= english.keys()
    for file in (folder / "page").iterdir():  # no sentence in the code: two words in a row are one
        code = re.sub(r"/\*\*.*?\*/|//.*", "", file.read_text())
        if file.name.endswith(".js"):
            assert re.findall(r"""["'`][A-Za-z]+ [a-z]{2,}[ .!?"'`]""", code) == [], file.name


def test_contrast() -> None:
    """Text has a contrast of at least 4.5 (WCAG 2.2, 1.4.3), in the light and in the dark."""
    css = (resources.files("maxmargin.playground") / "page" / "page.css").read_text()
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in css.split("@media", 2)[:2])
    for colours in (light, light | dark):
        pairs = [(name, "paper") for name in ("ink", "quiet", "blue", "orange", "good", "bad")]
        pairs += [
            ("ink", "ground"),
            ("quiet", "ground"),
            ("ink", "tint"),
            ("paper", "blue"),
            ("paper", "bad"),
        ]
        for front, back in pairs:
            assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
        assert contrast("#ffffff", colours["brand"]) >= 4.5
    for brush in re.findall(r"\.mm-class-\d \{ background: (#\w{6})", css):
        assert contrast("#ffffff", brush) >= 4.5, brush


def contrast(a: str, b: str) -> float:
    """The contrast of two colours, 1 to 21."""

    def light(colour: str) -> float:
        parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        return float(
            [0.2126, 0.7152, 0.0722]
            @ np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        )

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_limits_of_tables_and_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    wide = "\n".join([",".join(f"c{k}" for k in range(501)), *[",".join(["1"] * 501)] * 3])
    assert "500 columns" in ask(session, do="table", name="a.csv", content=wide).header["sentence"]
    rows = [f"{k % 7},{k % 5},{'ab'[k % 2]}" for k in range(40)]
    content = "\n".join(["u,v,y", *rows])
    monkeypatch.setattr("maxmargin.playground.tuning_tab.MAX_ROWS", 39)
    assert "rows" in ask(session, do="table", name="a.csv", content=content).header["sentence"]
    monkeypatch.undo()
    assert ask(session, do="table", name="a.csv", content=content).header["do"] == "table"
    many = {"C": [float(k) for k in range(1, 22)], "gamma": [float(k) for k in range(1, 21)]}
    assert "400 cells" in ask(session, do="tune", grid=many).header["sentence"]
    assert "from 2 to 20" in ask(session, do="tune", folds=21).header["sentence"]


def test_the_files_of_the_page() -> None:
    folder = resources.files("maxmargin.playground") / "page"
    files = list(folder.iterdir())
    assert sum(len(file.read_bytes()) for file in files) <= 120_000
    for file in files:
        text = file.read_text()
        assert "http:" not in re.sub(r"http://www.w3.org/\d+/svg", "", text)
        assert "https:" not in text
        for risky in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "document.write",
            "new Function",
        ):
            assert risky not in text, file.name


@pytest.mark.parametrize(
    "made", [lambda: joined_modules("recorded"), widget_module], ids=["recorded", "widget"]
)
def test_the_joined_modules_are_javascript(made: Any, tmp_path: Path) -> None:
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", made(), re.MULTILINE)
    assert len(names) == len(set(names))
    path = tmp_path / "joined.mjs"
    path.write_text(made())
    try:
        subprocess.run(["node", "--check", str(path)], check=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("node is not installed")


def test_the_types_of_the_page(tmp_path: Path) -> None:
    """TypeScript reads the JSDoc comments; nothing needs it to run."""
    program = shutil.which("tsc")
    if program is None:
        pytest.skip("tsc is not installed: npm install --global typescript")
    folder = Path(str(resources.files("maxmargin.playground") / "page"))
    options = [
        "--noEmit",
        "--allowJs",
        "--checkJs",
        "--strict",
        "false",
        "--target",
        "es2022",
        "--module",
        "es2022",
    ]
    options += ["--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable"]
    hosts = [str(folder / f"{name}.js") for name in ("local", "notebook", "recorded")]
    found = subprocess.run([program, *options, *hosts], capture_output=True, text=True, timeout=300)
    assert found.stdout + found.stderr == ""


def test_traces_that_nobody_looks_at_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    wanted = {"points": POINTS, "view": VIEW, "settings": {"solver": "smo"}}
    for slot in (0, 1):
        ask(session, do="watch", slot=slot, **wanted)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 599.0)
    ask(session, do="step", k=0, view=VIEW, slot=1)
    monkeypatch.setattr(time, "monotonic", lambda: now + 601.0)
    session.forget_idle()
    assert ask(session, do="step", k=0, view=VIEW, slot=1).header["do"] == "stepped"
    assert ask(session, do="step", k=0, view=VIEW, slot=0).header["key"] == "not_watching"


@pytest.mark.parametrize(
    "settings_",
    [
        {"kernel": "linear", "C": 1e9},
        {"kernel": "rbf", "gamma": 1e6, "C": 1e9},
        {"kernel": "poly", "degree": 10, "gamma": 10.0, "C": 1e9},
        {"kernel": "rbf", "gamma": 1.0, "C": 1.0},
    ],
)
def test_the_picture_agrees_with_float64(settings_: dict[str, Any]) -> None:
    """The picture is computed in float32 where that is exact enough, and only there."""
    message = messages.plane_message({"points": POINTS, "view": VIEW, "settings": settings_})
    model, reply = fitted_reply(message)
    exact = model.decision_function(message.view.corners())
    assert np.abs(reply.arrays["f"] - exact).max() <= 2e-3 * (1 + 1e-4 * np.abs(exact).max())


def test_two_thousand_points_and_no_more() -> None:
    rng = np.random.default_rng(0)
    points = [[float(a), float(b), k % 2] for k, (a, b) in enumerate(rng.normal(size=(2001, 2)))]
    header = ask(Session(), do="fit", points=points[:2000], view=VIEW).header
    assert (header["do"], header["status"] in ("converged", "time_limit")) == ("fitted", True)
    assert "at most 2000" in ask(Session(), do="fit", points=points, view=VIEW).header["sentence"]


def test_the_page_starts_from_a_model() -> None:
    X, y = np.array(POINTS)[:, :2], np.array(["a", "a", "a", "b", "b", "b"])
    start = start_of(mm.SVC(kernel="RBF(gamma=2)", C=3.0, solver="chunking").fit(X, y), X, y)
    assert start["settings"]["expression"] == "RBF(gamma=2)"
    assert (start["settings"]["C"], start["settings"]["solver"]) == (3.0, "chunking")
    assert start["points"] == [[*map(float, p[:2]), p[2]] for p in POINTS]
    assert start_of(mm.SVR(), X[:, :1], X[:, 1])["points"] == [[*map(float, p[:2]), 0] for p in POINTS]
    with pytest.raises(TypeError, match="not LinearSVC"):
        start_of(mm.LinearSVC(), X, y)
    with pytest.raises(ValueError, match="two columns"):
        start_of(mm.SVC(), np.zeros((3, 3)), [0, 1, 1])
