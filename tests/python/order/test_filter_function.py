"""filter() by a function: evaluated once."""

import pytest

import unstarve as un

DATA = "synthetic:images=60,size=24,classes=5"


def ids(loader):
    with loader:
        return [batch[2].tolist() for batch in loader.batches()]


def test_filter_functions_are_called_once_per_sample(photographs):
    pipeline = un.open(photographs)
    seen = []

    def wide(facts):
        seen.append((facts.id, facts.label, facts.class_name, facts.width, facts.height, facts.size_bytes,
                     facts.location))
        return facts.width > facts.height

    loader = pipeline.filter(wide).sequential().resize((8, 8)).batch(1)
    assert len(seen) == len(pipeline) == 100
    for sample, label, name, width, height, size, location in seen[::9]:
        record = pipeline.read(sample)
        assert (label, size, location) == (record["label"], len(record["image"]), pipeline.location(sample))
        assert name == pipeline.classes[label] and min(width, height) > 0
    expected = [sample for sample, _, _, width, height, *_ in seen if width > height]
    assert 0 < len(expected) < 100 and [one for batch in ids(loader) for one in batch] == expected
    ids(loader)
    assert len(seen) == 100
    text = loader.explain()
    assert "wide (test_filter_function.py:" in text
    assert f"selects {len(expected)} of 100 samples, evaluated once before the run" in text


def test_filter_functions_combine_with_bounds_take_and_each_other():
    pipeline = un.open(DATA).filter(labels=[1, 2, 3]).filter(lambda facts: facts.label != 2)
    pipeline = pipeline.filter(lambda facts: facts.id >= 10).take(7).sequential()
    assert ids(pipeline.batch(7)) == [[i for i in range(10, 60) if i % 5 in (1, 3)][:7]]
    tested = []
    loader = un.open("synthetic:images=20000,size=8").filter(lambda facts: not tested.append(facts.id)).take(3).batch(3)
    assert len(loader) == 1 and len(tested) < 20000  # only as many as required
    balanced = un.open(DATA).filter(lambda facts: facts.label < 2).balance().batch(24)
    assert {int(label) for _, labels in balanced for label in labels} == {0, 1}
    mixed = un.mix([un.open(DATA).filter(lambda facts: facts.id < 3), un.open(DATA)], weights=[1, 1]).batch(60)
    assert len([one for one in ids(mixed)[0] if one < 60]) == 30 and max(ids(mixed)[0]) < 120


def test_order_ranks_and_state_are_exact():
    pipeline = un.open(DATA).filter(lambda facts: facts.label in (0, 4)).shuffle(seed=2)
    whole = ids(pipeline.batch(6))
    parts = [ids(pipeline.shard(rank, 2).batch(3)) for rank in range(2)]
    assert [one + other for one, other in zip(*parts, strict=True)] == whole
    run = pipeline.batch(6)
    next(iter(run))
    resumed = pipeline.batch(6)
    resumed.load_state_dict(run.state_dict())
    assert ids(resumed) == whole[1:]
    other = un.open(DATA).filter(lambda facts: facts.label in (0, 3)).shuffle(seed=2).batch(6)
    with pytest.raises(un.errors.ArgumentError, match="other selected samples"):
        other.load_state_dict(run.state_dict())


def test_unreadable_samples_pass_and_exceptions_are_raised(photographs, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "broken.jpg").write_bytes(b"no image")
    whole = next(path for path in sorted(photographs.rglob("*.*")) if path.is_file())
    (tmp_path / "class" / "good.jpg").write_bytes(whole.read_bytes())
    loader = un.open(tmp_path).filter(lambda facts: facts.width == 1).resize((4, 4)).errors("skip").batch(
        1, drop_last=False)
    assert loader.samples == 1
    with pytest.raises(ZeroDivisionError) as caught:
        un.open(DATA).filter(lambda facts: 1 / facts.label > 0).batch(2)
    assert "in the function given to filter(), for sample 0 (" in caught.value.__notes__[0]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: un.open(DATA).filter(lambda facts: True, min_side=3),
     "found a function and other conditions; expected one of"),
    (lambda: un.open(DATA).shuffle(1).filter(lambda facts: True), r"filter\(\) after shuffle\(\)"),
    (lambda: un.mix([un.open(DATA)]).filter(lambda facts: True), r"filter\(\) after mix\(\)"),
    (lambda: un.open(DATA).filter(lambda facts: True).to_yaml(),
     r"to_yaml: found filter\(.*<lambda> .*; expected a pipeline without Python"),
    (lambda: un.open(DATA).filter(lambda facts: True).batch(2).to_yaml(), r"to_yaml: found filter\("),
])
def test_invalid_arguments_are_rejected(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make()


def test_a_filter_without_samples_is_an_error():
    with pytest.raises(un.errors.InputError, match="source: the filter selects none of 60 samples"):
        un.open(DATA).filter(lambda facts: False).batch(2)
