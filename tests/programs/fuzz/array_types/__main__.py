"""Run random programs over the array types, each step on dense forms, too; the exit status is 1 where some differ."""

import argparse
import sys
import time

from .derivatives import fuzz_derivatives
from .running import Report, fuzz, pasteable
from .values import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.fuzz.array_types", description=__doc__)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all", help="of the instances")
    parser.add_argument("--programs", type=int, default=1000, help="how many to run of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first; that of each next one is one more")
    parser.add_argument("--length", type=int, default=8, help="largest number of steps of a program")
    parser.add_argument("--derivatives", action="store_true", help="compare derivatives instead of values")
    given = parser.parse_args()
    started = time.process_time()
    compare = fuzz_derivatives if given.derivatives else fuzz
    report = Report()
    for kind in KINDS if given.kind == "all" else [given.kind]:
        compare(kind, given.programs, given.seed, length=given.length, report=report)
    rate = report.programs / (time.process_time() - started)
    for found in report.differences:
        print("\n" + pasteable(found))
    for text, count in report.dtypes.most_common():
        print(f"{count:6}  dtype alone: {text}")
    for text, count in report.refused.most_common():
        print(f"{count:6}  refused: {text}")
    print(f"{report.programs} programs, {report.steps} steps, {rate:.0f} programs a second of processor time")
    print(f"{len(report.differences)} differences, {sum(report.dtypes.values())} of dtypes alone")
    return bool(report.differences)


if __name__ == "__main__":
    sys.exit(main())
