"""The chosen model: its parameters, its certificate in plain words, its coefficients or points."""

from __future__ import annotations

from math import ceil, isnan, log10
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.base.tables import as_dense
from maxmargin.displays.machines.support_display import KINDS
from maxmargin.machines.linear.logistic_summary import LogisticSummary
from maxmargin.machines.linear.squares_summary import SquaresSummary
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import solved
from maxmargin.reports.blocks import Facts, Grid, Heading, Section, Text
from maxmargin.reports.study import Study
from maxmargin.tables.coefficients import CoefficientSummary, estimate_names
from maxmargin.tables.translation import Translator

_COEFFICIENTS = 12
_SHOWN_POINTS = 12


def machine(study: Study) -> Section:
    """Parameters, figures, certificate, coefficients or points."""
    say, final = study.say, study.subject.final
    blocks: list[Any] = [
        Text(say("machine.text", model=type(final).__name__)),
        Facts(parameters(study)),
        *_figures(study),
        Heading(say("machine.proof")),
        Text(proof(study)),
        *_coefficients(study),
        *_points(study),
    ]
    return Section("machine", say("machine.title"), blocks)


_OF_THE_RUN = {"n_jobs", "verbose", "cache_size", "solver", "certify", "warm_start", "shrinking", "max_iter"}
_OF_OTHERS = {"trace", "copy_X", "dual", "multi_class", "intercept_scaling"}  # scikit-learn's, or of a trace
_OF_THE_KERNEL = {"kernel", "gamma", "coef0", "degree"}
_OF_THE_ANSWER = {"break_ties", "decision_function_shape", "probability", "random_state"}


def parameters(study: Study) -> list[tuple[str, str]]:
    """Parameters that shape the model; the kernel is shown with its numbers."""
    final, words = study.subject.final, study.words
    kernel = getattr(final, "kernel_", None)
    hidden = _OF_THE_RUN | _OF_OTHERS | _OF_THE_ANSWER | (_OF_THE_KERNEL if kernel is not None else set())
    if study.subject.task == "regression":
        hidden |= {"positive"}  # of scikit-learn's linear models; elsewhere it names a class
    if len(getattr(final, "classes_", ())) <= 2:
        hidden |= {"multiclass"}
    if getattr(final, "penalty", None) == "l2":
        hidden |= {"sparsity", "l0_alpha"}
    listed = [] if kernel is None else [(words.option("kernel"), words.kernel(kernel, 160))]
    for name, value in final.get_params(deep=False).items():
        if name not in hidden and not isinstance(value, BaseEstimator) and value is not None:
            shown = words.option(value) if isinstance(value, str) else words.value(value, 120)
            listed.append((words.option(name), shown))
    return listed


def _figures(study: Study) -> list[Any]:
    """Support vectors by kind, the margin, the tube or the ball."""
    final, say, number = study.subject.final, study.say, study.words.number
    facts = []
    if hasattr(final, "support_vectors_"):
        n, n_rows = len(final.support_), final.shape_fit_[0]
        facts.append((say("machine.support"), say("machine.of", n=n, all=n_rows)))
    if hasattr(final, "point_kinds_"):
        kinds = final.point_kinds_
        facts += [(say(f"machine.{kind}"), str(int((kinds == kind).sum()))) for kind in KINDS]
    if hasattr(final, "margin_") and study.subject.task != "regression":
        facts.append((say("machine.margin"), number(final.margin_)))
    if hasattr(final, "epsilon_"):
        facts.append((say("machine.epsilon"), number(final.epsilon_)))
    if hasattr(final, "radius_"):
        facts.append((say("machine.radius"), number(final.radius_)))
    return [Heading(say("machine.figures")), Facts(facts)] if facts else []


def certificate_of(study: Study) -> Certificate | None:
    found = getattr(study.subject.final, "certificate_", None)
    return found if isinstance(found, Certificate) else None


def certified(study: Study) -> bool | None:
    """True if the certificate holds to the required tolerance; None if there is no certificate."""
    certificate = certificate_of(study)
    if certificate is None:
        return None
    asked = getattr(study.subject.final, "tol", None)
    tol = 1e-3 if asked is None else float(asked)  # a perceptron with tol=None makes all its passes
    return certificate.holds(tol) or solved(certificate, tol)


def proof(study: Study) -> str:
    """The certificate in plain words."""
    certificate, say, number = certificate_of(study), study.say, study.words.number
    if certificate is None:
        return say("proof.none", model=type(study.subject.final).__name__)
    parts = [say("proof.holds" if certified(study) else "proof.fails")]
    if certificate.n_machines > 1:
        parts.append(say("proof.worst", n=certificate.n_machines))
    if not certificate.convex:
        parts.append(say("proof.not_convex"))
    elif not isnan(certificate.gap):
        relative = f"{number(100 * max(certificate.relative_gap, 0.0), 2)} %"  # rounding can make it negative
        parts.append(say("proof.gap", gap=number(max(certificate.gap, 0.0), 2), relative=relative))
    if not isnan(certificate.kkt):
        key = "proof.all_rows" if certificate.complete else "proof.some_rows"
        tol = getattr(study.subject.final, "tol", None)
        by_gap = (
            tol is not None and certified(study) and certificate.kkt > tol
        )  # it is met in another measure
        asked = "" if tol is None or by_gap else say("proof.asked", tol=number(tol))
        parts.append(say(key, n=certificate.n_checked, kkt=number(certificate.kkt, 2), asked=asked))
    return " ".join(parts)


def _coefficients(study: Study) -> list[Any]:
    """The largest coefficients of a linear model with two classes or a quantity to predict."""
    final, say, number = study.subject.final, study.say, study.words.number
    if study.coefficients is not None:
        return _estimates(study, study.coefficients)
    if not hasattr(final, "coef_") or hasattr(final, "points_"):
        return []
    coef = np.atleast_2d(as_dense(final.coef_))
    names = _names_seen(study, coef.shape[1])
    if coef.shape[0] != 1 or names is None:
        return []
    order = np.argsort(-np.abs(coef[0]), kind="stable")
    rows = [[names[j], number(coef[0, j])] for j in order]
    return [
        Heading(say("machine.coefficients")),
        Text(say("machine.coefficients_text")),
        Grid(
            columns=[say("data.variable"), say("machine.coefficient")],
            rows=rows[:_COEFFICIENTS],
            numbers=(1,),
            more=rows[_COEFFICIENTS:],
            more_label=say("data.more", n=len(rows) - _COEFFICIENTS),
        ),
    ]


def _estimates(study: Study, found: CoefficientSummary) -> list[Any]:
    """Estimates with their standard errors, in the units of the table, and how well they fit."""
    say, number = study.say, study.words.number
    logistic = isinstance(found, LogisticSummary)
    told = say("machine.estimates_squares")
    if isinstance(found, LogisticSummary):
        odds = found.odds.replace("each class", say("machine.each_class"))
        told = say("machine.estimates_logistic", odds=odds.replace(" against ", say("machine.against")))
    statistic = "z" if logistic else "t"
    columns = [say("data.variable"), say("machine.coefficient"), say("machine.error"), statistic, "p"]
    columns += [say("machine.odds_ratio")] if logistic else []
    columns.append(say("evaluation.interval"))
    rows = []
    for name, row in zip(estimate_names(found), found.table.to_dict("records"), strict=True):
        low, high = (row[f"odds_{end}" if logistic else end] for end in ("low", "high"))
        ends = {"low": number(low, _digits(low)), "high": number(high, _digits(high))}
        interval = "" if isnan(low) else say("evaluation.from_to", **ends)
        cells = [number(row[key], 3) for key in ("coef", "std_err", statistic)]
        cells += [_p_value(study, row["p_value"])]
        cells += [number(row["odds_ratio"], _digits(row["odds_ratio"]))] if logistic else []
        rows.append([name, *cells, interval])
    facts = [(say("machine.log_likelihood"), number(found.log_likelihood, 6)), ("AIC", number(found.aic, 6))]
    if isinstance(found, SquaresSummary):
        facts = [("R2", number(found.r2, 3)), (say("machine.sigma"), number(found.sigma, 3)), *facts]
    return [
        Heading(say("machine.coefficients")),
        Text(told),
        Grid(
            columns=columns,
            rows=rows[:_COEFFICIENTS],
            cards=True,
            numbers=tuple(range(1, len(columns))),
            more=rows[_COEFFICIENTS:],
            more_label=say("machine.more", n=len(rows) - _COEFFICIENTS),
        ),
        Facts(facts),
        *(Text(Translator(study.words.language)(note)) for note in getattr(found, "notes", ())),
    ]


def _digits(ratio: float) -> int:
    """Three significant digits, and more for a ratio near one, so that it is not shown as one."""
    distance = abs(ratio - 1.0)
    return 2 + ceil(-log10(max(distance, 1e-6))) if 0 < distance < 0.01 else 3


def _p_value(study: Study, value: float) -> str:
    if isnan(value):
        return ""
    return f"< {study.words.number(0.001)}" if value < 0.001 else study.words.number(value, 2)


def _names_seen(study: Study, n: int) -> list[str] | None:
    """Names of the columns that reach the last step, if the steps provide names."""
    if not study.subject.steps:
        names = study.variables
    else:
        before = study.subject.model[:-1]
        try:
            names = [_own_name(before, str(n)) for n in before.get_feature_names_out(study.variables)]
        except (AttributeError, ValueError):  # a step that does not know the names of what it makes
            return None
    return names if len(names) == n else None


def _own_name(before: Any, name: str) -> str:
    """The name without that of the step that made it; a word with the name of its column of text."""
    parts = getattr(before[-1], "transformers_", [])
    head, mark, rest = name.partition("__")
    columns = next((columns for part, _, columns in parts if mark and part == head), None)
    return name if columns is None else f"{columns}: {rest}" if isinstance(columns, str) else rest


def _points(study: Study) -> list[Any]:
    """The points of a scorecard."""
    final, say, number = study.subject.final, study.say, study.words.number
    if not hasattr(final, "points_"):
        return []
    table, translated = final.points_, Translator(study.words.language)
    rows = [
        [
            str(r["variable"]),
            translated(str(r["bin"])),
            number(r["count"]),
            number(r["event_rate"], 3),
            number(r["points"]),
        ]
        for r in table.to_dict("records")
    ]
    heads = ["data.variable", "card.bin", "card.rows", "card.rate", "card.points"]
    return [
        Heading(say("card.title")),
        Text(say("card.text", event=final.binning_.event_, pdo=number(final.pdo))),
        Grid(
            columns=[say(head) for head in heads],
            rows=rows[:_SHOWN_POINTS],
            cards=True,
            numbers=(2, 3, 4),
            more=rows[_SHOWN_POINTS:],
            more_label=say("card.more", n=len(rows) - _SHOWN_POINTS),
        ),
    ]
