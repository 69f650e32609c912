"""A fit replaces the whole model in one step, and a prediction uses one model."""

from __future__ import annotations

from typing import Any

import pytest

from maxmargin.base.interruption import all_or_nothing, of_one_fit


class Learner:
    """An estimator of which tests can interrupt the fit."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    @all_or_nothing
    def fit(self, value: Any, during: Any = lambda: None) -> Any:
        self.first_ = value
        during()
        self.second_ = value
        self.__dict__.pop("old_", None)
        return self

    @all_or_nothing
    def fit_predict(self, value: Any) -> Any:
        return self.fit(value).predict()

    @of_one_fit
    def predict(self, between: Any = lambda: None) -> Any:
        first = self.first_
        between()
        return first, self.second_


def test_fit_returns_the_estimator_itself() -> None:
    model = Learner()
    assert model.fit(1) is model
    assert model.fit_predict(2) == (2, 2)
    assert model.first_ == model.second_ == 2


def test_nothing_of_a_fit_that_fails_remains() -> None:
    model = Learner().fit(1)

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(2, during=fail)
    assert model.__dict__ == {"C": 1.0, "first_": 1, "second_": 1}


def test_nothing_of_a_fit_shows_before_it_ends() -> None:
    model = Learner().fit(1)
    seen: list[Any] = []
    model.fit(2, during=lambda: seen.append(model.predict()))
    assert seen == [(1, 1)]
    assert model.predict() == (2, 2)


def test_a_prediction_stays_with_the_model_it_began_with() -> None:
    model = Learner().fit(1)
    assert model.predict(between=lambda: model.fit(2)) == (1, 1)
    assert model.predict() == (2, 2)


def test_parameters_set_during_a_fit_stay() -> None:
    model = Learner().fit(1)
    model.fit(2, during=lambda: setattr(model, "C", 5.0))
    assert (model.C, model.predict()) == (5.0, (2, 2))


def test_attributes_that_a_fit_deletes_are_gone() -> None:
    model = Learner().fit(1)
    model.old_ = True  # type: ignore[attr-defined]
    model.fit(2)
    assert not hasattr(model, "old_")
