"""Types that conformance checks are tested with: correct ones, and eighty with one fault each."""
