"""Programs that are run by themselves, by `nox`; their tests are in `tests/`, with all others."""
