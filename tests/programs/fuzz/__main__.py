"""Run random programs against PyTorch; the exit status is 1 where some differ."""

import argparse
import sys
import time

import torch

import dispatchkit as dk

from .running import fuzz, pasteable


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many to run")
    parser.add_argument("--seed", type=int, default=0, help="of the first; that of each next one is one more")
    parser.add_argument("--length", type=int, default=25, help="largest number of steps of a program")
    given = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    report = fuzz(given.programs, given.seed, dk, torch, length=given.length)
    rate = report.programs / (time.process_time() - started)
    print(f"{report.programs} programs, {report.steps} steps, {rate:.0f} programs a second of processor time")
    print(f"{report.abandoned:6}  more programs were abandoned, as they did not run again as before")
    for text, count in report.refused.most_common():
        print(f"{count:6}  refused by {text}")
    print(f"{report.views:6}  retained gradients of views that were changed in place differ")
    for found in report.differences:
        print("\n" + pasteable(found))
    print(f"{len(report.differences)} differences")
    return bool(report.differences)


if __name__ == "__main__":
    sys.exit(main())
