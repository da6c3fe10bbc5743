"""The directive `measured`: a table of the figures on a topic in docs/measured.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from plots import recorded
from sphinx.util.docutils import SphinxDirective


def words(ratio: float) -> str:
    """Return a ratio of times, dispatchkit's by the other's, as one says it."""
    times = max(ratio, 1 / ratio)
    return f"{times:.{1 if times < 10 else 0}f} times {'faster' if ratio < 1 else 'slower'}"


class Measured(SphinxDirective):
    """What dispatchkit's time is by that of its references, for each row on the topic that the argument names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (topic,) = self.arguments
        record = recorded(Path(self.env.srcdir).parent)
        record = record.get(topic, record)
        rows = [row for row in record["rows"] if row["topic"] == topic]
        if topic == "cores":
            lines = ["| work | beside | pure | compiled |", "| --- | --- | --- | --- |"]
            lines += [
                f"| {row['work']} | {row['reference']} | {row['pure']:.2g} | {row['compiled']:.2g} |" for row in rows
            ]
        else:
            lines = ["| work | dispatchkit is | than | its time by the other's |", "| --- | --- | --- | --- |"]
            lines += [
                f"| {row['work']} | {words(row['ratio'])} | {row['reference']} | {row['ratio']:.2g} |" for row in rows
            ]
        return self.parse_text_to_nodes("\n".join([*lines, "", f"{record['date']}: {record['versions']}"]))


def setup(app: Any) -> dict[str, bool]:
    """Name the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
