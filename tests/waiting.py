"""How long tests wait for threads and processes."""

# Seconds after which what a test waits for hangs: far more than it takes on a machine that does much else beside.
PATIENCE = 1800.0
