"""Raise errors at each line that scenarios come to; the exit status is 1 where something is half changed."""

import argparse
import sys

from .injection import ERRORS
from .running import faults, lines_of
from .scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.faults", description=__doc__)
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="one of them, all by default")
    parser.add_argument("--stride", type=int, default=1, help="from one line to the next that is tried")
    given = parser.parse_args()
    count = total = 0
    for name in given.scenario or SCENARIOS:
        lines = lines_of(name)
        found = [fault for error in ERRORS for fault in faults(name, error, range(1, lines + 1, given.stride))]
        places = {(fault.place, fault.text[:60]): fault for fault in found}
        for fault in places.values():
            print(fault)
        tried = len(ERRORS) * len(range(1, lines + 1, given.stride))
        print(f"{name}: {lines} lines, {tried} errors, {len(found)} faults", flush=True)
        count, total = count + len(found), total + tried
    print(f"{total} errors, {count} faults")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
