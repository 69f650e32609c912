"""``maxmargin info``: what a model file says."""

from __future__ import annotations

from maxmargin.cli import options as o

NAME = "info"
EXAMPLES = "Example:\n\n[cyan]maxmargin info credit.mm[/cyan]"


def run(model: o.Model, json: o.Json = False) -> None:
    """Say what a model file holds: model, columns, classes, certificate, versions."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli.saved import about

        said = about(model)
        notes = said.get("notes", {})
        schema = notes.get("schema") or {}
        screen.tell(path=model, about=said)
        screen.line("file", f"{model}: {model.stat().st_size} bytes, saved {said.get('saved')}")
        screen.line("model", " > ".join(said.get("model", [])))
        screen.line("settings", " ".join(str(said.get("parameters")).split()))
        if schema.get("target"):
            screen.line("target", f"{schema['target']} ({schema.get('task')})")
        if said.get("classes"):
            screen.line("classes", ", ".join(map(str, said["classes"])))
        names = said.get("feature_names")
        if names:
            screen.line("columns", ", ".join(names))
        certificate = said.get("certificate")
        if certificate:
            screen.line("proof", _proof(certificate))
        if notes.get("command"):
            screen.line("made by", notes["command"])
        screen.line("versions", ", ".join(f"{name} {number}" for name, number in said["versions"].items()))


def _proof(values: dict[str, object]) -> str:
    from maxmargin.problems.certificate import Certificate

    known = {name: value for name, value in values.items() if name in Certificate.__dataclass_fields__}
    return str(Certificate(**known)).removeprefix("Certificate: ")  # type: ignore[arg-type]  # as they were saved
