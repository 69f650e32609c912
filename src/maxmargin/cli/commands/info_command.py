"""``maxmargin info``: what a model file says."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.command_options import InfoOptions
from maxmargin.cli.saved_model import about
from maxmargin.cli.screen import Screen
from maxmargin.problems.certificate import Certificate


def run(options: InfoOptions, screen: Screen) -> None:
    """Model, columns, classes, certificate, versions."""
    said = about(options.model)
    notes = said["notes"]
    schema, rule = (_dictionary(notes.get(key)) for key in ("schema", "rule"))
    screen.tell(path=options.model, about=said)
    screen.line("file", f"{options.model}: {options.model.stat().st_size} bytes, saved {said['saved']}")
    facts = {
        "model": " > ".join(said["model"]),
        "settings": " ".join(said["parameters"].split()),
        "target": f"{schema.get('target')} ({schema.get('task')})" if schema.get("target") else None,
        "classes": ", ".join(map(str, said["classes"] or [])),
        "threshold": f"{rule.get('threshold')} ({rule.get('positive')})" if rule else None,
        "columns": ", ".join(said["feature_names"] or []),
        "proof": _proof(said["certificate"], screen),
        "made by": notes.get("command"),
        "report": f"{notes['report']} ({notes.get('run')})" if notes.get("report") else None,
        "versions": ", ".join(f"{name} {number}" for name, number in said["versions"].items()),
    }
    for label, text in facts.items():
        if text:
            screen.line(label, str(text))


def _dictionary(value: Any) -> dict[str, Any]:
    """The value if it is a dictionary: notes may hold anything."""
    return value if isinstance(value, dict) else {}


def _proof(values: dict[str, object] | None, screen: Screen) -> str | None:
    if not values:
        return None
    known = {name: value for name, value in values.items() if name in Certificate.__dataclass_fields__}
    return screen.parts(Certificate(**known).sentence)  # type: ignore[arg-type]  # as saved
