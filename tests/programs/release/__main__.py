"""Prepare a release, put addresses into a checkout, or build what is uploaded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .distributions import build_all, tracked
from .steps import ADDRESSES, Addresses, ReleaseError, prepare

ROOT = Path.cwd()


def main() -> int:
    """Run the step that the command names."""
    parser = argparse.ArgumentParser(prog="nox -s release --", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    one = steps.add_parser("prepare", help="write a version into the package, the changelog and the list of versions")
    one.add_argument("version", help="such as 0.2.0")
    two = steps.add_parser("addresses", help="put the addresses of another repository and site into the checkout")
    three = steps.add_parser("build", help="build the distributions of the last commit into a folder, and check them")
    three.add_argument("--out", type=Path, default=Path("dist"), help="the folder; what is in it goes")
    three.add_argument("--tag", help="that of the commit, which has to be that of the version")
    for step in (two, three):
        step.add_argument("--repository", default=ADDRESSES.repository, help="address of the repository")
        step.add_argument("--site", default=ADDRESSES.site, help="address of the documentation")
    options = parser.parse_args()
    try:
        if options.step == "prepare":
            prepare(ROOT, options.version)
            print(
                f"Read docs/changelog.md, commit, and tag the commit v{options.version}: a push of the tag publishes."
            )
        elif options.step == "addresses":
            for path in Addresses(options.repository, options.site).put_into(ROOT, tracked(ROOT)):
                print(path)
        else:
            addresses = Addresses(options.repository, options.site)
            for path in build_all(ROOT, options.out.absolute(), addresses, options.tag):
                print(f"{path.stat().st_size / 1024:8.0f} KiB  {path.name}")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
