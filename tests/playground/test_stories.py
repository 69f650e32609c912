"""The user stories of the live page, each in a real browser."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.playground import lessons
from maxmargin.playground.one_file import lesson_page
from maxmargin.playground.session import Session
from maxmargin.playground.tuning_tab import TableTab
from maxmargin.tuning.search import SharedTask
from tests.playground.conftest import Running, listen

Open = Callable[..., Any]


def ready(page: Any, what: str = "#mm-fact-gap") -> Any:
    page.wait_for_selector(what)
    return page


def fact(page: Any, name: str) -> float:
    return float(page.inner_text(f"#mm-fact-{name}").replace(",", ".").replace("−", "-"))


def settle(page: Any, code: str = "true") -> None:
    """Wait until no request flies and the table was told again."""
    page.wait_for_function("() => !window.mmPage.talk.flying && !window.mmPage.talk.wishes.size")
    page.wait_for_timeout(400)
    page.wait_for_function(f"() => {code}")


def picture(page: Any, name: str) -> None:
    """A screenshot, where somebody wants to look at it."""
    folder = os.environ.get("PAGE_PICTURES")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def place(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where a point of the plane is on the screen."""
    page.evaluate("window.scrollTo(0, 0)")
    box = page.locator("canvas.mm-plane").first.bounding_box()
    view = page.evaluate("window.mmPage.state.view")
    across = (x - view["x0"]) / (view["x1"] - view["x0"])
    down = (view["y1"] - y) / (view["y1"] - view["y0"])
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def wait_for_status(page: Any, text: str) -> None:
    page.wait_for_function("text => mmPage.status.textContent.includes(text)", arg=text)


def wait_for_title(page: Any, text: str) -> None:
    page.wait_for_function("text => document.querySelector('.mm-lesson h1')?.textContent === text", arg=text)


def n_points(page: Any) -> int:
    return int(page.evaluate("window.mmPage.state.points.length"))


@pytest.mark.parametrize("width", [1280, 390])
def test_s1_draw_drag_and_delete(open_page: Open, width: int) -> None:
    page = ready(open_page(width=width))
    before = n_points(page)
    page.mouse.click(*place(page, 3.2, -2.2))
    settle(page)
    assert n_points(page) == before + 1
    gap = fact(page, "gap")
    assert 0 <= gap < 0.1
    first = page.evaluate("window.mmPage.state.points[0].slice(0, 2)")
    old = page.evaluate("Array.from(window.mmPage.state.shown.data.f)")
    page.mouse.move(*place(page, *first))
    page.mouse.down()
    for k in range(8):
        page.mouse.move(*place(page, first[0] + 0.3 * k, first[1] + 0.2 * k))
    page.mouse.up()
    settle(page)
    moved = page.evaluate("window.mmPage.state.points[0].slice(0, 2)")
    assert moved[0] == pytest.approx(first[0] + 2.1, abs=0.1)
    new = page.evaluate("Array.from(window.mmPage.state.shown.data.f)")
    assert np.abs(np.array(new) - np.array(old)).max() > 0.05
    page.keyboard.press("Delete")
    settle(page)
    assert n_points(page) == before
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"plane-{width}")


def test_a_moved_point_is_drawn_without_a_fit(open_page: Open) -> None:
    """While a fit takes long the point follows the hand, and the boundary comes later."""
    page = ready(open_page())
    settle(page)
    pixel = (
        "(([x, y]) => Array.from(mmPage.canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)))"
    )
    spot = page.evaluate("[mmPage.plane.px(3.5), mmPage.plane.py(-2.5)].map(Math.round)")
    before = page.evaluate(pixel, spot)
    page.evaluate("mmPage.talk.wish = () => {}; mmPage.plane.on.move(0, [3.5, -2.5], performance.now())")
    page.wait_for_function(f"([spot, old]) => `${{{pixel}(spot)}}` !== `${{old}}`", arg=[spot, before])


def test_the_token_leaves_the_address(open_page: Open, running: Running) -> None:
    page = ready(open_page())
    assert page.url == f"http://127.0.0.1:{running.server.port}/"
    page.reload()
    ready(page)
    assert running.server.token not in page.url


def test_reduced_motion_takes_single_steps(open_page: Open) -> None:
    page = ready(open_page(reduced_motion="reduce"))
    page.click("#mm-tab-steps")
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    settle(page)
    page.click("#mm-play")
    settle(page, "mmPage.state.shown.k === 1")
    assert page.evaluate("[mmPage.steps.k, Boolean(mmPage.steps.timer)]") == [1, False]


def test_the_picture_is_the_library_s(open_page: Open) -> None:
    page = ready(open_page())
    state = page.evaluate("({points: mmPage.state.points, view: mmPage.state.view})")
    points = np.array(state["points"])
    model = mm.SVC(gamma=1.0, C=1.0).fit(points[:, :2], points[:, 2])
    view = state["view"]
    axes = np.linspace(view["x0"], view["x1"], view["nx"]), np.linspace(view["y0"], view["y1"], view["ny"])
    corners = np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])
    shown = np.array(page.evaluate("Array.from(mmPage.state.shown.data.f)"))
    np.testing.assert_allclose(shown, model.decision_function(corners), atol=5e-3)
    assert page.evaluate("Array.from(mmPage.state.shown.data.alpha).filter(a => a > 0).length") == len(
        model.support_
    )


def test_s2_settings_and_a_wrong_expression(open_page: Open) -> None:
    page = ready(open_page())
    primal = fact(page, "primal")
    page.fill("#mm-C", "2")
    settle(page)
    assert fact(page, "primal") > primal
    page.select_option("#mm-kernel", "expression")
    page.fill("#mm-expression", "RBF(gamma=0.5)*Linear() + 1")
    settle(page)
    assert page.is_hidden(".mm-problem")
    kept = page.evaluate("Array.from(mmPage.state.shown.data.f)")
    page.fill("#mm-expression", "RBF(gamma=0.5) + Nothing()")
    page.wait_for_selector(".mm-problem:not([hidden])")
    assert "column" in page.inner_text(".mm-problem")
    assert page.inner_text(".mm-problem mark") == "N"
    settle(page)
    assert page.evaluate("Array.from(mmPage.state.shown.data.f)") == kept
    picture(page, "wrong-expression")


def test_s3_watch_forwards_and_backwards(open_page: Open) -> None:
    page = ready(open_page())
    page.click("#mm-tab-steps")
    page.select_option("#mm-solver", "smo")
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    settle(page)
    assert page.inner_text(".mm-count").startswith("0 /")
    start = fact(page, "gap")
    broken = int(page.inner_text("#mm-broken").split()[0])
    assert broken > 0
    gaps = [start]
    for _ in range(4):
        page.click("#mm-forward")
        settle(page)
        gaps.append(fact(page, "gap"))
        assert page.locator("tr.chosen").count() == 2
    page.click("#mm-back")
    settle(page)
    assert fact(page, "gap") == gaps[3]
    page.keyboard.press("[")
    settle(page)
    assert fact(page, "gap") == gaps[2]
    page.click("#mm-last")
    settle(page)
    assert fact(page, "gap") < 0.1 < start
    assert page.inner_text("#mm-broken").startswith("0 ")
    assert page.inner_text(".mm-badge") == "optimal, certified"
    page.click("#mm-first")
    page.click("#mm-play")
    page.wait_for_function("() => mmPage.steps.k > 3")
    page.click("#mm-play")
    settle(page)
    picture(page, "steps")
    for solver in ("working_set", "decomposition", "chunking", "qp"):
        page.select_option("#mm-solver", solver)
        settle(page, "mmPage.steps.watched && mmPage.steps.k === 0")
        page.click("#mm-last")
        settle(page, "mmPage.state.shown.kkt < 0.01")


def test_s3_one_machine_at_a_time(open_page: Open) -> None:
    page = ready(open_page())
    page.select_option("#mm-data", "three")
    settle(page, "mmPage.state.shown.pairs.length === 3")
    page.select_option(".mm-bar select:last-child", "2")
    settle(page, "mmPage.state.shown.pair === 2")
    page.click("#mm-tab-steps")
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    page.click("#mm-last")
    settle(page, "mmPage.steps.watched.pair === 2 && mmPage.state.shown.kkt < 0.01")
    assert page.evaluate("mmPage.state.shown.data.row.length") == 28
    picture(page, "three-classes")


def test_s4_a_row_explains_itself(open_page: Open) -> None:
    page = ready(open_page())
    settle(page)
    alpha = page.evaluate("Array.from(mmPage.state.shown.data.alpha)")
    for i in (int(np.argmin(alpha)), int(np.argmax(alpha))):
        page.click(f"tr[data-row='{i}']")
        text = page.inner_text("[data-panel=row]")
        assert f"Row {i + 1}:" in text
        assert "holds." in text
        assert ("its multiplier is 0" in text) == (alpha[i] == 0)
    point = page.evaluate("mmPage.state.points[3]")
    page.mouse.click(*place(page, *point[:2]))
    page.wait_for_function("() => mmPage.state.selected === 3")
    assert "Row 4:" in page.inner_text("[data-panel=row]")


def test_s5_regression_and_its_tube(open_page: Open) -> None:
    page = ready(open_page())
    page.select_option("#mm-data", "curve")
    settle(page, "mmPage.state.regression && mmPage.state.shown.data.f.length === 80")
    many = fact(page, "n_support")
    page.fill("#mm-epsilon", "0.9")
    settle(page)
    assert fact(page, "epsilon") == 0.9
    assert fact(page, "n_support") < many
    picture(page, "regression")
    page.select_option("#mm-machine", "NuSVR")
    settle(page, "mmPage.state.shown.epsilon > 0")


def test_s6_one_class_and_ball(open_page: Open) -> None:
    page = ready(open_page())
    page.select_option("#mm-data", "spread")
    settle(page, "mmPage.state.detector")
    few = fact(page, "n_support")
    page.fill("#mm-nu", "0.6")
    settle(page)
    assert fact(page, "n_support") > few
    picture(page, "one-class")
    page.select_option("#mm-machine", "SVDD")
    page.fill("#mm-C", "-1")
    settle(page, "mmPage.state.settings.machine === 'SVDD' && mmPage.state.shown.data.alpha.length === 50")


def test_hard_margin_hulls(open_page: Open) -> None:
    page = ready(open_page())
    page.select_option("#mm-lessons", "01-separable")
    settle(
        page, "mmPage.state.settings.machine === 'HardMarginSVC' && mmPage.state.shown.status === 'converged'"
    )
    page.click("#mm-tab-steps")
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    settle(page, "mmPage.steps.watched.steps > 3")
    page.click("#mm-forward")
    settle(page)
    picture(page, "hard-margin")
    page.click("#mm-tab-plane")
    page.select_option("#mm-data", "clouds")
    page.wait_for_function(
        "() => document.querySelector('.mm-status').textContent.includes('not linearly separable')"
    )


def lesson_file(folder: Path) -> Path:
    path = folder / "mine.json"
    lesson = {
        "maxmargin_lesson": 1,
        "title": "Mine <img src=x onerror=alert(1)>",
        "text": "One.\n\n- a\n- b",
        "points": [[-1, 0, 0], [1, 0, 1], [2, 1, 1]],
        "settings": {"machine": "SVC", "kernel": "linear", "C": 10},
        "hidden": ["data", "conditions"],
    }
    path.write_text(json.dumps(lesson))
    return path


def test_s7_lessons_open_and_save(open_page: Open, tmp_path: Path) -> None:
    page = ready(open_page())
    for one in lessons.listed():
        page.select_option("#mm-lessons", one["name"])
        page.wait_for_function(
            "title => document.querySelector('.mm-lesson h1')?.textContent === title", arg=one["title"]["en"]
        )
        settle(page, "mmPage.state.shown && (!mmPage.lesson.lesson.watch || mmPage.steps.watched)")
    page.set_input_files("#mm-open", str(lesson_file(tmp_path)))
    page.wait_for_function(
        "() => document.querySelector('.mm-lesson h1')?.textContent.startsWith('Mine <img')"
    )
    settle(page)
    assert page.is_hidden("[data-panel=data]")
    assert page.is_hidden("[data-panel=conditions]")
    page.click(".mm-menu summary")
    with page.expect_download() as waiting:
        page.click("#mm-export-lesson")
    saved = json.loads(Path(waiting.value.path()).read_text())
    assert lessons.checked(saved)["points"] == [[-1, 0, 0], [1, 0, 1], [2, 1, 1]]
    assert saved["hidden"] == ["data", "conditions"]
    picture(page, "lesson")
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    page.set_input_files("#mm-open", str(bad))
    wait_for_status(page, "not a lesson")


def test_s7_a_lesson_in_one_file(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "lesson.html"
    path.write_text(lesson_page(lessons.ready("05-smo"), "es"), encoding="utf-8")
    assert path.stat().st_size < 4_000_000
    page = browser.new_page(viewport={"width": 1280, "height": 900}, offline=True)
    errors: list[str] = []
    listen(page, errors)
    page.goto(path.as_uri())
    page.wait_for_selector("#mm-step")
    settle(page)  # the first picture too
    start = page.inner_text("#mm-fact-gap")
    page.click("#mm-last")
    settle(page, "document.querySelector('.mm-badge').textContent === 'óptimo, certificado'")
    assert page.inner_text("#mm-fact-gap") != start
    assert page.inner_text(".mm-lesson h1") == "SMO, paso a paso"
    f, view = page.evaluate("[Array.from(mmPage.state.shown.data.f), mmPage.state.shown.view]")
    values = np.array(f).reshape(view["ny"], view["nx"])  # a linear f: its differences are constant
    np.testing.assert_allclose(np.diff(values, 2, axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(np.diff(values, 2, axis=1), 0.0, atol=1e-4)
    picture(page, "recorded")
    page.close()
    assert errors == []


def test_s8_two_solvers_in_one_file(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "lesson.html"
    path.write_text(lesson_page(lessons.ready("06-three-solvers")), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, offline=True)
    errors: list[str] = []
    listen(page, errors)
    page.goto(path.as_uri())
    page.wait_for_selector(".mm-race")
    settle(page, "mmPage.steps.other")
    page.click("#mm-last")
    settle(page, "mmPage.steps.mirror.shown?.kkt < 0.01 && mmPage.state.shown.kkt < 0.01")
    assert page.is_visible(".mm-second")
    assert page.is_hidden("#mm-watch")
    steps = [int(cell) for cell in page.locator(".mm-race tbody tr:first-child td").all_inner_texts()]
    assert steps[0] > 100 > steps[1]
    picture(page, "recorded-two-solvers")
    page.close()
    assert errors == []


def test_s8_two_solvers_side_by_side(open_page: Open) -> None:
    page = ready(open_page())
    page.select_option("#mm-lessons", "06-three-solvers")
    page.wait_for_selector(".mm-race")
    settle(page, "mmPage.steps.other")
    page.click("#mm-last")
    settle(page, "mmPage.steps.mirror.shown && mmPage.state.shown.kkt < 0.01")
    steps = [int(cell) for cell in page.locator(".mm-race tbody tr:first-child td").all_inner_texts()]
    assert steps[0] > steps[1]
    assert page.is_visible(".mm-second")
    mine, other = (
        np.array(page.evaluate(f"Array.from(mmPage.{at}.shown.data.f)")) for at in ("state", "steps.mirror")
    )
    np.testing.assert_allclose(mine, other, atol=0.05)
    picture(page, "two-solvers")


def test_s9_languages(open_page: Open) -> None:
    page = ready(open_page())
    settle(page)
    state = (
        "JSON.stringify([mmPage.state.points, mmPage.state.settings, Array.from(mmPage.state.shown.data.f)])"
    )
    before = page.evaluate(state)
    page.click("[data-language=es]")
    settle(page)
    assert page.inner_text("#mm-tab-steps") == "Pasos"
    assert page.evaluate("document.documentElement.lang") == "es"
    assert "vectores soporte" in page.inner_text(".mm-status")
    assert page.evaluate(state) == before
    page.click("#mm-tab-steps")
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    page.click("#mm-last")
    settle(page)
    assert "El paso" in page.inner_text(".mm-status")
    picture(page, "spanish")
    english, spanish = (page.evaluate(f"mmPage.ready.words.{code}") for code in ("en", "es"))
    assert english.keys() == spanish.keys()
    shown = page.inner_text("body")
    assert not [
        key for key in english if key in shown.split() and english[key] != key and spanish[key] != key
    ]


def tab_to(page: Any, test: str) -> None:
    """Press Tab until the focus is where it should be."""
    for _ in range(90):
        if page.evaluate(f"(() => {{ const e = document.activeElement; return {test}; }})()"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {test}")


def test_by_keyboard_alone(open_page: Open) -> None:
    page = ready(open_page())
    settle(page)
    before = n_points(page)
    tab_to(page, "e.tagName === 'CANVAS'")
    page.keyboard.press("Enter")
    settle(page)
    assert n_points(page) == before + 1
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    settle(page)
    assert page.evaluate("mmPage.state.points.at(-1)[0]") == pytest.approx(-0.3)
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert n_points(page) == before
    assert "Row" in page.inner_text("[data-panel=row]")
    tab_to(page, "e.id === 'mm-C'")
    old = page.evaluate("mmPage.state.settings.C")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate("mmPage.state.settings.C") > old
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "e.id === 'mm-tab-plane'")
    page.keyboard.press("ArrowRight")
    tab_to(page, "e.id === 'mm-watch'")
    page.keyboard.press("Enter")
    page.wait_for_selector("#mm-step")
    for _ in range(3):
        page.keyboard.press("]")
    settle(page, "mmPage.state.shown.k === 3")
    page.keyboard.press("[")
    settle(page, "mmPage.state.shown.k === 2")
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "e.dataset.language === 'es'")
    page.keyboard.press("Enter")
    assert page.inner_text("#mm-tab-table") == "Tabla"


def press(page: Any, test: str, *keys: str) -> None:
    """Tab to an element from the start of the page, and press keys there."""
    page.evaluate("document.activeElement.blur()")
    tab_to(page, test)
    for key in keys:
        page.keyboard.press(key)


def test_the_other_stories_by_keyboard_alone(open_page: Open, tmp_path: Path) -> None:
    """S2 with a kernel's text, and S5 to S8."""
    page = ready(open_page(accept_downloads=True))
    settle(page)
    press(page, "e.id === 'mm-kernel'", "End")
    press(page, "e.id === 'mm-expression'", "ControlOrMeta+A")
    page.keyboard.type("Linear() + Nothing()")
    page.wait_for_selector(".mm-problem:not([hidden]) mark")
    for _ in "Nothing()":
        page.keyboard.press("Backspace")
    page.keyboard.type("RBF(gamma=2)")
    page.wait_for_selector(".mm-problem", state="hidden")
    press(page, "e.id === 'mm-data'", *["ArrowDown"] * 7)  # S5
    settle(page, "mmPage.state.regression && mmPage.state.shown.epsilon === 0.3")
    press(page, "e.id === 'mm-epsilon'", *["ArrowRight"] * 5)
    settle(page, "Math.abs(mmPage.state.shown.epsilon - 0.35) < 1e-6")
    press(page, "e.id === 'mm-data'", *["ArrowDown"] * 8)  # S6
    settle(page, "mmPage.state.detector && mmPage.state.shown.status === 'converged'")
    few = fact(page, "n_support")
    press(page, "e.id === 'mm-nu'", "End")
    settle(page)
    assert fact(page, "n_support") > few
    press(page, "e.id === 'mm-lessons'", "6")  # S7 and S8
    settle(page, "mmPage.steps.other && mmPage.steps.mirror.shown")
    press(page, "e.id === 'mm-last'", "Enter")
    settle(page, "mmPage.steps.mirror.shown.kkt < 0.01 && mmPage.state.shown.kkt < 0.01")
    press(page, "e.id === 'mm-rival'", "Home")
    settle(page, "mmPage.steps.watched && !mmPage.steps.other")
    press(page, "e.tagName === 'SUMMARY'", "Enter")
    with page.expect_download() as waiting:
        press(page, "e.id === 'mm-export-lesson'", "Enter")
    saved = json.loads(Path(waiting.value.path()).read_text())
    assert len(lessons.checked(saved)["points"]) == n_points(page)
    with page.expect_file_chooser() as asked:
        press(page, "e.id === 'mm-open'", "Enter")
    asked.value.set_files(str(lesson_file(tmp_path)))
    page.wait_for_function("() => document.querySelector('.mm-lesson h1')?.textContent.startsWith('Mine')")
    settle(page, "mmPage.state.points.length === 3")


def test_the_stories_on_a_phone_in_spanish(open_page: Open) -> None:
    """S1 to S9 at 390 px, in the other language."""
    page = ready(open_page(width=390, height=844))
    page.click("[data-language=es]")
    before = n_points(page)
    page.mouse.click(*place(page, 3.4, -2.4))  # S1
    settle(page)
    assert n_points(page) == before + 1
    primal = fact(page, "primal")
    page.fill("#mm-C", "2")  # S2
    settle(page)
    assert fact(page, "primal") > primal
    page.select_option("#mm-kernel", "expression")
    page.fill("#mm-expression", "RBF(gamma=0.5) + Nothing()")
    page.wait_for_selector(".mm-problem:not([hidden]) mark")
    page.fill("#mm-expression", "RBF(gamma=0.5) + Linear()")
    page.wait_for_selector(".mm-problem", state="hidden")
    page.click("#mm-tab-steps")  # S3
    page.click("#mm-watch")
    page.wait_for_selector("#mm-step")
    settle(page)
    start = fact(page, "gap")
    page.click("#mm-forward")
    page.click("#mm-back")
    settle(page)
    assert fact(page, "gap") == start
    page.click("tr[data-row='3']")  # S4: a condition that does not hold yet
    assert "no ha terminado con esta fila" in page.inner_text("[data-panel=row]")
    page.click("#mm-last")
    settle(page)
    assert page.inner_text(".mm-badge") == "óptimo, certificado"
    page.click("#mm-tab-plane")
    for name, family in (("curve", "regression"), ("spread", "detector")):  # S5 and S6
        page.select_option("#mm-data", name)
        settle(page, f"mmPage.state.family === '{family}' && mmPage.state.shown?.status === 'converged'")
    page.select_option("#mm-lessons", "06-three-solvers")  # S7, S8 and S9
    settle(page, "mmPage.steps.other && mmPage.steps.mirror.shown")
    wait_for_title(page, next(o["title"]["es"] for o in lessons.listed() if o["name"] == "06-three-solvers"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page, "phone-two-solvers")


def test_empty_planes_and_one_class(open_page: Open) -> None:
    page = ready(open_page())
    page.click("#mm-clear")
    settle(page, "mmPage.state.shown === null")
    words = page.evaluate("mmPage.ready.words.en")
    assert page.inner_text(".mm-status") == words["no_points"]
    page.mouse.click(*place(page, 1.0, 1.0))
    wait_for_status(page, words["one_class_only"])
    page.click("[data-brush='1']")
    page.mouse.click(*place(page, -1.0, -1.0))
    settle(page, "mmPage.state.shown !== null")
    assert "2 of 2 points are support vectors" in page.inner_text(".mm-status")
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("() => mmPage.canvas.width === Math.round(mmPage.canvas.clientWidth)")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


def test_a_lost_connection_comes_back(browser: Any) -> None:
    """The page keeps its points; when the server has ended it says so."""
    server = Running()
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    page.add_init_script(
        "window.sockets = []; window.WebSocket = class extends WebSocket {"
        " constructor(...given) { super(...given); window.sockets.push(this); } };"
    )
    page.goto(server.address)
    ready(page)
    page.mouse.click(*place(page, 3.0, 2.0))
    settle(page)
    n = n_points(page)
    page.evaluate("window.sockets.at(-1).close()")
    page.wait_for_selector(".mm-closed")
    page.wait_for_selector(".mm-page:not(.mm-closed)")
    page.mouse.click(*place(page, 3.0, -2.0))
    settle(page, "mmPage.state.shown.data.row.length === mmPage.state.points.length")
    assert n_points(page) == n + 1
    assert server.stop()
    wait_for_status(page, "The connection has ended.")
    page.close()


# -- the analyst -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Any:
    rng = np.random.default_rng(0)
    n = 160
    a, b = rng.normal(size=(2, n))
    colour = np.where(rng.random(n) < 0.5, "red", "blue")
    label = np.where(a + 0.6 * b + 0.4 * rng.normal(size=n) > 0, "yes", "no")
    lines = [
        f"{k},{x:.3f},{z:.3f},{c},{t}" for k, x, z, c, t in zip(range(n), a, b, colour, label, strict=True)
    ]
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text("\n".join(["id,height,<img src=x onerror=document.title='bad'>,colour,ill", *lines]))
    server = Running(lambda: Session(TableTab.read(path, "ill")))
    yield server
    assert server.stop()


def test_s10_a_table_and_its_columns(open_page: Open, analyst: Any) -> None:
    page = ready(open_page(analyst.address), "#mm-target")
    text = page.inner_text(".mm-table")
    assert "<img src=x onerror" in text  # a header is text and nothing else
    assert page.title() != "bad"
    assert page.locator(".mm-table img").count() == 0
    assert page.input_value("#mm-target") == "ill"
    done = page.locator(".mm-columns tbody td.condition").all_inner_texts()
    assert all(done)
    assert done[1] == page.evaluate("mmPage.ready.words.en.done_number")
    assert done[3] == page.evaluate("mmPage.ready.words.en.done_category")
    page.click("[data-language=es]")
    assert "un identificador: numera las filas" in page.inner_text(".mm-columns")
    page.click("[data-language=en]")
    page.click("#mm-to-plane")
    settle(page, "mmPage.state.tab === 'plane' && mmPage.state.points.length === 160")
    page.click("#mm-tab-table")
    page.click("#mm-components")
    settle(page, "mmPage.state.tab === 'plane'")


def test_s10_a_table_is_opened_in_the_page(open_page: Open, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{a + b:.3f}" for a, b in rng.normal(size=(60, 2))]
    path = tmp_path / "sums.csv"
    path.write_text("\n".join(["a,b,sum", *lines]))
    page = ready(open_page())
    page.click("#mm-tab-table")
    page.set_input_files("#mm-open-table", str(path))
    page.wait_for_selector("#mm-target")
    assert page.input_value("#mm-target") == "sum"
    page.select_option("#mm-target", "b")
    page.wait_for_function("() => mmPage.ready.table.target === 'b'")
    assert "sums.csv" in page.inner_text("[data-panel=columns]")
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n")
    page.set_input_files("#mm-open-table", str(empty))
    wait_for_status(page, "no rows")
    path.write_text("año,b,y\n" + "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(40)), "cp1252")
    page.set_input_files("#mm-open-table", str(path))
    wait_for_status(page, "sums.csv is not written in UTF-8")
    path.write_text(path.read_text("cp1252"), "utf-16")
    page.set_input_files("#mm-open-table", str(path))
    page.wait_for_function("() => mmPage.ready.table.targets.includes('año')")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("code", ["en", "es"])
def test_every_tab_fits_in_both_languages(open_page: Open, analyst: Any, width: int, code: str) -> None:
    page = ready(open_page(analyst.address, width=width), "#mm-target")
    page.click(f"[data-language={code}]")
    for tab in ("table", "plane", "steps"):
        page.click(f"#mm-tab-{tab}")
        if tab == "steps":
            page.click("#mm-watch")
            page.wait_for_selector("#mm-step")
            page.click("#mm-last")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = "[...document.querySelectorAll('.mm-page button, .mm-page select, .mm-page canvas')]"
        outside = (
            f"{wide}.filter(e => e.offsetParent && e.getBoundingClientRect().right > {width} + 1).length"
        )
        assert page.evaluate(outside) == 0
        words = page.evaluate("mmPage.ready.words")
        if tab == "table":  # the line about the points belongs to the plane
            assert page.inner_text(".mm-status") == ""
        assert page.inner_text(f"#mm-tab-{tab}") == words[code][f"tab_{tab}"]
        picture(page, f"{tab}-{code}-{width}")


def test_s11_to_s14_tune_threshold_explain_and_take(open_page: Open, analyst: Any) -> None:
    page = ready(open_page(analyst.address, accept_downloads=True), "#mm-tune")
    page.click("#mm-tune")
    page.wait_for_selector(".mm-heat .best")
    assert page.locator(".mm-heat button:not([disabled])").count() == 42
    assert page.locator(".mm-heat .one-se").count() == 1
    page.click(".mm-heat .one-se")
    page.wait_for_selector("#mm-confusion")

    def counts() -> list[int]:
        return [int(cell) for cell in page.locator("#mm-confusion tbody td").all_inner_texts()]

    middle = counts()
    assert sum(middle) == 40
    page.fill("#mm-cost-fn", "5")
    _, fp, fn, _ = counts()
    assert fact_of(page, "cost") == fp + 5 * fn
    page.focus("#mm-threshold")
    page.keyboard.press("Home")
    assert (counts()[0], counts()[2]) == (0, 0)
    assert fact_of(page, "sensitivity") == 1
    page.wait_for_selector(".mm-bars progress")
    first = page.evaluate("mmPage.table.explainPlace.innerText")
    page.select_option("#mm-explain", "3")
    page.wait_for_function("old => mmPage.table.explainPlace.innerText !== old", arg=first)
    picture(page, "analyst")
    page.click("#mm-file-lines")
    page.wait_for_selector(".mm-table pre:not([hidden])")
    assert "import maxmargin as mm" in page.inner_text(".mm-table pre")
    for name in ("model", "report"):
        with page.expect_download() as waiting:
            page.click(f"#mm-file-{name}")
        path = Path(waiting.value.path())
        if name == "model":
            assert mm.load(path).predict is not None
        else:
            assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def fact_of(page: Any, name: str) -> float:
    return float(page.inner_text(f"#mm-{name}"))


def test_the_analyst_by_keyboard_on_a_phone_in_spanish(open_page: Open, analyst: Any) -> None:
    """S10 to S14 without a mouse."""
    page = ready(open_page(analyst.address, width=390, height=844), "#mm-tune")

    press(page, "e.dataset.language === 'es'", "Enter")
    press(page, "e.id === 'mm-tune'", "Enter")
    page.wait_for_selector(".mm-heat .best")
    press(page, "e.classList.contains('best')", "Enter")
    page.wait_for_selector("#mm-confusion")
    page.wait_for_selector(".mm-bars progress")
    press(page, "e.id === 'mm-threshold'", "Home")
    assert fact_of(page, "sensitivity") == 1
    press(page, "e.id === 'mm-cost-fn'", "ArrowUp")
    assert page.evaluate("mmPage.table.costs.fn") == 2
    press(page, "e.id === 'mm-explain'", "ArrowDown")
    page.wait_for_function("() => mmPage.table.explained.row === 1")
    press(page, "e.id === 'mm-file-lines'", "Enter")
    page.wait_for_selector(".mm-table pre:not([hidden])")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page, "phone-analyst")
    press(page, "e.id === 'mm-components'", "Enter")
    settle(page, "mmPage.state.tab === 'plane' && mmPage.state.points.length === 160")


@pytest.mark.parametrize("by_key", [False, True])
def test_s11_cancel(open_page: Open, analyst: Any, by_key: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SharedTask.run

    def slowly(task: SharedTask, *args: Any) -> Any:
        time.sleep(0.1)  # the whole search would end before a hand reaches the button
        return run(task, *args)

    monkeypatch.setattr(SharedTask, "run", slowly)
    page = ready(open_page(analyst.address), "#mm-tune")
    page.click("#mm-tune")
    page.wait_for_function("() => mmPage.table.cells.size > 0")
    if by_key:
        page.locator("#mm-cancel").press("Enter")
    else:
        page.click("#mm-cancel")
    page.wait_for_function("() => mmPage.table.result")
    result = page.evaluate("mmPage.table.result")
    assert result["interrupted"]
    assert 0 < result["n_cells"] < 42
    page.click(".mm-heat .best")
    page.wait_for_selector("#mm-confusion")
