"""The head of the page: a title and the few figures that a hurried reader takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxmargin.reports.blocks import Cautions, Section
from maxmargin.reports.numbers import number, percent
from maxmargin.reports.sections.machine_section import certified
from maxmargin.reports.study import Study


@dataclass(frozen=True)
class Card:
    """A figure with its name, a line below it, and a tone ("good", "bad", "plain")."""

    name: str
    value: str
    note: str = ""
    tone: str = "plain"


def title_of(study: Study) -> str:
    """The user's title, or model and target."""
    if study.title:
        return study.title
    model = type(study.subject.final).__name__
    return f"{model}: {study.target}" if study.target else model


def glance(study: Study, sections: Sequence[Section]) -> list[Card]:
    """Quality, size, proof, number of warnings."""
    cards = [*_quality(study), _size(study)]
    proven = certified(study)
    if proven is not None:
        word = study.say("glance.proven" if proven else "glance.not_proven")
        cards.append(Card(study.say("glance.certificate"), word, tone="good" if proven else "bad"))
    n = sum(len(block.items) for s in sections for block in s.blocks if isinstance(block, Cautions))
    serious = sum(
        item[0] == "high"
        for s in sections for block in s.blocks if isinstance(block, Cautions) for item in block.items
    )  # fmt: skip
    tone = "bad" if serious else "plain" if n else "good"
    note = study.say("glance.serious", n=serious) if serious else ""
    cards.append(Card(study.say("glance.cautions"), str(n), note, tone))
    return cards


def _size(study: Study) -> Card:
    p = len(study.variables)
    note = study.say("glance.variables", p=p) if p else ""
    return Card(study.say("glance.rows"), str(len(study.known)), note)


def _quality(study: Study) -> list[Card]:
    say, task = study.say, study.subject.task
    on = say("glance.held_out" if study.held_out else "glance.same_rows")
    if task == "classification":
        measures = study.evaluation.confusion.measures(study.evaluation.confidence)
        value, low, high = measures.loc[["accuracy"]].to_numpy()[0].tolist()
        span = say("evaluation.from_to", low=percent(low), high=percent(high))
        cards = [Card(study.words.measure("accuracy"), percent(value), f"{span}, {on}")]
        if study.evaluation.ranking is not None:
            area = study.evaluation.ranking.auc
            span = say(
                "evaluation.from_to", low=number(area.interval[0], 3), high=number(area.interval[1], 3)
            )
            cards.append(Card("AUC", number(area.value, 3), span))
        return cards
    if task == "regression":
        score = study.subject.model.score(study.evaluated.X, study.evaluated.y)
        return [Card("R²", number(score, 3), on)]
    if task == "selection" and study.subject.selector is not None:
        kept = study.subject.selector.support_
        return [Card(say("selection.kept"), say("machine.of", n=int(kept.sum()), all=len(kept)))]
    return []
