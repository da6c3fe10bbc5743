"""What all tests share: how many examples Hypothesis tries."""

import os

from hypothesis import settings

# Every run of "quick" tries the same examples, so that a failure seen by CI is seen on a laptop.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
