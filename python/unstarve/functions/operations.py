"""One function for each operation of the library, by its name: `un.solarize(image, threshold=100, p=1)`.

Names of other libraries work too: `un.flip`, `un.random_crop` and the others of unstarve.steps.operation_names.

The argument `p` is the parameter `probability` of specs; a function accepts both names.

Signatures and docstrings come from the library's table of operations. operations.pyi has them for type
checkers; `python -m unstarve.functions.stubs` writes it.
"""

from __future__ import annotations

import inspect
from typing import Any

from unstarve import _core
from unstarve.functions.single_image import apply, compiled, frozen
from unstarve.steps.image_operations import choices_text
from unstarve.steps.operation_names import FAMILIAR, spec_operation
from unstarve.suggestions import shown_value, unknown_argument

NAMES: tuple[str, ...] = tuple(name for name, _ in _core.operations())
_HELP = dict(_core.operations())

# Parameters that are a text in a spec, but may have another form here: {(operation, parameter): (type, description)}.
_TEXTS = {("one_of", "choices"): ("str | Choices", "names of operations, or (name, parameters) of each; or a text as "
                                                   'in a spec: "invert; 2 gaussian_blur sigma=0.1,2"')}

_ARGUMENTS = """
Args:
    image: Pixels or an encoded image, of which only the part that the operation reads is decoded; see
        unstarve.functions.
"""
_RANDOM = """    seed: Determines the result: a number, or (seed, epoch, sample) for that of a pipeline.
    generator: Generator to draw from: random.Random, numpy.random.Generator or torch.Generator. Without both
        arguments, the module `random` draws.
"""
_RESULT = """
Returns:
    uint8 (height, width, 3), or for a torch tensor uint8 (3, height, width).

Raises:
    ArgumentError: An argument is invalid.
    InputError: The encoded image is damaged.
    IoError: The file cannot be read.

Example:
    {example}
"""


def is_random(name: str) -> bool:
    """Returns whether an operation draws random numbers by default."""
    needed = {parameter: default or 8 for parameter, _, required, default, _ in _core.operation_parameters(name)
              if required}
    return compiled((frozen(name, needed),), "HWC").random


def signature_of(name: str) -> inspect.Signature:
    """Returns the signature of an operation's function; required parameters are positional."""
    if name in FAMILIAR:
        return _familiar_signature(name)
    kinds = inspect.Parameter
    help_ = _HELP[name].partition(": ")[2]
    listed = sorted(_core.operation_parameters(name), key=lambda row: help_.find(row[0]))
    first = [kinds("image", kinds.POSITIONAL_OR_KEYWORD, annotation="ArrayLike | torch.Tensor")]
    first += [kinds(parameter, kinds.POSITIONAL_OR_KEYWORD, annotation=_TEXTS.get((name, parameter), [type_])[0])
              for parameter, type_, required, *_ in listed if required]
    rest = [kinds("p" if parameter == "probability" else parameter, kinds.KEYWORD_ONLY, annotation=type_,
                  default=default)
            for parameter, type_, required, default, _ in listed if not required]
    if is_random(name):
        rest += [kinds("seed", kinds.KEYWORD_ONLY, annotation="Seed | None", default=None),
                 kinds("generator", kinds.KEYWORD_ONLY, annotation="Generator | None", default=None)]
    return inspect.Signature(first + rest, return_annotation="Array | torch.Tensor")


def _familiar_signature(name: str) -> inspect.Signature:
    """Returns the signature of the operation with the defaults and the positional argument of the other library."""
    signature = signature_of(FAMILIAR[name])
    known = dict(signature.parameters)
    kinds = inspect.Parameter
    if name == "random_crop":
        known["padding"] = known["padding"].replace(default=0)
    elif name == "random_rotation":
        known["interpolation"] = known["interpolation"].replace(default="nearest")
        known["degrees"] = known["degrees"].replace(kind=kinds.POSITIONAL_OR_KEYWORD, default=kinds.empty)
    elif name == "auto_augment":
        known["policy"] = kinds("policy", kinds.POSITIONAL_OR_KEYWORD, default="imagenet",
                                annotation='Literal["imagenet", "cifar10", "svhn"]')
    ordered = sorted(known.values(), key=lambda parameter: parameter.kind)  # stable
    return signature.replace(parameters=ordered)


def _docstring(name: str, signature: inspect.Signature) -> str:
    if name in FAMILIAR:
        return f"As un.{FAMILIAR[name]}, by the name and with the defaults that other libraries have.\n"
    summary = _HELP[name].partition(": ")[0]
    values = {parameter: _TEXTS.get((name, parameter), ["", text])[1]
              for parameter, _, _, _, text in _core.operation_parameters(name)}
    if "probability" in values:
        values["p"] = values.pop("probability")
    lines = "".join(f"    {parameter}: {values[parameter][0].upper()}{values[parameter][1:]}.\n"
                    for parameter in signature.parameters if parameter in values)
    required = ", 224" if "size" in signature.parameters else ""
    return (f"{summary[0].upper()}{summary[1:]}.\n" + _ARGUMENTS + lines
            + (_RANDOM if "seed" in signature.parameters else "")
            + _RESULT.format(example=f'changed = un.{name}("photo.jpg"{required})'))


def _misuse(name: str, signature: inspect.Signature, args: tuple[Any, ...], given: dict[str, Any],
            error: TypeError) -> TypeError:
    """Returns the error of a call that does not fit the signature; `error` is that of bind()."""
    known = list(signature.parameters)
    positional = [key for key, one in signature.parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    more, named = args[len(positional):], known[len(positional):]
    if more:
        by_name = ", ".join(map(shown_value, named, more))
        return TypeError(f"{name}(): found {len(args)} positional arguments; expected {len(positional)}: "
                         f"{', '.join(positional)}" + (f". Pass the others by name: {by_name}." if named else ""))
    for key, value in given.items():
        if key not in known:
            return unknown_argument(name, key, value, known, {})
    return TypeError(f"{name}(): {error}; expected {', '.join(positional)}")


def _function(name: str) -> Any:
    signature = signature_of(name)

    def function(*args: Any, **given: Any) -> Any:
        if "probability" in given and "p" in signature.parameters and "p" not in given:
            given["p"] = given.pop("probability")
        try:
            parameters = signature.bind(*args, **given).arguments
        except TypeError as error:
            raise _misuse(name, signature, args, given, error) from None
        image = parameters.pop("image")
        for key, value in parameters.items():
            if (name, key) in _TEXTS and not isinstance(value, str):
                parameters[key] = choices_text(value)
        seed, generator = parameters.pop("seed", None), parameters.pop("generator", None)
        if "p" in parameters:
            parameters["probability"] = parameters.pop("p")
        operation = name
        if name in FAMILIAR:
            operation, parameters = spec_operation(name, parameters)
        return apply(operation, image, parameters, seed, generator)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = _docstring(name, signature)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def __getattr__(name: str) -> Any:
    if name not in _HELP and name not in FAMILIAR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _function(name)
    return made


def __dir__() -> list[str]:
    return sorted(NAMES)
