"""Where a pipeline begins: data that are opened, several mixed into one, or a pipeline that was written down."""

from __future__ import annotations

import copy
import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any, cast

from unstarve import _core, notices
from unstarve.arguments import number, rank_and_world, whole
from unstarve.errors import ArgumentError, InputError, IoError
from unstarve.loader import Loader
from unstarve.pipeline import PLACES, Pipeline
from unstarve.sources import Files, Object, joined
from unstarve.spec_text import spec_text
from unstarve.users import UserCode


def open(path: str | bytes | os.PathLike[str] | os.PathLike[bytes],  # noqa: A001  (un.open is the name people expect)
         split: str = "") -> Pipeline:
    """Opens a data set in place, whatever its format, and begins a pipeline over all its samples in shuffled order.

    path: a folder of classes, shards (a file, a glob, "train-{000..007}.tar", a folder of them), CIFAR or MNIST
        binaries, a CSV or JSON-lines manifest, an http(s)://, s3:// or gs:// URL, or "synthetic:images=2000,size=32".
        Names that are no UTF-8 come as os.fsdecode() gives them, and so do those of classes and in messages.
    split: "train", "test", ... of data that have splits; "" for everything.

    Raises IoError when nothing is there, InputError when nothing recognises it, ArgumentError when `path` is none.
    Warns (DataWarning) of what is odd about data that can be read.
    """
    try:
        path = os.fsdecode(path)
    except TypeError:
        raise ArgumentError(f"open: found {type(path).__name__}, expected the path of the data") from None
    source = Files(path, split)
    dataset = source.open()
    notices.warn()
    return Pipeline({"source": {"path": source.written, "split": split}}, dataset, UserCode((source,), ((),)))


def from_source(source: Any, classes: Iterable[str] = (), *, at_once: int = 1) -> Pipeline:
    """Begins a pipeline over an object of yours that gives images as they are stored: of a database, an HDF5 file.

    source: has __len__ and __getitem__; source[i] is an encoded image (bytes, or a one-dimensional uint8 array) or
        pixels (a uint8 array (height, width, 3)), alone or in a pair with its label, a whole number. All alike the
        first, which is asked for here. Encoded images are decoded by the library, without Python's lock.
    classes: names of the labels 0, 1, ...
    at_once: how many calls may run at the same time, in several threads of the loader; more than 1 for an object that
        is made for it and waits, for a server say, rather than computes.

    With map() in helper processes it must be picklable; each process then has its own. What source[i] raises is an
    InputError with its traceback, which `errors` may skip or replace; so is a label that is none of the classes. Raises
    InputError for a source without samples or whose first sample is neither, ArgumentError for an object that is no
    source.
    """
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        raise ArgumentError(f"from_source: {type(source).__name__} has no __len__ and __getitem__")
    own = Object(source, tuple(map(str, classes)), whole("from_source(at_once)", at_once, 1))
    return Pipeline({"source": {"path": own.name}}, own.open(), UserCode((own,), ((),)))


def mix(pipelines: Iterable[Pipeline], weights: Iterable[float] | None = None, *, epoch: int | None = None,
        earlier: Iterable[Iterable[float]] = ()) -> Pipeline:
    """Several pipelines of `open`, with their `filter` and `take`, as one. Classes are merged by name.

    weights: the sources' shares, one number each. The samples come in blocks, of 64 or some more for weights of a few
        digits, in which each source has its share exactly (`explain` tells the numbers); a source that is through
        begins anew, in another order and augmented anew. Without weights all samples of all sources come once an epoch.
    epoch: samples of an epoch; as many as all sources together where it is left out.
    earlier: weights that a run had before it went on with these, one list for each change, in any order. A state of
        more than 8 sources names them only, and load_state_dict() asks for them.

    Raises ArgumentError for other pipelines, and for weights that are not one for each.
    """
    if isinstance(pipelines, Pipeline):
        raise ArgumentError(f"mix: found {pipelines!r}, expected a list of pipelines")
    pipelines = list(pipelines)
    for one in pipelines:
        if not isinstance(one, Pipeline) or set(one._spec) != {"source"}:
            raise ArgumentError(f"mix: found {one!r}, expected pipelines of open() or from_source(), filter() and "
                                "take() alone")
    sources = [copy.deepcopy(one._spec["source"]) for one in pipelines]
    if weights is not None:
        for source, share in zip(sources, _shares("weights", weights, sources), strict=True):
            source["weight"] = share
    for k, before in enumerate(earlier):
        if weights is None:
            raise ArgumentError("mix(earlier): expected weights= with it, those that hold from now on")
        for source, share in zip(sources, _shares(f"earlier[{k}]", before, sources), strict=True):
            source.setdefault("earlier_weights", []).append(share)
    spec: dict[str, Any] = {"mix": sources}
    if epoch is not None:
        spec["order"] = {"epoch": whole("mix(epoch)", epoch, 1)}
    users = UserCode(tuple(source for one in pipelines for source in one._users.sources),
                     tuple(some for one in pipelines for some in one._users.predicates))
    dataset = joined(users.sources, [one._dataset for one in pipelines]) if pipelines else _core.concatenate([], [])
    _core.check(spec_text(spec))
    return Pipeline(spec, dataset, users, PLACES["take"], "mix", {} if epoch is None else {"order.epoch": "mix"})


def _shares(what: str, weights: Iterable[float], sources: list[Any]) -> list[float]:
    shares = list(weights)
    if len(shares) != len(sources):
        raise ArgumentError(f"mix: found {len(shares)} {what} for {len(sources)} pipelines, expected one each")
    return [number(f"mix({what}[{i}])", share) for i, share in enumerate(shares)]


def from_yaml(text: str | os.PathLike[str], dataset: _core.Dataset | None = None) -> Loader:
    """The Loader of a pipeline's YAML: what `to_yaml` wrote, one written by hand, or of settings, as `unstarve tune
    --out` writes them, the pipeline.

    text: YAML, or the path of a file of it: an os.PathLike, or a text of one line that ends in .yaml or .yml.
    dataset: the open data, for callers that have them; by default those that the text names are opened.

    Under a launcher (RANK and WORLD_SIZE in the environment) those count, whatever rank the text was written by.

    InputError names a wrong node and its line; IoError for a file that cannot be read, ArgumentError for what is
    neither text nor path.
    """
    text, name = _document(text)
    spec = json.loads(_core.read_document(text, name))
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        spec["order"]["rank"], spec["order"]["world"] = rank_and_world()
    if dataset is None:
        dataset = _core.open_sources(text, name)
        notices.warn()
    return Loader(spec, dataset)


def _document(given: object) -> tuple[str, str]:
    """What from_yaml() takes, as YAML and the name of its file, "" for none."""
    if not isinstance(given, str | os.PathLike):
        raise ArgumentError(f"from_yaml: found {type(given).__name__}, expected YAML as a str, or a file's path; a "
                            "dict is YAML by json.dumps()")
    if isinstance(given, str) and ("\n" in given or not given.endswith((".yaml", ".yml"))):
        return given, ""
    path = os.fsdecode(given)
    try:
        return pathlib.Path(path).read_text(encoding="utf-8"), path
    except UnicodeDecodeError as error:
        raise InputError(f"from_yaml: {path}: found a byte at {error.start} that is no UTF-8, expected YAML") from None
    except OSError as error:
        raise IoError(f"from_yaml: {path}: {error.strerror}") from None


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a pipeline's YAML: every node with its type, range, default and meaning.

    It is made of what reads and checks pipelines. `unstarve explain --schema` prints the same.
    """
    return cast("dict[str, Any]", json.loads(_core.schema()))
