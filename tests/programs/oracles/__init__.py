"""Random calls on an array type, each made on the library of its field, too.

Dense forms are one oracle of an array type, and they share the library's code. Here the other is the specialist: units
are compared with astropy and Pint, masks with `numpy.ma`, and so on. A *pair* is an array type and its specialist. A
call is a line of Python such as ``np.sum(x, axis=0)``, run once with an ``x`` of ours and once with one of theirs.

``python -m tests.programs.oracles --pair masked-numpy --calls 20000 --seed 0`` sorts what it finds: the unit or the
mask, the value, the shape, the dtype, calls that ours alone refuses, and calls that theirs alone refuses. It prints
each difference as a program to paste. Those that are meant stand in ``listed/NAME.toml`` with their reason, which the
page ``docs/differences.md`` shows; any other makes the exit status 1.

To add a pair, write a class that derives from `Pair` (`pairs/masked_numpy.py` is an example), name its module in
`pairs.PLACES`, and run it. A difference that is a fault is mended; one that is meant gets an entry in the list.
"""
