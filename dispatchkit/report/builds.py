"""Findings as build servers read them: JUnit's tests, SARIF's results, and the annotations of GitHub's workflows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree as ET

from dispatchkit.report.documents import short_location

# Of a finding the check that found it, what it found, and file and line, "" where they are not known.
Found: TypeAlias = "tuple[str, str, str]"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://dispatchkit.github.io/dispatchkit/"


def junit(name: str, findings: Mapping[str, Sequence[str]], meanings: Mapping[str, str]) -> str:
    """Return findings in JUnit's format: a test for each check, which fails with all that it found.

    Parameters
    ----------
    name : of what was checked
    findings : texts by check
    meanings : of the checks
    """
    failed = sum(bool(texts) for texts in findings.values())
    suite = ET.Element("testsuite", name=name, tests=str(len(findings)), failures=str(failed))
    for check, texts in findings.items():
        case = ET.SubElement(suite, "testcase", classname=name, name=check)
        if texts:
            ET.SubElement(case, "failure", message=f"{len(texts)}: {meanings[check]}").text = "\n".join(texts)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def workflow_commands(found: Iterable[Found]) -> str:
    r"""Return findings as commands of GitHub's workflows, a line for each.

    >>> print(workflow_commands([("piracy", "f is for exp\nof another", "a,b.py:7")]), end="")
    ::error file=a%2Cb.py,line=7,title=piracy::f is for exp%0Aof another
    """
    lines = []
    for title, text, location in found:
        file, line = _file_and_line(location)
        properties = {"file": file, "line": line, "title": title}
        given = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items() if value)
        lines.append(f"::error {given}::{_escaped(text)}\n")
    return "".join(lines)


def _escaped(text: str, more: str = "") -> str:
    """Return a text as a command of a workflow has it."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def sarif(found: Iterable[Found], meanings: Mapping[str, str]) -> str:
    """Return findings in the Static Analysis Results Interchange Format, version 2.1.0.

    Parameters
    ----------
    found : the findings
    meanings : of all checks, by name
    """
    names = list(meanings)
    rules = [{"id": _rule_id(name), "name": name, "shortDescription": {"text": meanings[name]}} for name in names]
    results = []
    for check, text, location in found:
        result = {
            "ruleId": _rule_id(check),
            "ruleIndex": names.index(check),
            "level": "error",
            "message": {"text": text},
        }
        file, line = _file_and_line(location)
        if file:
            place = {"artifactLocation": _artifact(file), "region": {"startLine": line}}
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    version = sys.modules["dispatchkit"].__version__
    driver = {"name": "dispatchkit", "version": version, "informationUri": HOME, "rules": rules}
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(log, indent=1) + "\n"


def _rule_id(check: str) -> str:
    return check.replace(" ", "-")


def _artifact(file: str) -> dict[str, Any]:
    """Return where a file is: below the root of the sources, else anywhere."""
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": path.as_posix(), "uriBaseId": "%SRCROOT%"}


def _file_and_line(location: str) -> tuple[str, int]:
    """Return file and line of a location, below the current directory where it is there; "" and 0 for no file."""
    file, _, line = short_location(location).rpartition(":")
    if not file or not line.isdigit():
        return "", 0
    return file, max(int(line), 1)
