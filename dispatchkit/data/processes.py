"""Processes as the workers of a loader: each makes batches for one of the threads that wait for them.

Threads keep the order, the timeout and the number of batches ahead, as they do where they make the batches themselves.
"""

from __future__ import annotations

import io
import multiprocessing
import pickle
import signal
import threading
import time
import traceback
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from typing import Any

from dispatchkit.data.sources import END, GRACE, PREFIX, Source, Task
from dispatchkit.errors import DataLoaderError
from dispatchkit.graph.recording import grad_block, is_grad_enabled
from dispatchkit.marks import override
from dispatchkit.ops.creation.dtypes import get_default_dtype, set_default_dtype
from dispatchkit.protocol.blocks import reset_states

# The message that ends a process.
NO_MORE = b""
# One process at a time is started: one that is forked would keep open what another is to see closed.
_starting = threading.Lock()


def context_of(value: Any, num_workers: int) -> Any:
    """Return the context that the argument of a loader names; None for threads.

    Parameters
    ----------
    value : the argument
    num_workers : of the loader

    Raises
    ------
    ValueError : for another way to start processes than the system has, or without workers
    TypeError : if it is neither a string nor a context
    """
    if value is None:
        return None
    if not num_workers:
        raise ValueError("multiprocessing_context option could only be specified with num_workers > 0")
    if isinstance(value, BaseContext):
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"multiprocessing_context option should be a str or a context of multiprocessing, found {value!r} of class "
            f"{type(value).__name__}"
        )
    methods = multiprocessing.get_all_start_methods()
    if value not in methods:
        raise ValueError(f"multiprocessing_context option should be one of {str(methods)[1:-1]}, found {value!r}")
    return multiprocessing.get_context(value)


class Processes(Source):
    """A source whose batches are made in processes, one for each worker.

    Parameters
    ----------
    loader : whose batches they are
    source : of the batches, which each process gets a copy of
    context : to start them with
    """

    def __init__(self, loader: Any, source: Source, context: Any) -> None:
        super().__init__(loader)
        self.source, self.context = source, context
        self.processes: list[WorkerProcess] = []

    @override
    def start(self, workers: int) -> None:
        if multiprocessing.current_process().daemon:
            problem = "cannot be started in a process that ends with another: such have no processes of their own"
            raise DataLoaderError(self.name, "worker processes", problem)
        for number in range(workers):
            self.processes.append(WorkerProcess(self.source, number, self.context))

    @override
    def begin(self, worker: int) -> None:
        """Do nothing: the process prepares itself."""

    @override
    def batch(self, task: Task, worker: int = 0) -> Any:
        return self.processes[worker].batch(task)

    @override
    def end(self) -> None:
        super().end()
        for process in self.processes:
            process.end()
        until = time.monotonic() + GRACE
        for process in self.processes:
            process.wait(until)


class WorkerProcess:
    """A process that makes batches, and the connection to it.

    Parameters
    ----------
    source : of the batches
    number : of the worker
    context : to start the process with

    Raises
    ------
    DataLoaderError : if the source cannot be pickled, or the process not be started
    """

    def __init__(self, source: Source, number: int, context: Any) -> None:
        self.source, self.name = source, f"worker process {number}"
        self.busy = threading.Lock()
        self.has_answered = False
        with _starting:
            self.connection, other = context.Pipe()
            arguments = (other, Parcel(source.name, source), number, get_default_dtype())
            self.process = context.Process(target=serve, args=arguments, name=f"{PREFIX}_{number}", daemon=True)
            try:
                self.process.start()
            except DataLoaderError:
                raise
            except Exception as error:
                problem = f"cannot be started: {type(error).__name__}: {error}"
                raise DataLoaderError(source.name, self.name, problem) from error
            finally:
                other.close()

    def batch(self, task: Task) -> Any:
        """Return the batch of a task, or raise what was raised in the process."""
        try:
            message = _dump((task, bool(is_grad_enabled())))
        except Exception as error:
            problem = f"cannot be sent to a worker process: {type(error).__name__}: {error}"
            raise DataLoaderError(self.source.name, f"{task[0]!r}", problem) from error
        with self.busy:
            try:
                # A view of a buffer is what Python 3.13 finds in use where the pipe is broken.
                self.connection.send_bytes(bytes(message))
                answer = self.connection.recv_bytes()
            except (EOFError, OSError) as error:
                raise DataLoaderError(self.source.name, self.name, self._ending()) from error
            self.has_answered = True
        has_ended, batch, failure, cause = pickle.loads(answer)  # noqa: S301  # of a process of this one
        if failure is not None:
            raise failure from cause
        if has_ended:
            return END
        return batch

    def _exit_code(self, until: float) -> int | None:
        """Return the exit code, None where the process has not ended at a certain time.

        `join` with a time does not return where a process lives on that has closed its files, and another thread that
        waits may have got the code, and be about to note it.
        """
        while self.process.exitcode is None and time.monotonic() < until:
            time.sleep(0.005)
        code: int | None = self.process.exitcode
        return code

    def _ending(self) -> str:
        """Return how the process ended."""
        code = self._exit_code(time.monotonic() + GRACE)
        if code is None:
            return "closed its connection"
        text = f"ended with exit code {code}"
        if code < 0:
            text += f" ({signal.Signals(-code).name})"
        if code == 1 and not self.has_answered:
            text += (
                " before its first batch; its output says why. A script that starts processes runs its loop under "
                'if __name__ == "__main__":'
            )
        return text

    def end(self) -> None:
        """Have the process end, without waiting for it: at once where it makes a batch."""
        if not self.busy.acquire(blocking=False):
            self.process.terminate()
            return
        try:
            self.connection.send_bytes(NO_MORE)
        except OSError:  # it has ended, or closed its connection
            self.process.terminate()
        finally:
            self.busy.release()

    def wait(self, until: float) -> None:
        """Wait for the end of the process, and kill it at a certain time."""
        if self._exit_code(until) is None:
            self.process.kill()
            self._exit_code(time.monotonic() + GRACE)


class Parcel:
    """A source on its way to a process: itself where it is forked, else pickled, and unpickled when it is asked for.

    Parameters
    ----------
    name : of the data set's class
    source : that is sent
    data : its pickle, in the process that gets it
    """

    def __init__(self, name: str, source: Source | None, data: bytes = b"") -> None:
        self.name, self.source, self.data = name, source, data

    def __reduce__(self) -> Any:
        assert self.source is not None
        try:
            return Parcel, (self.name, None, bytes(_dump(self.source, by_value=True)))
        except Exception as error:
            problem = f"cannot be pickled for a worker process: {type(error).__name__}: {error}; "
            if _cloudpickle() is None:
                problem += "cloudpickle, where it is installed, sends functions and classes by value; "
            problem += "with multiprocessing_context=None the workers are threads, to which nothing is sent"
            raise DataLoaderError(self.name, _unpicklable_part(self.source), problem) from error

    def unpack(self) -> Source:
        """Return the source, or raise what kept it from being made again."""
        if self.source is None:
            try:
                self.source = pickle.loads(self.data)  # noqa: S301  # of the process that started this one
            except Exception as error:
                problem = f"cannot be made in a worker process: {type(error).__name__}: {error}"
                raise DataLoaderError(self.name, "the data set", problem) from error
            self.data = b""
        return self.source


def _unpicklable_part(source: Source) -> str:
    """Return which part of a source cannot be pickled."""
    for name in ("collate_fn", "worker_init_fn"):
        function = getattr(source, name)
        if not _is_picklable(function):
            return f"{name} {getattr(function, '__qualname__', type(function).__name__)}"
    for name, value in getattr(source.dataset, "__dict__", {}).items():
        if not _is_picklable(value):
            return f"the data set's attribute {name!r}"
    return "the data set"


def _is_picklable(value: Any) -> bool:
    try:
        _dump(value, by_value=True)
    except Exception:  # noqa: BLE001  # of the methods of the user's classes
        return False
    return True


def _cloudpickle() -> Any:
    try:
        return import_module("cloudpickle")
    except ImportError:
        return None


def _dump(value: Any, *, by_value: bool = False) -> Any:
    """Return bytes or a view of them: a pickle of a value by `multiprocessing`, or else by cloudpickle.

    Parameters
    ----------
    value : to be sent to another process
    by_value : whether cloudpickle comes first, where it is installed: what a notebook declares has a name that the
        other process does not know
    """
    cloudpickle = None
    if by_value:
        cloudpickle = _cloudpickle()
    if cloudpickle is not None:
        try:
            return cloudpickle.dumps(value)
        except Exception:  # noqa: BLE001  # locks and queues of multiprocessing are known to its own pickler alone
            return _forking_pickle(value)
    try:
        return _forking_pickle(value)
    except Exception:
        cloudpickle = _cloudpickle()
        if cloudpickle is None:
            raise
        return cloudpickle.dumps(value)


def _forking_pickle(value: Any) -> bytes:
    """Return a pickle by the pickler of multiprocessing, which knows its locks and queues.

    Its own `dumps` gives a view of a file, of whose end Python 3.15 says that it cannot be closed.
    """
    file = io.BytesIO()
    ForkingPickler(file).dump(value)
    return file.getvalue()


def serve(connection: Any, parcel: Parcel, number: int, dtype: Any) -> None:
    """Answer tasks with batches; what a worker process does.

    Parameters
    ----------
    connection : that tasks come by, with whether gradients are recorded, and that ends with `NO_MORE`
    parcel : the source of the batches
    number : of the worker
    dtype : the default one of the process that asks
    """
    # Ctrl-C reaches all processes of a terminal: the one that asks ends this one. No handler may outlive a fork.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_default_dtype(dtype)
    # One that is forked has the modes of the loop, which others do not get.
    reset_states()
    parent: Any = multiprocessing.parent_process()
    begun = False
    while True:
        # A forked process keeps the other end of its connection open itself, which so does not end with the parent.
        if connection not in wait([connection, parent.sentinel]):
            return
        try:
            message = connection.recv_bytes()
        except EOFError:
            return
        if message == NO_MORE:
            return
        try:
            task, records = pickle.loads(message)  # noqa: S301  # of the process that started this one
            source = parcel.unpack()
            with grad_block(records):
                if not begun:
                    begun = True
                    source.begin(number)
                batch = source.batch(task)
        except BaseException as error:  # noqa: BLE001  # it is raised where the batch is asked for
            answer = _failure(parcel.name, error, number)
        else:
            answer = _answer(parcel.name, batch)
        connection.send_bytes(answer)


def _answer(name: str, batch: Any) -> Any:
    """Return an answer with a batch, or with what kept it from being sent."""
    if batch is END:
        return _dump((True, None, None, None))
    try:
        return _dump((False, batch, None, None))
    except Exception as error:  # noqa: BLE001  # of the methods of the user's classes
        problem = f"cannot be sent by a worker process: {type(error).__name__}: {error}"
        return _dump((False, None, DataLoaderError(name, "a batch", problem), None))


def _failure(name: str, error: BaseException, number: int) -> Any:
    """Return an answer with an exception and its cause, which has the traceback as a note."""
    cause = error.__cause__
    note = f"In worker process {number}:\n{''.join(traceback.format_exception(error))}"
    (cause or error).add_note(note)
    try:
        answer = _dump((False, None, error, cause))
        pickle.loads(answer)  # noqa: S301  # some can be sent and not be made again
    except Exception:  # noqa: BLE001  # of the methods of the user's classes
        substitute = error
        if not isinstance(error, DataLoaderError):
            substitute = DataLoaderError(name, "a batch", f"raised {type(error).__name__}: {error}")
        substitute.__notes__ = [note]
        return _dump((False, None, substitute, None))
    return answer
