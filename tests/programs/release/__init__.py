"""Makes a release: the version and its changelog, then the distributions, checked; ``nox -s release``.

`steps` prepares a version in a checkout. `distributions` builds what is uploaded, from a copy of the commit in which
the addresses of repository and site are those of the place that publishes.
"""
