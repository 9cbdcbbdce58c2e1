"""Functions that create a pipeline: from files, from an object, from several pipelines, or from YAML."""

from __future__ import annotations

import copy
import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from unstarve import _core, notices
from unstarve.arguments import check_int, check_no_null, check_nonnegative, rank_and_world
from unstarve.errors import ArgumentError, InputError, IoError
from unstarve.loader import Loader
from unstarve.pipeline import Pipeline, StepHistory
from unstarve.spec_json import check_argument
from unstarve.steps.base import STEP_ORDER
from unstarve.steps.literals import IndexLocation
from unstarve.suggestions import suggesting
from unstarve.user_code.sources import FileSource, ObjectSource, concatenate
from unstarve.user_code.user_code import UserCode


@suggesting
def open(path: str | bytes | os.PathLike[str] | os.PathLike[bytes],  # noqa: A001  (un.open is the name people expect)
         split: str = "", *, labels: str | None = "", index: IndexLocation = "cache") -> Pipeline:
    """Opens a dataset of any supported format in place. Returns a pipeline over all samples in shuffled order.

    Issues a DataWarning for problems that do not prevent reading.

    Args:
        path: A folder of class folders, shards (a file, a glob, "train-{000..007}.tar", or their folder), CIFAR or
            MNIST binaries, a CSV or JSON-lines manifest, a URL (http(s)://, s3://, gs://, az://), or synthetic data
            ("synthetic:images=2000,size=32"). Names that are not UTF-8 are represented as by os.fsdecode().
        split: "train", "test", ... for data with splits; "" for everything.
        labels: The column, feature or archive member of the labels; "" selects it by its name (see the formats). None
            requests no labels: all labels are then -1. Integers are class numbers, texts are class names in sorted
            order. Data without labels, or with floats or several values per image, are an error in batch() unless
            labels=None is given.
        index: Where to store indexes of the data, which make the next opening fast: "cache", the user's cache folder
            ($XDG_CACHE_HOME/unstarve), or "next_to_data". Shards of `unstarve pack` have their indexes next to them.

    Raises:
        IoError: There is no such file.
        InputError: No format recognises the data.
        ArgumentError: `path` is not a path.

    Example:
        pipeline = un.open("photos/train").shuffle(seed=1).resize((64, 64))
    """
    try:
        path = os.fsdecode(path)
    except TypeError:
        raise ArgumentError(f"open: found {type(path).__name__}; expected the path of a dataset") from None
    check_no_null("open", path)
    if labels is not None and not isinstance(labels, str):
        raise ArgumentError(f"open(labels): found {labels!r}; expected the name of a column, or None")
    if index not in ("cache", "next_to_data"):
        raise ArgumentError(f"open(index): found {index!r}; expected 'cache' or 'next_to_data'")
    source = FileSource(path, split, "none" if labels is None else labels, "" if index == "cache" else index)
    dataset = source.open()
    notices.warn_pending()
    spec = {"path": source.spec_path, "split": split, **({"labels": source.labels} if source.labels else {}),
            **({"index": source.index} if source.index else {})}
    return Pipeline({"source": spec}, dataset, UserCode((source,), ((),)))


@suggesting
def from_source(source: Any, classes: Iterable[str] = (), *, concurrency: int = 1,
                labels: Literal[""] | None = "") -> Pipeline:
    """Returns a pipeline over an object that returns stored images, for example from a database or an HDF5 file.

    The library decodes encoded images without holding the global interpreter lock. With map() in worker processes the
    object must be picklable, and every process has its own copy. An exception of the object, or a label without a
    class, makes a bad sample (an InputError with the traceback) to which `errors` applies.

    Args:
        source: An object with __len__ and __getitem__. source[i] is an encoded image (bytes, or a one-dimensional uint8
            array) or pixels (a uint8 array (height, width, 3)), or a pair of that and an integer label. All samples
            must have the form of the first one, which this function reads.
        classes: Class names by label.
        concurrency: Number of calls of the object that may run at the same time, in different threads. Use more
            than 1 for thread-safe objects that wait, for example for a server.
        labels: None for samples without labels: all labels are then -1, and those of pairs are ignored.

    Raises:
        InputError: The source is empty, or its first sample has another form.
        ArgumentError: The object has no __len__ or __getitem__, or `classes` is a text.

    Example:
        images = [open(path, "rb").read() for path in paths]
        loader = un.from_source(list(zip(images, labels)), ["cat", "dog"]).resize((64, 64)).batch(32)
    """
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        raise ArgumentError(f"from_source: found {type(source).__name__}; expected an object with __len__ and "
                            "__getitem__")
    if isinstance(classes, str):
        raise ArgumentError(f"from_source(classes): found {classes!r}; expected a list of class names")
    if labels not in ("", None):
        raise ArgumentError(f"from_source(labels): found {labels!r}; expected None for samples without labels")
    own = ObjectSource(source, tuple(map(str, classes)), check_int("from_source(concurrency)", concurrency, 1),
                       labels is not None)
    spec = {"path": own.name, **({"labels": "none"} if labels is None else {})}
    return Pipeline({"source": spec}, own.open(), UserCode((own,), ((),)))


@suggesting
def mix(pipelines: Iterable[Pipeline], weights: Iterable[float] | None = None, *, epoch: int | None = None,
        earlier: Iterable[Iterable[float]] = ()) -> Pipeline:
    """Combines pipelines of open() or from_source(), with their filter() and take(), into one.

    Classes are merged by name. Without weights, an epoch contains every sample of every source once.

    Args:
        pipelines: The sources.
        weights: The share of each source. Samples come in blocks, of 64 or a few more for short weights, that contain
            exactly these shares (see `explain`). An exhausted source begins again, in another order and with new
            augmentation.
        epoch: Samples per epoch; by default the number of samples of all sources.
        earlier: The weights that the run had before its resume position, one list per change, in any order. Required by
            load_state_dict() if there are more than 8 sources, because the state does not contain them.

    Raises:
        ArgumentError: A pipeline has other steps, or the number of weights differs from that of pipelines.

    Example:
        un.mix([un.open("photos"), un.open("drawings")], weights=[3, 1]).shuffle().resize((64, 64)).batch(32)
    """
    if isinstance(pipelines, Pipeline):
        raise ArgumentError(f"mix: found {pipelines!r}; expected a list of pipelines")
    pipelines = list(pipelines)
    for one in pipelines:
        if not isinstance(one, Pipeline) or set(one._spec) != {"source"} or one._users.functions:
            raise ArgumentError(f"mix: found {one!r}; expected pipelines of open() or from_source() with filter() and "
                                "take() only")
    sources = [copy.deepcopy(one._spec["source"]) for one in pipelines]
    if weights is not None:
        for source, share in zip(sources, _check_shares("weights", weights, sources), strict=True):
            source["weight"] = share
    for k, before in enumerate(earlier):
        if weights is None:
            raise ArgumentError("mix(earlier): found without weights; expected the current weights too")
        for source, share in zip(sources, _check_shares(f"earlier[{k}]", before, sources), strict=True):
            source.setdefault("earlier_weights", []).append(share)
    spec: dict[str, Any] = {"mix": sources}
    if epoch is not None:
        spec["order"] = {"epoch": check_int("mix(epoch)", epoch, 1)}
    users = UserCode(tuple(source for one in pipelines for source in one._users.sources),
                     tuple(some for one in pipelines for some in one._users.predicates))
    dataset = (concatenate(users.sources, [one._dataset for one in pipelines]) if pipelines
               else _core.concatenate([], []))
    check_argument("mix", spec)
    set_by = {} if epoch is None else {"order.epoch": "mix"}
    return Pipeline(spec, dataset, users, StepHistory(STEP_ORDER["take"], "mix", set_by))


def _check_shares(what: str, weights: Iterable[float], sources: list[Any]) -> list[float]:
    if isinstance(weights, Mapping) or not isinstance(weights, Iterable):
        raise ArgumentError(f"mix({what}): found {weights!r}; expected a list of numbers, one per pipeline")
    shares = list(weights)
    if len(shares) != len(sources):
        raise ArgumentError(f"mix({what}): found {len(shares)} for {len(sources)} pipelines; expected one each")
    return [check_nonnegative(f"mix({what}[{i}])", share) for i, share in enumerate(shares)]


@suggesting
def from_yaml(text: str | os.PathLike[str], dataset: _core.Dataset | None = None) -> Loader:
    """Returns the Loader of a pipeline in YAML: from `to_yaml`, written by hand, or from `unstarve tune --out`.

    If RANK and WORLD_SIZE are set in the environment, they replace the rank in the text.

    Args:
        text: YAML, or the path of a YAML file: an os.PathLike, or a single line that ends in .yaml or .yml.
        dataset: An open dataset to use instead of the sources in the text.

    Raises:
        InputError: The YAML is invalid; the message names the node and the line.
        IoError: The file cannot be read.
        ArgumentError: `text` is neither a text nor a path.

    Example:
        loader = un.from_yaml("tuned.yaml")
    """
    text, name = _read_text(text)
    spec = json.loads(_core.read_document(text, name))
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        spec["order"]["rank"], spec["order"]["world"] = rank_and_world()
    if dataset is None:
        dataset = _core.open_sources(text, name)
        notices.warn_pending()
    return Loader(spec, dataset)


def _read_text(given: object) -> tuple[str, str]:
    """Returns the YAML that from_yaml() was given and the name of its file, or ""."""
    if not isinstance(given, str | os.PathLike):
        raise ArgumentError(f"from_yaml: found {type(given).__name__}; expected YAML as a str, or the path of a file. "
                            "Convert a dict by json.dumps().")
    if isinstance(given, str) and ("\n" in given or not given.endswith((".yaml", ".yml"))):
        return given, ""
    path = os.fsdecode(given)
    try:
        return pathlib.Path(path).read_text(encoding="utf-8"), path
    except UnicodeDecodeError as error:
        raise InputError(f"from_yaml: {path}: byte {error.start} is not UTF-8; expected YAML") from None
    except OSError as error:
        raise IoError(f"from_yaml: {path}: {error.strerror}") from None


def schema(of: Literal["pipeline", "settings"] = "pipeline") -> dict[str, Any]:
    """Returns a JSON schema (draft 2020-12): type, range, default and meaning of every node.

    Args:
        of: "pipeline": a pipeline in YAML, as `unstarve explain --schema`. "settings": a settings file of
            `unstarve train` with the sections pipeline, train and host, as `unstarve explain --settings-schema`.

    Raises:
        ArgumentError: `of` is another word.
    """
    if of not in ("pipeline", "settings"):
        raise ArgumentError(f"schema(of): found {of!r}; expected 'pipeline' or 'settings'")
    return cast("dict[str, Any]", json.loads(_core.schema() if of == "pipeline" else _core.settings_schema()))
