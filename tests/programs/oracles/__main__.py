"""Make random calls on array types and on their specialists; the exit status is 1 where an unlisted one differs."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import Counter

from .comparing import SORTS, pasteable
from .pairs import PLACES, load
from .running import Report, run


def main() -> int:
    """Run the pairs that the command names."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.oracles", description=__doc__)
    parser.add_argument("--pair", choices=[*PLACES, "all"], default="all", help="of a type and its specialist")
    parser.add_argument("--calls", type=int, default=1000, help="how many to make of each pair")
    parser.add_argument("--seed", type=int, default=0, help="of the first; that of each next one is one more")
    parser.add_argument("--show", type=int, default=3, help="how many examples of a line and sort to print")
    options = parser.parse_args()
    names = [options.pair]
    if options.pair == "all":
        names = list(PLACES)
    unlisted = 0
    for name in names:
        pair = load(name)
        missing = [package for package in pair.needs if importlib.util.find_spec(package) is None]
        if missing:
            print(f"{name}: passed over, as {', '.join(missing)} is not installed")
            continue
        report = run(pair, range(options.seed, options.seed + options.calls))
        show(report, options.show)
        unlisted += len(report.unlisted)
    return int(unlisted > 0)


def show(report: Report, examples: int) -> None:
    """Print a report: the worst differences first, a few examples of each."""
    shown: Counter[tuple[str, str]] = Counter()
    for difference in sorted(report.unlisted, key=lambda entry: (SORTS.index(entry.verdict.sort), entry.case.template)):
        key = difference.verdict.sort, difference.case.template
        shown[key] += 1
        if shown[key] <= examples:
            print("\n" + pasteable(report.pair, difference.case, difference.verdict))
    print()
    for (sort, template), count in shown.most_common():
        print(f"{count:6}  {sort}: {template}")
    for reason, count in report.listed.most_common():
        print(f"{count:6}  listed: {reason}")
    print(report.summary())


if __name__ == "__main__":
    sys.exit(main())
