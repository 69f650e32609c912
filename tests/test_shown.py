"""Every result prints all its columns in lines of at most 80 characters, and its repr fits a screen."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin.base.shown import ShownTable, filled
from maxmargin.kernels import Linear, Polynomial, mercer_check
from maxmargin.metrics import auc, compare_auc, gains, ks_statistic, roc
from maxmargin.scorecards import population_stability

_RNG = np.random.default_rng(0)
_CLASSES = np.where(_RNG.random(90) < 0.5, "malignant", "benign")
_SHIFT = 0.8 * (_CLASSES == "malignant")
X = pd.DataFrame(
    {f"mean of column {j}": _RNG.normal(size=90) + _SHIFT * (j < 3) for j in range(6)},
)
_TARGET = 100.0 * X.iloc[:, 0] + _RNG.normal(size=90)
_FLOWERS, _SPECIES = load_iris(return_X_y=True, as_frame=True)
_KERNELS = [Polynomial(degree=3, gamma=0.1, coef0=1.0), Linear() + Polynomial(degree=2, gamma=0.5)]


# fitted once, and not while tests are collected, because every worker would compile the same functions then
@cache
def _svc() -> mm.SVC:
    return mm.SVC(trace=True).fit(X, _CLASSES)


@cache
def _three() -> mm.SVC:
    return mm.SVC().fit(_FLOWERS, _SPECIES)


@cache
def _svr() -> mm.SVR:
    return mm.SVR(C=100.0).fit(X, _TARGET)


@cache
def _large() -> mm.LargeSVC:
    return mm.LargeSVC(n_components=20).fit(X, _CLASSES)


@cache
def _evaluation() -> Any:
    return mm.evaluate(_svc(), X, _CLASSES)


@cache
def _logistic() -> mm.LogisticRegression:
    return mm.LogisticRegression(C=np.inf).fit(X, _CLASSES)


@cache
def _search() -> Any:
    return fs.SFS(mm.SVC(), cv=3).fit(X, _CLASSES)


@cache
def _compared() -> Any:
    return fs.compare(X, _CLASSES, cv=3, n_resamples=0)


def _card() -> mm.Scorecard:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mm.Scorecard(min_iv=0.0).fit(X, _CLASSES)


def _separated() -> Any:
    with pytest.warns(mm.SeparationWarning):
        return mm.LogisticRegression(C=np.inf).fit(_FLOWERS, _SPECIES)


def _events() -> Any:
    return (_CLASSES == "malignant").astype(int)


RESULTS: dict[str, Callable[[], Any]] = {
    "kkt of classes": lambda: mm.kkt_table(_svc()),
    "kkt of three classes": lambda: mm.kkt_table(_three()),
    "kkt of a quantity": lambda: mm.kkt_table(_svr()),
    "kkt of a detector": lambda: mm.kkt_table(mm.OneClassSVM().fit(X)),
    "certificate": lambda: _svc().certificate_,
    "certificate of three classes": lambda: _three().certificate_,
    "solution": lambda: _svr().solution_,
    "support points": lambda: _svc().support_points_,
    "trace": lambda: _svc().trace_,
    "step": lambda: mm.steps(_svc(), X, _CLASSES)[0],
    "explanation": lambda: mm.explain(_svc(), X.iloc[:1]),
    "terms": lambda: mm.explain(_svc(), X.iloc[:1]).terms,
    "approximation": lambda: _large().approximation_,
    "map": lambda: _large().map_,
    "ridge path": lambda: mm.Ridge().fit(X, _TARGET).path_,
    "logistic summary": lambda: _logistic().summary(),
    "logistic table": lambda: _logistic().summary().table,
    "separated summary": lambda: _separated().summary(),
    "separation": lambda: _separated().separation_,
    "squares summary": lambda: mm.LeastSquares().fit(X, _TARGET).summary(),
    "squares table": lambda: mm.LeastSquares().fit(X, _TARGET).summary().table,
    "tuning": lambda: mm.tune(mm.SVC(), X, _CLASSES, grid={"C": [1, 10], "gamma": [0.1, 1]}, cv=3),
    "tuning of kernels": lambda: mm.tune(
        mm.SVC(), X, _CLASSES, grid={"C": [1, 10], "kernel": _KERNELS}, cv=3
    ),
    "evaluation": lambda: _evaluation(),
    "ranking": lambda: _evaluation().ranking,
    "confusion": lambda: _evaluation().confusion,
    "gains": lambda: gains(_events(), X.iloc[:, 0]),
    "roc": lambda: roc(_events(), X.iloc[:, 0]),
    "auc": lambda: auc(_events(), X.iloc[:, 0]),
    "two areas": lambda: compare_auc(_events(), X.iloc[:, 0], X.iloc[:, 4]),
    "ks": lambda: ks_statistic(_events(), X.iloc[:, 0]),
    "scorecard summary": lambda: _card().summary(),
    "points": lambda: _card().points_,
    "points, loaded": lambda: pickle.loads(pickle.dumps(_card())).points_,
    "points of a row": lambda: _card().explain(X.iloc[0]),
    "bins": lambda: mm.Binning().fit(X, _CLASSES).table(),
    "stability": lambda: population_stability(X.iloc[:40, 0], X.iloc[40:, 0]),
    "mercer": lambda: mercer_check(Linear(), X),
    "path of a search": lambda: _search().path_,
    "history of a search": lambda: _search().history_,
    "penalties": lambda: fs.SparseSVMSelector().fit(X, _CLASSES).history_,
    "comparison": _compared,
    "ranks": lambda: _compared().ranks,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_fit_a_screen(name: str) -> None:
    result = RESULTS[name]()
    for text in (str(result), repr(result)):
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80, text
        assert len(lines) <= 80, text
    if isinstance(result, pd.DataFrame):
        heads = " ".join(line for line in repr(result).splitlines() if line.strip())
        assert all(str(column) in heads for column in result.columns)


def test_the_parts_of_a_fitted_machine_fit_a_screen() -> None:
    """``svc.machines_`` printed every number of every array: 17 000 characters."""
    for part in (*_svc().machines_, *_svc().binary_tasks_):
        assert len(repr(part)) < 1000


def test_parts_of_a_table_print_alike_and_keep_their_values() -> None:
    table = mm.kkt_table(_svc())
    assert isinstance(table, pd.DataFrame)
    assert isinstance(table.head(3), ShownTable)
    assert "violation" in repr(table.head(3))
    pd.testing.assert_frame_equal(table, pd.DataFrame(table.to_dict("series")))


def test_options_of_pandas_hold() -> None:
    table = mm.kkt_table(_svc())
    with pd.option_context("display.width", 200, "display.float_format", "{:.1f}".format):
        assert len(repr(table.head(3)).splitlines()) == 4
        assert f"{table['alpha'].iloc[0]:.1f}" in repr(table.head(1))


def test_long_lines_break_at_spaces() -> None:
    text = filled("word " * 40 + "\nshort")
    assert set(text.split()) == {"word", "short"}
    assert max(map(len, text.splitlines())) <= 80
