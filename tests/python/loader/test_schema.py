"""The JSON schema of pipelines accepts what the library accepts, and both name what they reject."""

import json
import random
import re
from pathlib import Path

import pytest
import yaml

import unstarve as un
from unstarve import _core

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = un.schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SMALL = "synthetic:classes=10,images=60,size=32,seed=1"


def said(spec):
    """The library's error for a spec; None if it is valid."""
    try:
        _core.check(json.dumps(spec))
    except un.Error as error:
        return str(error)
    return None


def chains():
    start = un.open(SMALL).shuffle(seed=(1 << 64) - 1)
    yield start
    yield un.open(SMALL).sequential().shard(2, 5).decode(max_pixels=10_000).passes(
        crop_into_decode=False, scale_into_decode=True)
    yield start.random_resized_crop(24, scale=(0.1, 0.9)).flip(0.3).normalize(*un.CIFAR10)
    yield start.resize(20).center_crop(16).pad_crop(16, padding=2).resize((8, 9)).output("bfloat16", "NHWC")
    yield start.resize(20, interpolation="bicubic", antialias=False).rotation(interpolation="nearest").center_crop(16)
    yield start.random_resized_crop(un.schedule({0: 16, 4: 24}, between="linear", multiple=4)).rand_augment(
        magnitude=un.schedule({0: 2, 9: 20}))
    yield start.one_hot().label_smoothing().mixup(p=0.5).cutmix()
    yield un.open(SMALL).filter([1, 2], min_side=8, max_aspect=3).take(9).shuffle(window=5).repeat(2)
    yield un.open(SMALL).balance({1: 2.5}, epoch=70).shuffle(1)
    yield un.mix([un.open(SMALL).filter(drop_labels=1), un.open(SMALL)], [0.25, 3], epoch=99)
    yield start.cache("pixels", folder="kept", limit_mb=7, after=2).errors("replace", limit=3, rate=0.5)
    yield start.center_crop(16).device("cuda:1", operations="device", decode="gpu_hybrid", decode_share=0.3)
    yield start.options(threads=3, prefetch=0, read_ahead=-1).passes(cache=False, scan_index=True)


def test_steps_produce_valid_specs():
    for chain in chains():
        for text in (chain.to_yaml(), chain.batch(4, last="pad", pad=True, bucket=40).to_yaml()):
            VALIDATOR.validate(yaml.safe_load(text))


def test_the_schema_is_valid_and_accepts_the_full_spec():
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(yaml.safe_load((ROOT / "fuzz/corpus/spec/full.yaml").read_text()))
    VALIDATOR.validate({})
    for wrong in ("unknown_key", "bad_list"):
        assert not VALIDATOR.is_valid(yaml.safe_load((ROOT / f"fuzz/corpus/spec/{wrong}.yaml").read_text()))


def test_an_unknown_key_lists_the_keys_of_the_schema():
    for node, schema in SCHEMA["properties"].items():
        if schema["type"] == "object" and node != "passes":
            assert said({node: {"none": 1}}).endswith("known keys: " + ", ".join(sorted(schema["properties"])))
    assert said({"none": 1}).endswith("known keys: " + ", ".join(sorted(SCHEMA["properties"])))
    with pytest.raises(un.errors.ArgumentError) as caught:
        un.open(SMALL).passes(none=True).batch(4).explain()
    assert set(str(caught.value).rpartition("expected one of ")[2].split(", ")) == set(
        SCHEMA["properties"]["passes"]["properties"])
    full = SCHEMA["properties"]["operations"]["items"]["anyOf"][1]["properties"]
    assert list(full) == [name for name, _ in un.operations()]
    full = SCHEMA["properties"]["batch_operations"]["items"]["anyOf"][1]["properties"]
    assert list(full) == [name for name, _ in un.batch_operations()]


def test_the_documentation_lists_every_pass_and_no_other():
    text = (ROOT / "docs" / "reference" / "passes.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (exact|approximate)", text, re.MULTILINE)
    kinds = {name: "approximate" if "; approximate: " in node["description"] else "exact"
             for name, node in SCHEMA["properties"]["passes"]["properties"].items()}
    assert len(rows) == len(kinds) and dict(rows) == kinds


def made(schema, rng):
    """A value that the schema accepts."""
    if "anyOf" in schema:
        return made(rng.choice([option for option in schema["anyOf"] if option.get("enum") != []]), rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema["type"] if isinstance(schema["type"], str) else rng.choice(schema["type"])
    if kind == "object":
        names = [name for name in schema.get("properties", ()) if rng.random() < 0.5
                 or name in schema.get("required", ())]
        if "maxProperties" in schema:
            names = [rng.choice(list(schema["properties"]))]
        return {name: made(schema["properties"][name], rng) for name in names}
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        return [made(schema["items"], rng) for _ in range(rng.randint(least, most))]
    if kind == "integer":
        least, most = schema.get("minimum", 0), schema.get("maximum", 9)
        return rng.choice([least, most, rng.randint(least, most)])
    if kind == "number":
        least = schema.get("minimum", schema.get("exclusiveMinimum", -1000) + 0.01)
        return rng.uniform(least, schema.get("maximum", 1000))
    if "examples" in schema:
        return rng.choice(schema["examples"])
    texts = [text for text in ("", "a b", "é", "~", "3", "#", "cuda:1") if re.search(schema.get("pattern", ""), text)]
    return {"boolean": rng.random() < 0.5, "null": None, "string": rng.choice(texts)}[kind]


def go_together(step):
    """Removes from a step's parameters one that is incompatible with the others."""
    name, parameters = step
    parameters = parameters or {}
    if name == "rand_augment":
        magnitude, bins = parameters.get("magnitude", 9), parameters.get("num_magnitude_bins", 31)
        if isinstance(magnitude, dict) or isinstance(bins, dict) or magnitude >= bins:
            parameters |= {"magnitude": 0}
    if name == "resize":
        size, most = parameters["size"], parameters.get("max_size", 0)
        if not (isinstance(size, int) and isinstance(most, int) and most > size):
            parameters.pop("max_size", None)


def accepted(rng):
    """A valid spec, also with respect to conditions on two fields."""
    spec = made(SCHEMA, rng)
    order = spec.get("order", {})
    order["world"] = order.get("rank", 0) + 1
    order.pop("shuffle", None)  # required by the next step
    order.pop("window" if order.get("balance") else "class_weights", None)
    if spec.get("mix"):
        spec.pop("source", None)
        weighted, changes = not order.get("balance"), rng.randrange(3)
        for source in spec["mix"]:
            source.pop("weight", None)
            source.pop("earlier_weights", None)
            if weighted:
                source["weight"] = rng.uniform(0.1, 3)
                source["earlier_weights"] = [rng.uniform(0, 3) for _ in range(changes)]
    spec["order"] = order
    if spec.get("cache", {}).get("what") == "encoded":
        spec["cache"].pop("folder", None)
        spec["cache"].pop("after", None)
    device = spec.get("device", {})
    for key, needed, value in (("decode_share", "decode", "hybrid"), ("decode", "operations", "device"),
                               ("operations", "name", "cpu")):
        if device.get(key, "host") != "host" and device.get(needed, "") in ("host", ""):
            device[needed] = value
    pad = spec.get("batch", {}).get("pad", {})
    if pad.get("to") == "size":
        pad.setdefault("size", [8, 9])
    else:
        pad.pop("size", None)
    if "bucket" in spec.get("batch", {}):
        if pad.get("to") != "largest" or spec.get("execution", {}).get("order") == "relaxed":
            spec["batch"]["bucket"].pop("window", None)
        else:
            spec["batch"]["bucket"] = {"window": 70 + rng.randrange(100), "run": 1 + rng.randrange(70)}
    for step in spec.get("operations", []):
        for parameters in step.values() if isinstance(step, dict) else ():
            for name, values in (parameters or {}).items():
                if isinstance(values, dict):  # rounded values of a schedule may be invalid for the operation
                    values.pop("multiple", None)
                    values = values["schedule"]["0"]
                if isinstance(values, list):  # the minimum and the maximum
                    values.sort()
        if isinstance(step, dict):
            go_together(*step.items())
    return spec


def leaves(schema, keys=(), pointer=""):
    """(keys from the root, JSON pointer of its schema) of every field; of lists the first entry, of a user's own keys
    one."""
    if "anyOf" in schema:
        for number, option in enumerate(schema["anyOf"]):
            if pointer.endswith("/items") and option["type"] == "string":
                continue  # the name of an operation without parameters
            yield from leaves(option, keys, f"{pointer}/anyOf/{number}")
    elif schema.get("type") in ("object", ["object", "null"]):
        for name, inner in schema.get("properties", {}).items():
            yield from leaves(inner, (*keys, name), f"{pointer}/properties/{name}")
        for pattern, inner in schema.get("patternProperties", {}).items():
            assert re.fullmatch(pattern, "3")  # an epoch
            yield from leaves(inner, (*keys, "3"), f"{pointer}/patternProperties/{pattern}")
        if isinstance(others := schema.get("additionalProperties"), dict):
            yield from leaves(others, (*keys, "cat"), f"{pointer}/additionalProperties")
    elif schema["type"] == "array" and ("properties" in schema["items"] or "anyOf" in schema["items"]):
        yield from leaves(schema["items"], (*keys, 0), f"{pointer}/items")
    else:
        yield keys, pointer


def values(schema, pointer=""):
    """JSON pointers of all schemas of scalars and of lists of scalars, found without the list of nodes."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")  # may be property names
    if isinstance(kind, str | list) and "object" not in kind and kind != "array":
        yield pointer
    for key, inner in schema.items():
        yield from values(inner, f"{pointer}/{key}")


def named(keys):
    """The node of a field as messages name it, and the name that follows: that of a step's parameter, else the key."""
    node = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    return (f"{keys[0]}[0]", keys[3]) if "operations" in keys[0] else (node, keys[-1])


FIELDS = list(dict.fromkeys(keys for keys, _ in leaves(SCHEMA)))
WRONG = [None, True, 3, -3, 1.5, 0, "many", "", [], [1, 2], ["a"], [[1]], {"a": 1}, 1e300, -1e-300, 1 << 70]


def test_library_and_schema_accept_generated_valid_specs():
    rng = random.Random(1)
    for _ in range(300):
        spec = accepted(rng)
        VALIDATOR.validate(spec)
        assert said(spec) is None, spec
        assert VALIDATOR.is_valid(yaml.safe_load(_core.canonical(json.dumps(spec)))), spec


def test_every_field_of_the_schema_is_tested():
    tried = {pointer for _, pointer in leaves(SCHEMA)}
    of_names = {f"/properties/{node}/items/anyOf/0" for node in ("operations", "batch_operations")}
    for pointer in values(SCHEMA):
        assert pointer in of_names or pointer in tried or pointer.removesuffix("/items") in tried, pointer
    assert len(FIELDS) > 300 and {keys[0] for keys in FIELDS} == set(SCHEMA["properties"])


def valid_next_to(keys, rng):
    """Returns a valid spec with the settings that the field requires."""
    spec = accepted(rng)
    for node in ("cache", "mix", "batch", "device"):
        spec.pop(node, None)
    if keys[:2] == ("batch", "pad"):
        spec["batch"] = {"pad": {"to": "size", "size": [8, 9]}}
    if keys[:2] == ("batch", "bucket"):
        spec |= {"batch": {"size": 1, "pad": {"to": "largest"}}, "order": {}, "execution": {}}
    if keys[0] == "device":
        spec["device"] = {"name": "cpu"} if keys[-1] == "operations" else {} if keys[-1] == "name" else {
            "name": "cpu", "operations": "device", "decode": "hybrid"}
    if keys[0] == "order":
        spec["order"] = {key: spec["order"][key] for key in ("rank", "world") if key in spec["order"]}
    if keys == ("order", "world"):
        spec["order"].pop("rank", None)  # otherwise the message would name it
    if keys[1] == "class_weights":
        spec["order"] |= {"balance": True, "class_weights": {"dog": 1}}
    if keys[0] == "mix":
        spec.pop("source", None)
        spec |= {"order": {}, "mix": [{"weight": 1}, {"weight": 2}] if keys[-1] == "weight" else [{}, {}]}
    if keys[-1] == "earlier_weights":  # the same number for all sources
        spec["mix"] = [{"weight": 1}]
    if "operations" in keys[0]:
        step = {}
        operations = SCHEMA["properties"][keys[0]]["items"]["anyOf"][1]["properties"]
        if "size" in operations[keys[2]].get("required", []):
            step["size"] = 8
        if "choices" in operations[keys[2]].get("required", []):
            step["choices"] = "invert"
        if "schedule" in keys or keys[-1] in ("between", "multiple"):
            step[keys[3]] = {"schedule": {"0": at_first(operations[keys[2]]["properties"][keys[3]])}}
        spec[keys[0]] = [{keys[2]: step}, *spec.get(keys[0], [])]
    return spec


def at_first(parameter):
    """A value of a parameter that may have a schedule."""
    plain = parameter["anyOf"][0]
    default = plain.get("default", 8)
    return 8 if isinstance(default, str) else default  # which may be a word, unlike a value of a schedule


def put(spec, keys, value):
    *above, last = keys
    for key in above:
        spec = spec[key] if isinstance(key, int) else spec.setdefault(key, {})
    spec[last] = value


@pytest.mark.parametrize("keys", FIELDS, ids=lambda keys: ".".join(map(str, keys)))
def test_library_and_schema_reject_a_spec_with_one_wrong_field(keys):
    rng = random.Random(str(keys))
    node, word = named(keys)
    rejected = 0
    for wrong in WRONG:
        spec = valid_next_to(keys, rng)
        assert said(spec) is None
        put(spec, keys, wrong)
        text = said(spec)
        if text is not None:
            assert node in text and word in text and "expected" in text
            by_data = keys in (("order", "rank"), ("order", "world")) and wrong in (3, 0)
            # Less than the given magnitude and size.
            by_other = keys[2:4] in (("rand_augment", "num_magnitude_bins"), ("resize", "max_size")) and wrong == 3
            by_other = by_other or keys[2:4] == ("one_of", "choices")  # for the schema any text
            assert by_data or by_other or not VALIDATOR.is_valid(spec), spec
            rejected += 1
        elif VALIDATOR.is_valid(spec):
            continue
        else:
            # Only the schema is strict about types: values that are not text, or a list of one number.
            assert isinstance(wrong, (int, float, str, list)), spec
    assert rejected >= 5
    spec = valid_next_to(keys, rng)
    if keys[0] != "mix":
        spec["source"] = {"path": SMALL}
    put(spec, keys, {"a": 1})
    with pytest.raises(un.Error, match=re.escape(node)):
        un.from_yaml(json.dumps(spec))


@pytest.mark.parametrize(("step", "message"), [
    (lambda p: p.shuffle(-1), r"shuffle\(seed\): found -1; expected 0 or more"),
    (lambda p: p.shuffle("x"), r"shuffle\(seed\): found 'x'; expected an integer"),
    (lambda p: p.shard(3, 3), r"shard\(rank\): rank 3 of world 3; expected"),
    (lambda p: p.decode().shuffle(), r"shuffle\(\) after decode\(\): expected before it"),
    (lambda p: p.random_resized_crop(0),
     "operations.0.: operation random_resized_crop: parameter 'size' is .0.; expect"),
    (lambda p: p.random_resized_crop(8, scale=(0.9, 0.1)), r"operations.0.: .*'scale' is .0.9, 0.1.; expected"),
    (lambda p: p.operation("resize", size="big"), r"operations.0.: .*'size' is .big.; expected one side"),
    (lambda p: p.resize(8, interpolation="cubic"), "'interpolation' is .cubic.; expected one of nearest, bilinear"),
    (lambda p: p.operation("resize", size=8, antialias=1), "'antialias' is .1.; expected true or false"),
    (lambda p: p.resize(8, antialias=1), "'antialias' is .1.; expected true or false"),
    (lambda p: p.pad_crop(8, fill=False), "'fill' is .false.; expected 1 or 3 integers"),
    (lambda p: p.resize(un.schedule([8])), r"schedule\(points\): found \[8\]; expected epochs with values"),
    (lambda p: p.resize(8).batch(2, pad="largest"), r"batch\(pad\): found 'largest'; expected True, False or"),
    (lambda p: p.operation("blur"), "unknown operation 'blur'; known: random_resized_crop"),
    (lambda p: p.flip(2), r"'probability' is .2.; expected a number from 0 to 1"),
    (lambda p: p.normalize((1, 2), (1, 1, 1)), r"mean: found \[1, 2\]; expected three numbers"),
    (lambda p: p.normalize((0, 0, 0), (1, 0, 1)), r"normalize\(std\): 0; expected above 0"),
    (lambda p: p.output("int7"), r'output\(dtype\): .*found "int7"; expected one of uint8'),
    (lambda p: p.mixup(alpha=0), r"batch_operations.0.: .*'alpha' is .0.; expected"),
    (lambda p: p.cache("all"), r'cache\(what\): .*found "all"; expected one of nothing'),
    (lambda p: p.cache(limit_mb=0), r"cache\(limit_mb\): 0; expected 1 or more"),
    (lambda p: p.cache("encoded", after=1), r"cache\(after\): encoded records are cached before any operation"),
    (lambda p: p.cache("pixels", after=-2), r"cache\(after\): found -2; expected -1 or more"),
    (lambda p: p.errors("ignore"), r'errors\(policy\): .*found "ignore"; expected one of fail'),
    (lambda p: p.errors(rate=0), r"errors\(rate\): 0; expected above 0"),
    (lambda p: p.options(threads=-1), r"options\(threads\): -1; expected 0 to 1024"),
    (lambda p: p.options(prefetch="two"), r'options\(prefetch\): .*found "two"; expected a whole number'),
    (lambda p: p.device("gpu"), r'device\(name\): "gpu"; expected cpu, cuda or cuda:N'),
    (lambda p: p.device("cuda", operations="gpu"), r'device\(operations\): .*found "gpu"; expected one of host'),
    (lambda p: p.device("cuda", decode="hybrid"), r"device\(decode\): hybrid with device.operations: host; expected"),
    (lambda p: p.device("cuda", decode_share=0.5), r"decode_share\): 0.5 with device.decode: host; expected no share"),
    (lambda p: p.device("cuda", operations="device", decode="hybrid", decode_share=2),
     r"decode_share\): 2; expected 0 to 1"),
    (lambda p: p.device("cuda", operations="device", decode="hybrid", decode_share=-1),
     r"device\(decode_share\): found -1"),
    (lambda p: p.batch(0), r"batch\(size\): found 0; expected 1 or more"),
    (lambda p: p.batch(1.5), r"batch\(size\): found 1.5; expected an integer"),
    (lambda p: p.batch(61), "no full batch"),
])
def test_an_invalid_step_is_rejected_by_the_step(step, message):
    with pytest.raises(un.Error, match=message):
        step(un.open(SMALL))
