"""Make random calls of PyTorch and of dispatchkit in PyTorch's spelling; the exit status is 1 where some differ."""

import argparse
import importlib.util
import sys
from collections import Counter


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.fuzz.as_torch", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long")
    parser.add_argument("--calls", type=int, help="how many at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first call; that of each next one is one more")
    parser.add_argument("--only", help="a part of the names of the functions that are called")
    parser.add_argument("--shown", type=int, default=2, help="how many differences of a function and sort are shown")
    parser.add_argument("--half", action="store_true", help="make floating-point arrays of float16")
    dtypes = ("float32", "float64")
    parser.add_argument("--default", choices=dtypes, default="float64", help="the default dtype of both libraries")
    parser.add_argument("--changes", action="store_true", help="change arguments and results before backward passes")
    given = parser.parse_args()
    for name in ("torch", "expecttest"):
        if importlib.util.find_spec(name) is None:
            print(f"nothing is compared: the package {name} is not installed")
            return 0
    if given.changes:
        return show_changes(given.only or "")
    from .running import fuzz

    chosen = {"most": given.calls, "only": given.only, "half": given.half, "default": given.default}
    report = fuzz(given.seconds, given.seed, **chosen)
    shown: Counter[tuple[str, str]] = Counter()
    for found in sorted(report.unlisted, key=lambda found: (found.sort, found.call.path, found.call.form)):
        shown[found.sort, found.call.path] += 1
        if shown[found.sort, found.call.path] <= given.shown:
            print(f"{found.sort} | {found.call.path} | {found.text}\n    {found.call!r}"[:900])
    for call in report.slow:
        print(f"no end | {call!r}"[:600])
    for (sort, path), count in shown.most_common():
        print(f"{count:6}  {sort}: {path}")
    for entry, count in report.listed.most_common():
        print(f"{count:6}  listed: {', '.join(entry.sorts)} of {', '.join(entry.paths)[:60]}: {entry.reason}")
    print(", ".join(f"{count} {name}" for name, count in report.counts.most_common()))
    print(f"{report.calls} calls, {sum(report.listed.values())} listed differences, {len(report.unlisted)} not listed")
    return bool(report.unlisted)


def show_changes(only: str) -> int:
    """Show what differs where arguments and results are changed in place before gradients are taken."""
    from dispatchkit.as_torch.spelling import FUNCTIONS

    from .changes import differing_changes
    from .listed import entry_for

    listed: Counter[str] = Counter()
    unlisted: Counter[tuple[str, str]] = Counter()
    for found in differing_changes([path for path in FUNCTIONS if only in path]):
        entry = entry_for(found)
        if entry is not None:
            listed[entry.reason] += 1
            continue
        unlisted[found.sort, found.call.path] += 1
        if unlisted[found.sort, found.call.path] == 1:
            print(f"{found.sort} | {found.call.path} | {found.text[:400]}\n    {found.call!r}"[:900])
    for reason, count in listed.most_common():
        print(f"{count:6}  listed: {reason}")
    print(f"{listed.total()} listed differences, {unlisted.total()} not listed")
    return bool(unlisted)


if __name__ == "__main__":
    sys.exit(main())
