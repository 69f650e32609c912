"""The report: one complete file for every kind of model, true figures, both languages."""

from __future__ import annotations

import inspect
import re
import string
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin.feature_selection import RFE, FisherScore
from maxmargin.kernels import RBF, Linear, Spectrum
from maxmargin.reports.study import ReportOptions
from maxmargin.reports.words import LANGUAGES, words_in
from maxmargin.scorecards import Scorecard
from maxmargin.scorecards.scorecard import ScorecardWarning
from tests.reports.chromium import executable, look

mpl.use("Agg")
PHONE = 390
VOID = {"meta", "link", "img", "br", "input", "wbr"}


class Page(HTMLParser):
    """The text of a page, its ids and its addresses; every tag must be closed in its turn."""

    def __init__(self, source) -> None:
        super().__init__()
        self.open, self.ids, self.addresses, self.words = [], [], [], []
        self.goes_on = False  # after <wbr>, which stands inside a word
        self.source = source if isinstance(source, str) else source.read_text(encoding="utf-8")
        self.feed(self.source)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [found[name] for name in ("src", "href") if name in found]
        self.goes_on = tag == "wbr"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.goes_on and self.words:
            self.words[-1] += data
        elif self.open[-1:] != ["style"]:
            self.words.append(data)
        self.goes_on = False

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :6], data.target
    return (X[::2], y[::2]), (X[1::2], y[1::2])


@pytest.fixture(scope="module")
def tuned(cancer):
    model = make_pipeline(StandardScaler(), mm.SVC())
    return mm.tune(model, *cancer[0], {"svc__C": [1, 10, 100], "svc__gamma": [0.01, 0.1]}, cv=4)


@pytest.fixture(scope="module")
def page(tuned, cancer, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "deep" / "report.html"
    assert mm.report(tuned, *cancer[1], path, training=cancer[0], names=["malignant", "benign"]) == path
    return Page(path)


def test_the_file_is_complete(page):
    assert page.source.startswith("<!doctype html>")
    sections = [
        "asked",
        "cautions",
        "data",
        "grid",
        "machine",
        "margin",
        "evaluation",
        "variables",
        "reproduce",
    ]
    assert page.ids == sections
    assert {address for address in page.addresses if not address.startswith("data:")} == {
        f"#{key}" for key in sections
    }
    assert "http" not in re.sub(r"data:image[^\"]*", "", page.source)
    assert not re.search(r"\{\w+\}", page.text)  # every sentence is filled in


def test_its_figures_are_those_of_the_library(page, tuned, cancer):
    found = mm.evaluate(tuned.best_estimator, *cancer[1], names=["malignant", "benign"])
    low, high = found.confusion.measures().loc["accuracy", ["low", "high"]]
    accuracy = found.confusion.accuracy
    assert f"{100 * accuracy:.1f} %" in page.text
    assert f"{100 * low:.1f} % to {100 * high:.1f} %" in page.text
    assert f"{found.ranking.auc.value:.4g}" in page.text
    for count in found.confusion.counts.ravel():
        assert f"<b>{count:g}</b>" in page.source
    machine = tuned.best_estimator[-1]
    assert f"{len(machine.support_)} of {len(cancer[0][0])}" in page.text
    assert "Yes. This was checked" in page.text
    assert "285 training rows and 284 held-out rows" in page.text


def test_every_display_is_drawn_in_the_page(page):
    # grid, margin, ROC, KS, importance; an SVC without probabilities has no calibration
    assert sum(address.startswith("data:image") for address in page.addresses) == 5


def test_the_python_lines_run(page, cancer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = re.search(r"<pre><code>(.*?)</code></pre>", page.source, re.DOTALL).group(1)
    lines = lines.replace("&#34;", '"').replace("&#39;", "'")
    (X_train, y_train), (X_test, y_test) = cancer
    names = {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test}
    exec(lines, names)
    assert (tmp_path / "report.html").exists()
    assert names["model"][-1].C in (1, 10, 100)


def test_report_is_a_function_with_documented_options():
    assert list(inspect.signature(mm.report).parameters)[:4] == ["model", "X", "y", "path"]
    assert mm.report.__doc__.startswith("Write one HTML file")
    for name in ReportOptions.__annotations__:
        assert name in mm.report.__doc__
        assert name in ReportOptions.__doc__


# -- every kind of model ---------------------------------------------------------------------------


def _iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


def _flowers():
    X, _ = _iris()
    return X.iloc[:, :3], X.iloc[:, 3]


def _mixed(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "city": rng.choice(list("abc"), n)})
    y = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(X["age"] / 20 - 2)), "bad", "good"), name="risk")
    return X, y


def _by_column():
    return make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["age"]))


def _sine(n=80):
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(0, 6, (n, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


CASES = {
    "three classes": lambda: (mm.SVC(C=10, gamma=0.1), *_iris()),
    "kernel algebra": lambda: (mm.SVC(kernel=0.5 * RBF(gamma=0.1) + Linear()), *_iris()),
    "ten classes": lambda: (mm.SVC(gamma=0.001), *(part[:300] for part in load_digits(return_X_y=True))),
    "linear": lambda: (make_pipeline(StandardScaler(), mm.LinearSVC()), _iris()[0], _iris()[1] == 2),
    "logistic": lambda: (mm.LogisticRegression(C=1.0), *_iris()),
    "perceptron": lambda: (mm.Perceptron(), _iris()[0], _iris()[1] == 0),
    "fisher": lambda: (mm.FisherDiscriminant(), *_iris()),
    "scorecard": lambda: (mm.Scorecard(positive="bad", min_iv=0.0), *_mixed()),
    "one-hot": lambda: (make_pipeline(_by_column(), mm.SVC()), *_mixed()),
    "regression": lambda: (mm.SVR(C=10, epsilon=0.1), *_sine()),
    "ridge": lambda: (make_pipeline(StandardScaler(), mm.Ridge()), *_flowers()),
    "kernel ridge": lambda: (mm.KernelRidge(), *_sine()),
    "one class": lambda: (mm.OneClassSVM(nu=0.1), _iris()[0].iloc[:, :2], None),
    "ball": lambda: (mm.SVDD(C=0.1), _iris()[0], np.ones(150)),
    "words": lambda: (mm.SVC(kernel=Spectrum(2)), ["abab", "abba", "cdcd", "ccdd"] * 15, [0, 0, 1, 1] * 15),
    "elimination": lambda: (RFE(mm.SVC(kernel="linear"), n_features_to_select=2), *_iris()),
    "filter first": lambda: (make_pipeline(FisherScore(n_features=2), mm.SVC()), *_iris()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_kinds_of_models(case, tmp_path):
    model, X, y = CASES[case]()
    path = tmp_path / "report.html"
    page = Page(mm.report(model.fit(X, y), X, y, path, n_repeats=1, language="es"))
    assert not re.search(r"\{\w+\}", page.text)
    assert {"asked", "data", "machine", "reproduce", "cautions"} <= set(page.ids)
    if not isinstance(model, RFE):
        assert "filas de entrenamiento" in page.text  # it says on which rows it was judged


def test_sparse_and_precomputed(tmp_path):
    import scipy.sparse as sp

    X, y = _iris()
    sparse = sp.csr_array(X.to_numpy())
    page = Page(mm.report(mm.LinearSVC().fit(sparse, y), sparse, y, tmp_path / "sparse.html"))
    assert "stored sparsely" in page.text
    K = RBF(gamma=0.1)(X)
    page = Page(mm.report(mm.SVC(kernel="precomputed").fit(K, y), K, y, tmp_path / "gram.html"))
    assert "Kernel values between 150 rows" in page.text
    assert "those of the worst of the 3 binary models" in page.text


# -- warnings --------------------------------------------------------------------------------------


def caution_text(model, X, y, tmp_path, **options):
    page = Page(mm.report(model, X, y, tmp_path / "report.html", n_repeats=1, **options))
    return Page(re.search(r'<section id="cautions">(.*?)</section>', page.source, re.DOTALL).group(1)).text


def test_no_warning_where_there_is_nothing_to_warn_of(cancer, tmp_path):
    model = make_pipeline(StandardScaler(), mm.SVC()).fit(*cancer[0])
    assert "The checks found nothing" in caution_text(model, *cancer[1], tmp_path, training=cancer[0])


def test_warnings(cancer, tmp_path):
    (X, y), (X_test, y_test) = cancer
    model = mm.SVC().fit(X, y)
    text = caution_text(model, X, y, tmp_path)
    assert "evaluated on its training rows" in text
    assert "the standard deviation of mean area is" in text  # in other units than the smoothness
    text = caution_text(model, X_test, y_test, tmp_path, training=(X[:100], y[:100]))
    assert "not those that the model was fitted on" in text
    both = pd.concat([X_test, X[:3]]), pd.concat([y_test, y[:3]])
    assert "among the training rows: 3 of 287" in caution_text(model, *both, tmp_path, training=(X, y))
    assert "Only 20 rows" in caution_text(model, X_test[:20], y_test[:20], tmp_path, held_out=True)


def test_leaks_and_constants(cancer, tmp_path):
    (X, y), (X_test, y_test) = cancer
    with_leak = [
        part.assign(outcome_code=target * 2.0 + 1.0, verdict=target.map({0: "ill", 1: "well"}), site=7)
        for part, target in ((X, y), (X_test, y_test))
    ]
    model = make_pipeline(make_column_transformer((StandardScaler(), list(X.columns))), mm.SVC())
    model.fit(with_leak[0], y)
    text = caution_text(model, with_leak[1], y_test, tmp_path, training=(with_leak[0], y))
    assert "alone tell one class from the rest, almost without error: outcome_code, verdict." in text
    assert "only one value: site" in text


def test_grid_edge_imbalance_and_no_better_than_guessing(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), (np.arange(200) % 25 == 0).astype(int)
    found = mm.tune(mm.SVC(), X, y, {"C": [1, 2, 4], "gamma": [0.1, 1.0]}, cv=4)
    text = caution_text(found, X, y, tmp_path, held_out=True)
    assert "edge of the grid in C" in text
    assert "The class 1 is rare: 8 rows, 4.0 %" in text
    assert "not clearly better than always predicting 0, the largest class" in text


def test_a_model_worse_than_guessing_is_not_excused_by_weights_that_it_has_not(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], [26, 14])
    model = mm.SVC(C=100.0, gamma=50.0).fit(X, 1 - y)  # learns the opposite
    text = caution_text(model, X, y, tmp_path, held_out=True)
    assert "is lower than that of always predicting 0" in text
    assert "look for other variables" in text
    assert "weights" not in text
    model.set_params(class_weight="balanced").fit(X, 1 - y)
    assert "Class weights and thresholds that favour" in caution_text(model, X, y, tmp_path, held_out=True)


def test_a_search_of_one_cell_is_not_called_the_best_of_several(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    found = mm.tune(mm.SVC(gamma=50.0), X, y, {"C": [1.0]}, cv=3)
    text = Page(mm.report(found, X, y, tmp_path / "one.html", held_out=True, n_repeats=1)).text
    assert "The combination was tried 3 times" in text
    assert "of its parameters (C) was estimated in 3-fold cross-validation" in text
    assert "1 combinations" not in text
    assert "optimistic" not in text
    assert "C too small: tune both" in text  # all rows are support vectors, and nothing was compared
    found = mm.tune(mm.SVC(gamma=50.0), X, y, {"C": [0.5, 1.0]}, cv=3)
    text = caution_text(found, X, y, tmp_path, held_out=True)
    assert "The search preferred such a model" in text
    assert "tune both" not in text


def test_money_without_powers_of_ten_and_no_words_of_classes_for_a_quantity(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["rooms", "age"])
    y = pd.Series(200_000 + 40_000 * rng.normal(size=80), name="price")  # X tells nothing about it
    model = mm.Ridge(alpha=1.0).fit(X[::2], y[::2])
    path = mm.report(
        model, X[1::2], y[1::2], tmp_path / "a.html", training=(X[::2], y[::2]), n_repeats=1, language="es"
    )
    page = Page(path)
    assert "no es claramente mejor que predecir siempre la media" in page.text
    assert (
        f"De {y[::2].min():.0f} a {y[::2].max():.0f}, mediana {y[::2].median():.0f}. Su desviación"
        in page.text
    )
    assert "e+0" not in page.text
    assert re.findall(r".{30}\b(?:clases?|[Mm]argen)\b", page.text) == []
    good = X["rooms"] * 30_000 + 200_000
    better = mm.Ridge(alpha=1.0).fit(X[::2], good[::2])
    assert "predicting the mean" not in caution_text(better, X[1::2], good[1::2], tmp_path, held_out=True)


def test_a_fit_that_did_not_converge(cancer, tmp_path):
    with pytest.warns(UserWarning, match="KKT"):
        model = mm.SVC(C=1e4, max_iter=5).fit(*cancer[0])
    text = caution_text(model, *cancer[1], tmp_path, training=cancer[0])
    assert "stopped before it reached the required precision" in text
    text = caution_text(model, *cancer[1], tmp_path, training=cancer[0], command="maxmargin fit a.csv")
    assert "--grid max_iter=" in text  # the options of those who work on the command line
    assert "Python" not in text


# -- errors and languages --------------------------------------------------------------------------


def test_errors(cancer, tmp_path):
    (X, y), path = cancer[0], tmp_path / "report.html"
    model = mm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="language='fr' is unknown"):
        mm.report(model, X, y, path, language="fr")
    with pytest.raises(ValueError, match="needs the targets"):
        mm.report(model, X, None, path)
    with pytest.raises(ValueError, match="285 rows and y has 3"):
        mm.report(model, X, y[:3], path)
    with pytest.raises(ValueError, match="must hold one name for each class"):
        mm.report(model, X, y, path, names=["one"])
    with pytest.raises(TypeError, match="there is nothing to report"):
        mm.report(StandardScaler().fit(X), X, y, path)
    with pytest.raises(TypeError, match="not DataFrame"):
        mm.report(X, X, y, path)
    with pytest.raises(ValueError, match="refit=True"):
        mm.report(mm.tune(mm.SVC(), X, y, {"C": [1, 2]}, cv=2, refit=False), X, y, path)
    assert not path.exists()


def placeholders(sentence):
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_languages_say_the_same():
    english, *others = (words_in(language) for language in LANGUAGES)
    for other in others:
        assert set(other.sentences) == set(english.sentences)
        assert set(other.measures) == set(english.measures)
        for key, sentence in english.sentences.items():
            assert placeholders(other.sentences[key]) == placeholders(sentence), key
            assert key.startswith(
                (
                    "variables.r2",
                    "variables.auc",
                    "data.step_other",
                    "glance.variables",
                    "data.columns",
                    "value.no",
                )
            ) or (key.endswith(("variable", "error_head")) or other.sentences[key] != sentence), (
                f"{key} is not translated"
            )


def test_user_text_is_escaped(cancer, tmp_path):
    model = mm.SVC().fit(*cancer[0])
    evil = "<script>alert(1)</script>"
    path = mm.report(
        model, *cancer[1], tmp_path / "report.html", title=evil, question=evil, command=evil, target=evil,
        names=[evil, "b"], held_out=True,
    )  # fmt: skip
    assert "<script" not in path.read_text(encoding="utf-8")


# -- in a browser ----------------------------------------------------------------------------------

needs_chromium = pytest.mark.skipif(
    executable() is None, reason="no Chromium found: install Debian's package chromium to run this test"
)


@needs_chromium
@pytest.mark.parametrize("language", LANGUAGES)
def test_in_chromium_on_a_phone(language, tuned, cancer, tmp_path):
    long = {name: f"{name}_with_a_name_that_is_very_long" * 2 for name in cancer[0][0].columns[:2]}
    training, held_out = ((X.rename(columns=long), y) for X, y in cancer)
    model = clone(tuned.best_estimator).fit(*training)
    path = mm.report(model, *held_out, tmp_path / "report.html", training=training, language=language)
    seen = look(path, tmp_path, width=PHONE)
    assert seen.console == []
    assert seen.scroll_width <= PHONE
    assert seen.n_too_wide == 0
    assert seen.n_broken_images == 0
    assert seen.n_images >= 4


@needs_chromium
@pytest.mark.parametrize("width", [PHONE, 1280])
def test_no_name_or_number_is_broken(width, tuned, cancer, tmp_path):
    other = dict(zip(cancer[0][0].columns, ["credit_amount", "residence_since"], strict=False))
    training, held_out = ((X.rename(columns=other), y) for X, y in cancer)
    model = clone(tuned.best_estimator).fit(*training)
    path = mm.report(model, *held_out, tmp_path / "report.html", training=training)
    seen = look(path, tmp_path, width=width)
    assert seen.n_too_wide == 0
    assert seen.broken_words == []


def test_no_seam_is_put_inside_a_number():
    from maxmargin.reports.line_breaks import with_breaks

    assert with_breaks("median 5.5e-05, 1E+20") == "median 5.5e-\u206005, 1E+\u206020"  # joined
    assert with_breaks("residence_since") == "residence_\u200bsince"
    assert with_breaks("a-b 2e-x") == "a-\u200bb 2e-x"
    assert with_breaks("training=(X, y)") == "training=\u200b(X, y)"  # Chromium breaks there
    assert "\u200b" in with_breaks("minmoremobsemspobox45po139wa")  # too long for half a phone


def test_a_gap_that_meets_the_tolerance_is_not_set_against_the_other_measure(cancer, tmp_path):
    """LargeSVC's tol is a relative gap: "up to 0.058 (required: 0.0001)" beside "Yes" misleads."""
    model = make_pipeline(StandardScaler(), mm.LargeSVC(C=10.0, tol=0.01, n_components=40, random_state=0))
    model.fit(*cancer[0])
    assert model[-1].certificate_.kkt > model.get_params()["largesvc__tol"]
    page = Page(mm.report(model, *cancer[1], tmp_path / "report.html", held_out=True))
    assert "Yes. This was checked" in page.text
    assert "(required" not in page.text


@needs_chromium
def test_the_browser_test_can_fail(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><body><div style='width:900px'>x</div><img src='nowhere.png'>"
        "<script>nothing()</script>"
    )
    seen = look(bad, tmp_path, width=PHONE)
    assert any("nothing is not defined" in line for line in seen.console)
    assert seen.scroll_width > PHONE
    assert seen.n_too_wide
    assert seen.n_broken_images


def test_a_spanish_regression_has_no_classes_and_no_english(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    y = pd.Series(50 + 10 * X["a"] + rng.normal(size=90), name="precio")
    options = {"training": (X[:60], y[:60]), "n_repeats": 1, "language": "es"}
    model = mm.SVR(C=10.0, epsilon=0.5).fit(X[:60], y[:60])
    page = Page(mm.report(model, X[60:], y[60:], tmp_path / "a.html", **options))
    said = " ".join(page.words)
    assert not re.search(r"\bclases?\b|\b(the|rows|against|True|False)\b", said)


def test_a_spanish_report_on_one_column_of_text(tmp_path):
    words = [f"palabra{k:02d}" for k in range(40)]
    texts = [" ".join(np.random.default_rng(k).choice(words, 5)) for k in range(120)]
    X = pd.DataFrame({"mensaje": texts})
    y = np.where(X["mensaje"].str.contains("palabra0"), "spam", "ham")
    front = ColumnTransformer([("words", TfidfVectorizer(), "mensaje")], verbose_feature_names_out=False)
    model = Pipeline([("columns", front), ("model", mm.LinearSVC(class_weight="balanced"))])
    page = Page(mm.report(model.fit(X, y), X, y, tmp_path / "a.html", n_repeats=1, language="es"))
    said = " ".join(page.words)
    assert "a partir de 1 variable." in said
    assert "texto" in page.words
    assert "hacen falta dos variables numéricas sin valores perdidos" in said
    assert "28 variables más" in said
    assert all(word in page.words for word in words)  # no list is cut
    assert "equilibrados" in page.words
    assert not set(page.words) & {"multi_class", "l0_alpha", "sparsity", "squared_hinge", "ovr"}


def test_a_spanish_report_without_a_target(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    page = Page(mm.report(mm.OneClassSVM(nu=0.1).fit(X), X, None, tmp_path / "a.html", language="es"))
    said = " ".join(page.words)
    assert "El modelo no tiene objetivo" in said
    assert not re.search(r"gamma=\s*\d+(\.\d|,\d{6})", said)  # 0,1912, not 0.19120924777035742
    assert not re.search(r"etiquetad|equivocado|clase", said)


def test_models_with_fewer_columns_do_not_warn_during_a_report(tmp_path):
    """What they say is not about the model of the report; neither are their signs."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with pytest.warns(ScorecardWarning, match="wrong sign"):
        card = Scorecard().fit(X.iloc[:400, :8], y[:400])
    mm.report(card, X.iloc[400:, :8], y[400:], tmp_path / "r.html", training=(X.iloc[:400, :8], y[:400]))
    assert "Rank by elimination" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_scorecard_has_points_and_no_margin(tmp_path):
    model, X, y = CASES["scorecard"]()
    page = Page(mm.report(model.fit(X, y), X, y, tmp_path / "a.html", n_repeats=1))
    assert "margin" not in page.ids


def test_odds_in_spanish_and_near_one(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"amount": 1000.0 * rng.normal(size=200), "b": rng.normal(size=200)})
    y = np.where(X["amount"] / 1000 + rng.normal(size=200) > 0, "bad", "good")
    options = {"training": (X[:150], y[:150]), "n_repeats": 1, "language": "es"}
    model = mm.LogisticRegression(C=1.0).fit(X[:150], y[:150])
    page = Page(mm.report(model, X[150:], y[150:], tmp_path / "a.html", **options))
    said = " ".join(page.words)
    assert "good frente a bad" in said.replace("'", "").replace("’", "")
    assert re.search(r"0,99\d{2,}", said)  # the odds ratio of one unit of the amount, not 1 or 0,998


def test_values_of_a_grid_on_an_axis_have_the_decimal_mark_of_the_page():
    from matplotlib.figure import Figure

    from maxmargin.reports.pictures import _translate

    figure = Figure()
    ax = figure.subplots()
    ax.set_xticks([0, 1, 2], ["0.5", "1e-05", "v1.2 rows"])
    _translate(figure, words_in("es"))
    figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0,5", "1e-05", "v1,2 rows"]


def test_an_exponent_is_not_broken_from_its_number():
    from maxmargin.reports.line_breaks import with_breaks

    assert with_breaks("5.31e-05") == "5.31e-\u206005"
    assert with_breaks("size-2") == "size-\u200b2"


def test_options_are_not_broken_and_can_be_copied():
    from maxmargin.reports.page import _as_code, _as_html

    assert _as_code("fit <a> --target y --no-report") == (
        'fit &lt;a&gt; <span class="option">--target</span> y <span class="option">--no-report</span>'
    )
    assert _as_html("leave it out with --class-weight. <b>") == (
        'leave it out with <span class="option">--class-weight</span>. &lt;b&gt;'
    )


def test_a_caution_advises_only_what_the_model_has(tmp_path):
    """Several classes have no ROC curve; a discriminant has no class weights."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [190, 190, 20])
    X = pd.DataFrame({"u": rng.normal(size=400), "v": rng.normal(size=400) + 20.0 * (y == "c")})
    text = caution_text(mm.FisherDiscriminant().fit(X, y), X, y, tmp_path, command="maxmargin fit t.csv")
    assert "alone tell one class from the rest, almost without error: v." in text
    assert "The class c is rare" in text
    assert not any(word in text for word in ("class-weight", "class_weight", "AUC", "ROC"))
    text = caution_text(mm.SVC().fit(X, y), X, y, tmp_path, command="maxmargin fit t.csv")
    assert "--class-weight balanced" in text


def test_kernels_have_few_digits_and_columns_keep_their_names():
    kernel = RBF(gamma=0.19120924777, features=["rate 0.123456, monthly", "x"]) + 2.5 * Linear()
    names = "'rate 0.123456, monthly'"
    english, spanish = words_in("en").kernel(kernel), words_in("es").kernel(kernel)
    assert f"gamma=0.1912, features=[{names}, 'x']" in english
    assert f"gamma=0,1912; features=[{names}; 'x']" in spanish
    assert "2,5 * Linear()" in spanish


def test_large_figures_are_short():
    from maxmargin.reports.words import words_in

    assert words_in("en").number(908708528319.0, 2) == "9.1e+11"
    assert words_in("en").number(22250495.4) == "22250495"


@pytest.mark.parametrize("mixed", [False, True])
def test_wide_tables_shuffle_the_columns_that_the_model_uses(mixed, tmp_path, monkeypatch):
    from maxmargin.reports.sections import variables_section

    monkeypatch.setattr(variables_section, "_CELLS", 60 * 80)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 80)), columns=[f"g{j}" for j in range(80)])
    y = np.where(X["g70"] + X["g71"] > 0, "a", "b")
    front = make_column_transformer((StandardScaler(), list(X.columns))) if mixed else StandardScaler()
    model = make_pipeline(front, mm.SVC(kernel="linear")).fit(X, y)
    page = Page(mm.report(model, X, y, tmp_path / "report.html", training=(X, y), n_repeats=2))
    assert "Each of the 60 variables (of 80) that are most correlated with what the model says" in page.text
    section = page.source.partition('<section id="variables">')[2]
    listed = re.findall(r"<td>(g\d+)</td>", section)
    assert set(listed[:2]) == {"g70", "g71"}
    assert len(listed) == 60


def test_a_surface_of_many_columns_is_made_in_pieces(monkeypatch):
    from maxmargin.displays.machines import margin_display

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30))
    model = mm.SVC().fit(X, X[:, 0] > 0)
    whole = mm.displays.MarginDisplay.from_estimator(model, X, X[:, 0] > 0)
    monkeypatch.setattr(margin_display, "_CELLS", 3100)
    pieces = mm.displays.MarginDisplay.from_estimator(model, X, X[:, 0] > 0)
    np.testing.assert_allclose(whole.surface, pieces.surface, rtol=1e-12, atol=1e-12)


def test_very_wide_tables_list_some_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 320)), columns=[f"g{j}" for j in range(320)])
    y = X["g0"] > 0
    page = Page(mm.report(mm.LinearSVC().fit(X, y), X, y, tmp_path / "report.html", n_repeats=1))
    assert "20 more variables are not listed." in page.text
