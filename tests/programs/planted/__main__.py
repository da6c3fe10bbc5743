"""Print which check finds each of 120 planted faults, with all checks: `python -m tests.programs.planted`.

Names of types after it limit it to these: ``python -m tests.programs.planted ring bits``. ``--thorough`` looks into all
calls, ``--table`` prints the table of the page.
"""

from __future__ import annotations

import argparse
import time

from dispatchkit.testing import Conformance
from tests.testing.planting import NAMES, Fault, check, faults, module_of, planted


def found(fault: Fault, *, thorough: bool) -> Conformance:
    """Return what all checks find of a type with a fault."""
    with planted(fault) as module:
        return check(module, thorough=thorough)


def main() -> None:
    """Run the checks, and print what they find."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    alarms = 0
    for name in options.names:
        start = time.process_time()
        alarm = check(module_of(name), thorough=options.thorough).failures
        alarms += bool(alarm)
        if not options.table:
            print(f"{name}: {len(alarm)} alarms, {time.process_time() - start:.1f} s", *alarm, sep="\n", flush=True)
    listed = [fault for fault in faults() if fault.module in options.names]
    missed = 0
    for fault in listed:
        failures = found(fault, thorough=options.thorough).failures
        checks = ", ".join(dict.fromkeys(failure.check for failure in failures))
        missed += not failures
        if options.table:
            print(
                f"| {fault.module} | `{fault.operation or 'type'}` | {fault.about} | {checks or 'nothing'} |",
                flush=True,
            )
        else:
            first = failures[0].call if failures else ""
            print(f"{checks or 'MISSED':<24} {fault.name}  {first}".rstrip(), flush=True)
    if not options.table:
        print(f"{len(listed) - missed} of {len(listed)} faults found, alarms on {alarms} right types")


if __name__ == "__main__":
    main()
