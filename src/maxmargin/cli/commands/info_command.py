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
        from maxmargin.io import printable

        def line(label: str, text: object) -> None:
            screen.line(label, printable(text))  # a file may hold control characters

        said = about(model)
        notes = said["notes"]
        schema = notes.get("schema")
        screen.tell(path=model, about=said)
        line("file", f"{model}: {model.stat().st_size} bytes, saved {said['saved']}")
        line("model", " > ".join(said["model"]))
        line("settings", " ".join(said["parameters"].split()))
        if isinstance(schema, dict) and schema.get("target"):
            line("target", f"{schema['target']} ({schema.get('task')})")
        if said["classes"]:
            line("classes", ", ".join(map(str, said["classes"])))
        if said["feature_names"]:
            line("columns", ", ".join(said["feature_names"]))
        if said["certificate"]:
            line("proof", _proof(said["certificate"]))
        if notes.get("command"):
            line("made by", notes["command"])
        line("versions", ", ".join(f"{name} {number}" for name, number in said["versions"].items()))


def _proof(values: dict[str, object]) -> str:
    from maxmargin.problems.certificate import Certificate

    known = {name: value for name, value in values.items() if name in Certificate.__dataclass_fields__}
    return str(Certificate(**known)).removeprefix("Certificate: ")  # type: ignore[arg-type]  # as they were saved
