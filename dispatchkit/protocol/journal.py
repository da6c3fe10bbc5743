"""What registrations change, in which order, and how they are undone."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

from dispatchkit.locks import SectionLock
from dispatchkit.protocol.blocks import Block, Entered, innermost_state
from dispatchkit.protocol.types.declaration import Undo

# So many types may meet operations for the first time before every decision is forgotten, which keeps types alive.
NEW_TYPES = 100


class Meeting(NamedTuple):
    """Which decisions a registration can change: those of calls that hold one of some types.

    Attributes
    ----------
    types : a call holds an instance of one of them, or of a subclass
    where_left_out : of calls that leave an argument out, or give nothing in its place, those that hold one of these
    cache : holds all the decisions that can change; None where any may
    """

    types: Collection[type]
    where_left_out: Collection[type] = ()
    cache: Any = None


class Journal:
    """The registrations of a protocol: they invalidate decisions, and those of a block can be undone.

    Parameters
    ----------
    ancestors : gives the types that an instance of a type is one of, as far as registrations can be for them

    Attributes
    ----------
    generation : grows with every registration; a decision made before one is not kept after it
    lock : held while decisions are kept or forgotten
    loaders : load what a library declares when it is first used; those that have done so are left out
    """

    def __init__(self, ancestors: Callable[[type], Iterable[type]] = attrgetter("__mro__")) -> None:
        self.generation = 0
        self.lock = SectionLock()
        self.loaders: dict[Callable[[], None], None] = {}
        # The objects that hold decisions, which the next registration clears.
        self._caches: weakref.WeakSet[Any] = weakref.WeakSet()
        # The types that decisions were kept for, and how many of them since decisions were last forgotten.
        self._types: weakref.WeakSet[type] = weakref.WeakSet()
        self._new_types = 0
        # What those are one of that decisions are kept for now, and whether one is of a call that leaves something out.
        self._ancestors = ancestors
        self._met: weakref.WeakSet[type] = weakref.WeakSet()
        self._left_out = False
        self._blocks = innermost_state("local registrations", None, self._undo_all)

    def keep(self, cache: Any, generation: int, memory: dict[Any, Any], path: tuple[Any, ...], decision: Any) -> None:
        """Store a decision, unless something was registered since it began.

        A program that makes types and registers nothing has the decisions about them forgotten from time to time.

        Parameters
        ----------
        cache : the object that holds the memory, whose `clear` the next registration calls
        generation : when the decision began
        memory, path : a dictionary, of dictionaries where the path has several keys
        decision : what to store
        """

        def store() -> None:
            if generation != self.generation:
                return
            self._count_new_types(path)
            # First: after an interrupt the next registration must find whatever was stored.
            self._caches.add(cache)
            inner = memory
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = decision

        self.lock.run(store)

    def invalidate(self, meeting: Meeting | None = None) -> None:
        """Forget every decision, or those that a registration can change, and keep none that is being made.

        Parameters
        ----------
        meeting : which decisions can change; all by default
        """

        def forget() -> None:
            if meeting is None:
                self._forget()
            elif self._has_met(meeting):
                self._forget(meeting.cache)
            # Last: a thread that reads the new number finds the new registrations.
            self.generation += 1

        self.lock.run(forget)

    def forget(self, cache: Any) -> None:
        """Forget the decisions that one object holds, and do not keep those that are being made."""

        def clear() -> None:
            cache.clear()
            self.generation += 1

        self.lock.run(clear)

    def _forget(self, cache: Any = None) -> None:
        if cache is not None:
            cache.clear()
            return
        for kept in list(self._caches):
            kept.clear()
        self._caches.clear()
        self._new_types = 0
        self._met.clear()
        self._left_out = False

    def _has_met(self, meeting: Meeting) -> bool:
        """Return whether a decision is kept that a registration can change."""
        types = meeting.types
        if self._left_out:
            types = (*types, *meeting.where_left_out)
        return any(cls in self._met for cls in types)

    def _count_new_types(self, path: tuple[Any, ...]) -> None:
        """Note the types of a decision; forget every one before it once enough types are new."""
        types = set(_types_in(path))
        left_out = types & LEFT_OUT
        types -= left_out
        # Most are met already: a chain was kept for them before the first of its answers is.
        unmet: Collection[type] = [cls for cls in types if cls not in self._met]
        if unmet:
            new_types = [cls for cls in unmet if cls not in self._types]
            self._types.update(new_types)
            self._new_types += len(new_types)
            if self._new_types > NEW_TYPES:
                self._forget()
                unmet = types
            for cls in unmet:
                self._met.update(self._ancestors(cls))
        if left_out:
            self._left_out = True

    def make(self, *registrations: Callable[[], Undo], meeting: Meeting | None = None) -> None:
        """Make registrations; after an error, such as an interrupt, none of them is made.

        Parameters
        ----------
        *registrations : functions written in Python, after whose return no interrupt comes; each returns what undoes
            it, which may be called twice, and is undone itself where it raises
        meeting : which decisions they can change; all by default
        """
        undos: list[Undo] = []

        def register_all() -> None:
            for register in registrations:
                undos.append(register())  # noqa: PERF401  # after an interrupt the list has what was made so far

        try:
            self.lock.run(register_all)
            for undo in undos:
                self.on_undo(undo)
            self.invalidate(meeting)
        except BaseException:
            self._undo(undos)
            raise

    def on_undo(self, undo: Undo) -> None:
        """Record what undoes a registration, if a block of local registrations is open."""
        entered = self._blocks.entered_blocks()
        if entered:
            entered[-1][1].append(undo)

    def load_all(self) -> None:
        """Load what a library declares when it is first used, once."""
        while self.loaders:  # which may bring further ones
            load = next(iter(self.loaders))
            load()
            self.loaders.pop(load, None)

    def local_registrations(self) -> Block:
        """Return a block; what is registered inside is undone when it is left."""
        return _LocalRegistrations(self)

    def enter(self, block: Block) -> None:
        """Begin a block of local registrations."""
        self.load_all()  # what a library declares when it loads is not undone
        self._blocks.enter(block, [])

    def leave(self, block: Block) -> None:
        """Undo what was registered in a block; if others were entered since, the next of them does when it is left."""
        entered = self._blocks.entered_blocks()
        place = max((i for i, (other, _) in enumerate(entered) if other is block), default=None)
        if place is None:
            return
        undos = entered[place][1]
        if place + 1 < len(entered):
            entered[place + 1][1][:0] = undos
        elif undos:
            self._undo(undos)
        self._blocks.leave(block)

    def _undo(self, undos: list[Undo]) -> None:
        def undo_all() -> None:
            while undos:
                undos[-1]()
                undos.pop()

        self.lock.run(undo_all)
        self.invalidate()

    def _undo_all(self, entered: Entered) -> None:
        for _, undos in reversed(entered):
            self._undo(undos)


class _Nothing:
    """Stands in keys for the members of an empty sequence."""


# What keys have in the place of arguments that are left out, or of members of an empty sequence.
LEFT_OUT = frozenset({NoneType, _Nothing})


def _types_in(key: Any) -> Iterator[type]:
    """Yield the types in a key of decisions, which may hold tuples of them; of an empty one a type that says so."""
    if key == ():
        yield _Nothing
    elif isinstance(key, tuple):
        for entry in key:
            yield from _types_in(entry)
    elif isinstance(key, type):
        yield key


class _LocalRegistrations(Block):
    def __init__(self, journal: Journal) -> None:
        super().__init__(None, None, "local_registrations")  # type: ignore[arg-type]
        self._journal = journal

    def __enter__(self) -> None:
        self._journal.enter(self)

    def __exit__(self, *exception: object) -> None:
        self._journal.leave(self)
