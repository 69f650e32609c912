"""`evaluate` collects what the single measures say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import NearestCentroid

from maxmargin import metrics as mm


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    return LogisticRegression(max_iter=5000).fit(X, y), X, y


def test_all_measures_of_a_probability(cancer):
    model, X, y = cancer
    result = mm.evaluate(model, X, y, positive=0, names=["malignant", "benign"])
    score = model.predict_proba(X)[:, 0]
    assert result.ranking.auc == mm.auc(y, score, positive=0, names=["malignant", "benign"])
    assert result.ranking.ks.positive == result.confusion.positive == "malignant"
    assert result.table().loc["Gini", "value"] == pytest.approx(2 * result.ranking.auc.value - 1)
    assert result.table().loc["accuracy", "value"] == pytest.approx(model.score(X, y))
    assert result.ranking.brier == pytest.approx(np.mean((score - (y == 0)) ** 2))
    assert "malignant" in str(result)


def test_threshold_moves_the_confusion_table(cancer):
    model, X, y = cancer
    ks = mm.evaluate(model, X, y).ranking.ks
    result = mm.evaluate(model, X, y, threshold=ks.threshold)
    assert result.confusion.sensitivity == pytest.approx(ks.tpr)
    assert 1 - result.confusion.specificity == pytest.approx(ks.fpr)


def test_decision_values_have_no_calibration(cancer):
    _, X, y = cancer
    model = Perceptron().fit(X, y)
    result = mm.evaluate(model, X, y, positive=0)
    assert result.ranking.response == "decision_function"
    assert result.ranking.calibration is None
    assert "Brier score" not in result.table().index
    assert result.ranking.auc.value == pytest.approx(mm.auc(y, model.decision_function(X)).value)


def test_more_classes_need_a_positive_one_for_the_ranking():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    assert mm.evaluate(model, X, y).ranking is None
    result = mm.evaluate(model, X, y, positive=2, names=["setosa", "versicolor", "virginica"])
    assert result.ranking.roc.positive == "virginica"
    assert result.ranking.roc.negative == "rest"
    assert result.ranking.auc.value == pytest.approx(mm.auc(y == 2, model.predict_proba(X)[:, 2]).value)


def test_a_fold_without_a_class_keeps_the_names():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    rows = y > 0
    result = mm.evaluate(model, X[rows], y[rows], positive=2, names=["se", "ve", "vi"])
    assert result.ranking.roc.positive == "vi"
    assert result.confusion.names == ("ve", "vi")


def test_a_weight_of_two_counts_a_row_twice(cancer):
    model, X, y = cancer
    weight = 1 + np.arange(len(y)) % 3
    weighted = mm.evaluate(model, X, y, positive=0, sample_weight=weight)
    repeated = mm.evaluate(model, np.repeat(X, weight, axis=0), np.repeat(y, weight), positive=0)
    np.testing.assert_allclose(weighted.table()["value"], repeated.table()["value"], atol=1e-12)
    assert np.isnan(weighted.table()[["low", "high"]]).all(axis=None)
    np.testing.assert_allclose(weighted.ranking.gains, repeated.ranking.gains, atol=1e-12)
    np.testing.assert_allclose(
        weighted.ranking.calibration.iloc[:, :4], repeated.ranking.calibration.iloc[:, :4], atol=1e-12
    )
    assert np.isnan(weighted.ranking.ks.p_value)
    assert "nan" not in str(weighted).lower()
    with pytest.raises(ValueError, match="sample_weight holds negative numbers"):
        mm.evaluate(model, X, y, sample_weight=-np.ones(len(y)))


def test_pictures_of_a_weighted_evaluation_are_weighted(cancer):
    model, X, y = cancer
    weight = 1.0 + (y == 1) * np.arange(len(y)) % 3
    result = mm.evaluate(model, X, y, sample_weight=weight)
    roc, ks, *_ = result.display().panels
    assert roc.auc.value == pytest.approx(result.ranking.roc.auc)
    assert roc.ax_.get_legend_handles_labels()[1][0] == f"AUC {result.ranking.auc.value:.3f}"
    assert ks.ks.value == result.ranking.ks.value
    assert ks.positive_weights.sum() == pytest.approx(weight[y == 1].sum())


def test_errors(cancer):
    model, X, y = cancer
    with pytest.raises(ValueError, match="does not know"):
        mm.evaluate(model, X, y + 1)
    with pytest.raises(ValueError, match="response_method"):
        mm.evaluate(model, X, y, response_method="predict")
    with pytest.raises(ValueError, match="has no predict_proba"):
        mm.evaluate(Perceptron().fit(X, y), X, y, response_method="predict_proba")
    with pytest.raises(ValueError, match="names has 3"):
        mm.evaluate(model, X, y, names=["a", "b", "c"])
    X3, y3 = load_iris(return_X_y=True)
    three = NearestCentroid().fit(X3, y3)
    with pytest.raises(ValueError, match="needs two classes"):
        mm.evaluate(three, X3, y3, threshold=0.5)


def test_an_evaluation_opens_its_own_picture():
    X, y = load_breast_cancer(return_X_y=True)
    display = mm.evaluate(LogisticRegression(max_iter=5000).fit(X, y), X, y).display()
    assert [type(panel).__name__ for panel in display.panels][:2] == ["RocDisplay", "KsDisplay"]
    assert len(display.figure_.axes) >= 4
