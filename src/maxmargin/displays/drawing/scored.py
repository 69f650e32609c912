"""The three ways to a display of a score: an evaluation, a fitted model, or the scores themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from maxmargin.base.typing import FloatArray
from maxmargin.metrics import Evaluation, RankingEvaluation, evaluate
from maxmargin.metrics.labels import BinaryTarget, scored_target


def ranking_of(result: Evaluation | RankingEvaluation) -> RankingEvaluation:
    """The ranking of an evaluation, or an error that says why there is none."""
    ranking = result.ranking if isinstance(result, Evaluation) else result
    if ranking is None:
        raise ValueError(
            "This evaluation has no ranking to draw: name a positive class (evaluate(..., positive=...)) "
            "and use a model with predict_proba or decision_function."
        )
    return ranking


class ScoredDisplay(ABC):
    """A display made of the scores of rows whose class is known."""

    @classmethod
    @abstractmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        """The arrays of the display; ``what`` is the name of the score."""

    @classmethod
    def from_result(cls, result: Evaluation | RankingEvaluation) -> Self:
        """From what ``mm.evaluate`` returned."""
        ranking = ranking_of(result)
        return cls._of(ranking.target, ranking.score, _spoken(ranking))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Any = None, names: Sequence[str] | None = None
    ) -> Self:
        """From a fitted classifier and rows with known classes."""
        return cls.from_result(evaluate(model, X, y, positive=positive, names=names))

    @classmethod
    def from_scores(
        cls,
        y: Any,
        score: Any,
        *,
        positive: Any = None,
        names: Sequence[str] | None = None,
        what: str = "score",
    ) -> Self:
        """From labels and scores; ``what`` is the name of the score on the axis."""
        target, values = scored_target(y, score, positive=positive, names=names)
        return cls._of(target, values, what)


def _spoken(ranking: RankingEvaluation) -> str:
    if ranking.response == "predict_proba":
        return f"predicted probability of {ranking.target.positive}"
    return "decision value"
