"""What unstarve raises: one class per kind of failure, each also the built-in exception that people would catch.

A message names the operation, the object (path, record, node of the spec), what was found and what was expected.
What does not fail anything is a DataWarning.
"""


class DataWarning(UserWarning):
    """What is odd and fails nothing. Of data: an index that could not be kept, say; each is told once in a process, and
    `loader.notes` has those of one data set. Of a loop: that it waits for itself, keeping all batches that memory_limit
    has room for. Silence them by warnings.simplefilter("ignore", un.DataWarning)."""


class Error(Exception):
    """Base of all of them."""


class ArgumentError(Error, ValueError):
    """The request makes no sense: an unknown option, a value out of range, a wrong order of steps."""


class InputError(Error, ValueError):
    """Data that was read is not what it should be: a damaged record, a spec that does not parse."""


class IoError(Error, OSError):
    """The operating system refused: missing, unreadable, disk full, connection lost."""


class OutOfMemoryError(Error, MemoryError):
    """A budget or the machine's memory is exhausted."""


class MissingError(Error, RuntimeError):
    """A component that this build or machine does not have."""


class MissingPackageError(ImportError, MissingError):
    """A Python package that is not installed; the message has the command that installs it."""


class CheckError(Error, RuntimeError):
    """A check that was asked for failed."""


class CancelledError(Error, RuntimeError):
    """Stopped by the user or by close()."""


class InternalError(Error, RuntimeError):
    """A defect of unstarve itself."""
