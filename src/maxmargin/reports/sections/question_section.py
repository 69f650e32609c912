"""The question, the model, and the rows on which it is judged."""

from __future__ import annotations

from maxmargin.reports.blocks import BulletList, Section, Text
from maxmargin.reports.study import Study


def question(study: Study) -> Section:
    """The question, the target, how the model was chosen, and on which rows it is judged."""
    say = study.say
    blocks: list[object] = [Text(study.question)] if study.question else []
    points = [_task(study), _family(study)]
    tuning = study.subject.tuning
    if tuning is not None:
        points.append(
            say(
                "asked.tuned" if len(tuning.table) > 1 else "asked.tuned_one",
                cells=len(tuning.table),
                folds=tuning.folds.shape[1],
                names=", ".join(study.words.option(name) for name in tuning.params[0]),
                measure=study.words.measure(tuning.measure),
            )
        )
    points.append(_judged(study))
    if study.threshold is not None:
        threshold = study.words.number(study.threshold, 3)
        positive = study.evaluation.confusion.positive
        points.append(say("asked.threshold", threshold=threshold, positive=positive))
    return Section("asked", say("asked.title"), [*blocks, BulletList(points)])


def _task(study: Study) -> str:
    task, say = study.subject.task, study.say
    target = study.target or say("asked.the_target")
    values = {"target": target, "p": len(study.variables) or "?", "n": len(study.known)}
    if task == "classification":
        shown = study.shown_classes
        classes = ", ".join(shown) if len(shown) <= 12 else f"{', '.join(shown[:12])}, …"
        return say("asked.classification", classes=classes, k=len(shown), **values)
    return say(f"asked.{task}", **values)


def _family(study: Study) -> str:
    model = type(study.subject.final).__name__
    kernel = getattr(study.subject.final, "kernel_", None)
    if kernel is None:
        return study.say("asked.model", model=model)
    return study.say("asked.kernel", model=model, kernel=study.words.kernel(kernel))


def _judged(study: Study) -> str:
    if study.subject.task == "selection":
        return study.say("asked.selected", n=len(study.known))
    key = "asked.held_out" if study.held_out else "asked.same_rows"
    return study.say(key, n=len(study.evaluated))
