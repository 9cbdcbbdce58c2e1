"""Exceptions and warnings of unstarve: one class per kind of failure, each also the built-in exception it resembles.

A message names the operation, the object (path, record, node of the spec), what was found and what was expected.

    try:
        pipeline = un.open("photos/train")
    except un.errors.IoError as error:  # also an OSError
        print(error)
"""


class DataWarning(UserWarning):
    """A problem that does not stop the run, for example an index that could not be cached.

    A warning about data is issued once per process; `loader.notes` lists those of one dataset. Silence them with
    `warnings.simplefilter("ignore", un.DataWarning)`.
    """


class Error(Exception):
    """Base class of all exceptions of unstarve."""


class ArgumentError(Error, ValueError):
    """An invalid request: an unknown option, a value out of range, steps in the wrong order."""


class InputError(Error, ValueError):
    """Invalid data: a damaged record, a spec that does not parse."""


class IoError(Error, OSError):
    """An operation of the operating system failed: file missing or unreadable, disk full, connection lost."""


class OutOfMemoryError(Error, MemoryError):
    """The memory limit or the memory of the machine is exhausted."""


class MissingError(Error, RuntimeError):
    """A component that this build or this machine does not have."""


class MissingPackageError(ImportError, MissingError):
    """A Python package that is not installed. The message contains the command that installs it."""


class CheckError(Error, RuntimeError):
    """A requested check failed."""


class CancelledError(Error, RuntimeError):
    """The operation was stopped by the user or by close()."""


class InternalError(Error, RuntimeError):
    """A defect of unstarve."""
