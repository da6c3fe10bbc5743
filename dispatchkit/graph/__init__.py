"""How derivatives flow: stored values, nodes, the sweep, and whether recording is on."""
