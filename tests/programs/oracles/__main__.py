"""Make random calls on array types and on their specialists; the exit status is 1 where an unlisted one differs."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence

from .comparing import SORTS, pasteable
from .pair import Pair
from .pairs import PLACES, load
from .running import Found, run


def main() -> int:
    """Run the pairs that the command names."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.oracles", description=__doc__)
    parser.add_argument("--pair", choices=[*PLACES, "all"], default="all", help="of a type and its specialist")
    parser.add_argument("--calls", type=int, default=1000, help="how many to make of each pair")
    parser.add_argument("--seed", type=int, default=0, help="of the first; that of each next one is one more")
    parser.add_argument("--show", type=int, default=3, help="how many examples of a line and sort to print")
    parser.add_argument("--listed", action="store_true", help="print examples of what each entry of a list covers, too")
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
        if options.listed:
            for difference, found in report.listed.items():
                print(f"\n# listed: {difference.reason}")
                show_examples(report.pair, found, options.show)
        show_examples(report.pair, report.unlisted, options.show)
        for difference, found in report.listed.items():
            print(f"{len(found):6}  listed: {difference.reason}")
        print(report.summary())
        unlisted += len(report.unlisted)
    return int(unlisted > 0)


def show_examples(pair: Pair, differences: Sequence[Found], examples: int) -> None:
    """Print differences, the worst first: a few examples of each line and sort, and how often it was met."""
    shown: Counter[tuple[str, str]] = Counter()
    for difference in sorted(differences, key=lambda found: (SORTS.index(found.verdict.sort), found.case.template)):
        key = difference.verdict.sort, difference.case.template
        shown[key] += 1
        if shown[key] <= examples:
            print("\n" + pasteable(pair, difference.case, difference.verdict))
    print()
    for (sort, template), count in shown.most_common():
        print(f"{count:6}  {sort}: {template}")


if __name__ == "__main__":
    sys.exit(main())
