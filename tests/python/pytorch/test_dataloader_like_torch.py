"""un.DataLoader shows the behaviours that torch's test/test_dataloader.py tests.

No wheel contains that file, so its behaviours are listed here, each with our test of it or the reason why it does not
apply. If both loaders support it, both run and are compared.
"""

import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import (  # noqa: E402
    BatchSampler, ChainDataset, ConcatDataset, DistributedSampler, RandomSampler, SequentialSampler, StackDataset,
    Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler,
)

import unstarve as un  # noqa: E402
from dataloader_support import Kinds, same, script  # noqa: E402
from like_torch_support import (  # noqa: E402
    SCALARS, Affinity, Broken, Bulk, Count, Crashing, InfoOf, InLists, Nothing, OwnDict, OwnList, Pair, Parts, Values,
    cloned, fail, mark, packed, to_first_core,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

BEHAVIOURS = {
    # arguments
    "arguments that exclude each other": "test_invalid_arguments_are_rejected_as_by_torch",
    "attributes that stay as they are": "test_attributes_are_not_assigned_later",
    "many workers warn": "test_more_workers_than_cores_warn",
    "a type with parameters": "test_it_takes_parameters_as_a_type",
    "start methods by name and as contexts": "test_start_methods_are_accepted_by_name_and_as_contexts",
    "in_order": "test_ready_batches_are_delivered_first_without_in_order",
    # datasets and samplers
    "in sequence, with and without batches, with workers, with prefetch_factor": "test_same_batches_as_torch",
    "shuffled, from a generator, reproducible": "test_same_batches_as_torch",
    "TensorDataset, ConcatDataset, Subset, StackDataset": "test_torchs_datasets_and_samplers",
    "RandomSampler, WeightedRandomSampler, SubsetRandomSampler": "test_torchs_datasets_and_samplers",
    "DistributedSampler": "test_distributed_samplers_share_without_overlap",
    "any iterable as a sampler, of batches too": "test_torchs_datasets_and_samplers",
    "lists of indices asked for at once": "test_lists_of_indices_reach_the_dataset",
    "__getitems__": "test_same_batches_as_torch",
    "a dataset that grows": "test_a_dataset_may_grow",
    "list(loader), tuple(loader)": "test_loops_as_lists_and_tuples",
    "streams: any part per worker, full batches": "test_streams_with_uneven_and_empty_parts",
    "streams one after the other": "test_streams_in_a_chain",
    "streams: length and its warning": "test_the_length_of_a_stream",
    "streams: the workers in turn, every epoch": "test_workers_of_a_stream_alternate",
    # collating
    "numbers, strings, dicts, named tuples": "test_same_batches_as_torch",
    "NumPy's scalars, arrays and memory maps, types kept or not": "test_collated_as_by_torch",
    "what cannot be collated": "test_uncollatable_samples_are_rejected_as_by_torch",
    "batches of a class of one's own, packed sequences, nested tensors": "test_batches_of_any_kind",
    # workers
    "get_worker_info": "test_worker_info_is_read_only_and_of_a_copy",
    "seeds of workers, reproducible": "test_worker_info_seeds_and_initialisation",
    "worker_init_fn": "test_worker_info_seeds_and_initialisation",
    "affinity set by worker_init_fn": "test_a_worker_s_affinity",
    "persistent workers keep the dataset": "test_persistent_workers_do_not_see_a_changed_dataset",
    "several loaders at once, let go of amid": "test_interleaved_loaders",
    "leaving early with persistent workers": "test_leaving_a_loop_early_lets_the_program_exit",
    "few file descriptors": "test_holding_many_batches_uses_no_descriptors",
    "indices too large for a pipe": "test_indices_may_be_large_where_the_loop_fails",
    # errors
    "an error per batch, and the loop goes on": "test_as_many_errors_as_batches",
    "errors in __iter__ and worker_init_fn": "test_errors_before_the_first_sample",
    "a worker that crashes": "test_a_worker_that_crashes",
    "a worker that is killed or exits": "test_a_dead_worker_ends_the_loop_and_the_next_loop_starts_new_workers",
    "a timeout": "test_a_batch_that_times_out_is_delivered_later",
    "every end of parent and workers": "test_ctrl_c_works_and_workers_end_when_the_parent_is_killed",
    "workers of a loop that is let go of": "test_loops_left_early_leak_nothing",
    # page-locked memory
    "pin_memory": "test_pinned_memory_without_an_accelerator_warns_like_torch",
    "pin_memory through a thread": "test_pinning_goes_through_a_thread_of_its_own",
}
NOT = {
    "the seed that worker_init_fn sets is that of all samples":
        "generators are seeded for every sample, so that augmentation does not depend on which worker makes it",
    "batches dealt to the workers in turn":
        "a sample is made by whoever is free: test_a_slow_sample_delays_only_its_own_batch has that instead",
    "tensors collated in workers are in shared memory": "batches are in an arena of unstarve.workers.transport",
    "convolutions and threads after a fork": "workers are spawned, never forked",
    "DataPipes": "deprecated by torch; rejected by name, test_data_pipes_are_rejected",
    "NumPy's states from torch's generator function": "a function inside torch; ours are in workers/seeding.py",
    "the samplers' and datasets' own behaviour": "torch's classes are used as they are",
    "tensors that workers make on a GPU": "this loader's batches are made in the host's memory",
}


def both():
    return torch.utils.data.DataLoader, un.DataLoader


def test_the_lists_name_existing_tests():
    there = set()
    for path in Path(__file__).parent.glob("test_dataloader*.py"):
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert set(BEHAVIOURS.values()) <= there
    assert set(re.findall(r"test_\w+", " ".join(NOT.values()))) <= there


# --- arguments --------------------------------------------------------------------------------------------------------

SEQUENCE = SequentialSampler(range(23))
IN_BATCHES = BatchSampler(SEQUENCE, 3, False)


@pytest.mark.parametrize("options", [
    {"num_workers": 0, "multiprocessing_context": "spawn"}, {"num_workers": 1, "multiprocessing_context": object()},
    {"batch_size": 11, "sampler": SEQUENCE, "shuffle": True}, {"sampler": SEQUENCE, "shuffle": 3},
    {"batch_sampler": IN_BATCHES, "sampler": SEQUENCE}, {"batch_sampler": IN_BATCHES, "shuffle": True},
    {"batch_sampler": IN_BATCHES, "drop_last": True}, {"batch_sampler": IN_BATCHES, "drop_last": 3},
    {"batch_sampler": IN_BATCHES, "batch_size": 11}, {"stream": True, "shuffle": True}, {"stream": True, "shuffle": 3},
    {"stream": True, "sampler": SEQUENCE}, {"stream": True, "sampler": 3},
    {"stream": True, "batch_sampler": IN_BATCHES}, {"stream": True, "batch_sampler": 3},
    {"prefetch_factor": -1, "num_workers": 1}, {"batch_size": -1},
    {"batch_size": "many"}, {"timeout": -1, "num_workers": 1}, {"batch_size": None, "shuffle": True, "drop_last": True},
], ids=str)
def test_invalid_arguments_are_rejected_as_by_torch(options):
    options = dict(options)
    dataset = Count() if options.pop("stream", False) else Kinds()
    report = []
    for make in both():
        with pytest.raises((ValueError, TypeError)) as caught:
            make(dataset, **options)
        report.append((caught.type, re.sub("0x[0-9a-f]+", "", str(caught.value))))
    assert report[0] == report[1]


def test_attributes_are_not_assigned_later():
    for make, name in itertools.product(both(), ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset")):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(make(Kinds()), name, {})


@pytest.mark.filterwarnings("default:This DataLoader will create")
def test_more_workers_than_cores_warn():
    for make in both():
        with pytest.warns(UserWarning, match="excessive worker creation"):
            make(Kinds(), num_workers=100_000)


def test_it_takes_parameters_as_a_type():
    assert un.DataLoader[list[torch.Tensor]].__origin__ is un.DataLoader


def test_start_methods_are_accepted_by_name_and_as_contexts(load):
    import multiprocessing

    expected = list(load(Kinds("tensor", 11), batch_size=3))
    for name in ("spawn", "forkserver"):
        for context in (name, multiprocessing.get_context(name)):
            loader = load(Kinds("tensor", 11), batch_size=3, num_workers=1, multiprocessing_context=context)
            assert same(list(loader), expected) and loader.multiprocessing_context.get_start_method() == name


def test_data_pipes_are_rejected():
    from torch.utils.data.datapipes.iter import IterableWrapper

    with pytest.raises(un.errors.ArgumentError, match="a DataPipe; expected a Dataset"):
        un.DataLoader(IterableWrapper([1]))


# --- datasets and samplers --------------------------------------------------------------------------------------------


def tensors(samples=20):
    return TensorDataset(torch.arange(samples * 6.0).reshape(samples, 2, 3), torch.arange(samples).flip(0))


DATASETS = {
    "tensors": tensors(), "several": ConcatDataset([tensors(5), tensors(7)]),
    "subset": Subset(tensors(), [3, 1, 4, 1, 5]),
    "stack": StackDataset(tensors(8), torch.arange(8)), "named stack": StackDataset(a=tensors(8), b=list(range(8))),
    "list": [torch.full((2,), i) for i in range(9)], "tensor": torch.arange(12).reshape(6, 2),
}
SAMPLERS = {
    "with replacement": lambda data: RandomSampler(data, replacement=True, num_samples=len(data) + 5),
    "more than there are": lambda data: RandomSampler(data, num_samples=len(data) + 5),
    "weighted": lambda _: WeightedRandomSampler([0.1, 0.9, 0.4, 3], 9),
    "weighted, each once": lambda _: WeightedRandomSampler([0.1, 0.9, 0.4, 3], 3, replacement=False),
    "some": lambda _: SubsetRandomSampler(range(1, 5)),
    "own generator": lambda data: RandomSampler(data, generator=torch.Generator().manual_seed(4)),
    "range": lambda _: range(1, 5),
    "batches": lambda _: [(0, 1), [2, 3, 4], (0,)],
}


@pytest.mark.parametrize(("data", "sampler"), [*((name, None) for name in DATASETS),
                                               *(("tensors", name) for name in SAMPLERS)])
def test_torchs_datasets_and_samplers(data, sampler, load):
    made = []
    for make, workers in ((torch.utils.data.DataLoader, 0), (un.DataLoader, 0), (load, 2)):
        options = {"batch_size": 3, "shuffle": sampler is None}
        if sampler == "batches":
            options = {"batch_sampler": SAMPLERS[sampler](DATASETS[data])}
        elif sampler:
            options = {"batch_size": 3, "sampler": SAMPLERS[sampler](DATASETS[data])}
        loader = make(DATASETS[data], num_workers=workers, **options)
        torch.manual_seed(7)
        batches = [*loader, *loader]
        assert len(batches) == 2 * len(loader)
        made.append(batches)
    assert same(made[1], made[0]) and same(made[2], made[0])


def test_distributed_samplers_share_without_overlap(load):
    for make in both():
        seen = []
        for rank in range(4):
            loader = make(torch.arange(9), batch_size=2, drop_last=True, sampler=DistributedSampler(range(9), 4, rank))
            seen += [int(i) for batch in loader for i in batch]
        assert len(seen) == len(set(seen)) == 8


def test_lists_of_indices_reach_the_dataset(load):
    for workers in (0, 2):
        loader = load(Bulk(), batch_size=None, sampler=InLists(35, 4), num_workers=workers)
        batches = list(loader)
        assert [len(batch) for batch in batches] == [4] * 8 + [3]
        assert sorted(torch.cat(batches).tolist()) == list(range(35))


def test_a_dataset_may_grow():
    values = [torch.ones(4) for _ in range(4)]
    loaders = [un.DataLoader(values, shuffle=shuffle) for shuffle in (False, True)]
    values.append(torch.ones(4))
    assert [len(loader) for loader in loaders] == [5, 5] == [len(list(loader)) for loader in loaders]


@pytest.mark.parametrize("workers", [0, 1])
def test_loops_as_lists_and_tuples(workers, load):
    pairs = [torch.tensor([i, i + 1]) for i in range(0, 20, 2)]
    for data, kind in itertools.product((Values(list(range(20))), Count()), (list, tuple)):
        assert kind(load(data, batch_size=None, num_workers=workers)) == kind(range(20))
        assert same(kind(load(data, batch_size=2, num_workers=workers)), kind(pairs))


# --- streams ----------------------------------------------------------------------------------------------------------


def test_streams_with_uneven_and_empty_parts(load):
    def run(**options):
        return [batch.tolist() if isinstance(batch, torch.Tensor) else batch
                for batch in load(Parts([0, 4, 20]), num_workers=3, prefetch_factor=3, **options)]

    alone = run(batch_size=None)
    assert sorted(alone) == sorted([*range(4), *range(20)]) and all(type(sample) is int for sample in alone)
    full = [list(range(7)), list(range(7, 14))]
    assert sorted(run(batch_size=7)) == sorted([[0, 1, 2, 3], *full, list(range(14, 20))])
    assert run(batch_size=7, drop_last=True) == full


def test_streams_in_a_chain(load):
    for workers, data in itertools.product((0, 1), (Count(20) + Count(15), ChainDataset([Count(20), Count(15)]))):
        assert [int(batch) for batch in load(data, num_workers=workers)] == [*range(20), *range(15)]
    for make in both():
        with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
            list(make(ChainDataset([Count(2), tensors(2)])))


def test_the_length_of_a_stream(load):
    for size, drop in itertools.product((1, 2, 3), (False, True)):
        lengths = [len(make(Count(10), batch_size=size, drop_last=drop)) for make in both()]
        assert lengths[0] == lengths[1]
    loader = load(Count(), num_workers=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(loader)) == 40  # the length was not requested
    assert len(loader) == 20
    iterator = iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            next(iterator)
    for _ in range(3):
        with pytest.warns(UserWarning, match=r"but \d+ samples have been fetched\. For multiprocessing"):
            next(iterator)


def test_workers_of_a_stream_alternate(load):
    loader = load(Parts([6, 6]), batch_size=3, num_workers=2)
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]


# --- collating --------------------------------------------------------------------------------------------------------


def samples():
    return {
        **{kind.__name__: [kind(i) for i in range(4)] for kind in SCALARS},
        "arrays": [np.full((2, 3), i) for i in range(4)], "own dict": [OwnDict(a=i, b=-i) for i in range(4)],
        "own list": [OwnList([i, 2.5]) for i in range(4)], "range": [range(i, i + 2) for i in range(4)],
        "bool": [True, False, True, True], "float": [1.5, 2, -0.5, 0.0], "bytes": [b"a", b"b", b"c", b"d"],
        "nested": [{"tensor": torch.full((4, 2), i), "inner": {"number": i, "pair": (i, str(i))}} for i in range(4)],
    }


@pytest.mark.parametrize("kind", samples())
def test_collated_as_by_torch(kind, load):
    data = Values(samples()[kind])
    for size in (2, None):
        expected = list(torch.utils.data.DataLoader(data, batch_size=size))
        assert same(list(un.DataLoader(data, batch_size=size)), expected)
        assert same(list(load(data, batch_size=size, num_workers=2)), expected)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_memory_mapped_arrays_are_read(tmp_path, load):
    rows = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.int64, (4, 2))
    rows[:] = np.arange(8).reshape(4, 2)
    data = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for workers in (0, 1):
        assert torch.cat(list(load(data, batch_size=2, num_workers=workers))).tolist() == rows.tolist()


@pytest.mark.parametrize("values", [[["a"], ["a", "b"]], [object(), object()], [torch.zeros(2), torch.zeros(3)],
                                    [{"a": 1}, {"b": 1}], [np.array([["a"]]), np.array([["b"]])]], ids=str)
def test_uncollatable_samples_are_rejected_as_by_torch(values, load):
    kinds = []
    for make, workers in ((torch.utils.data.DataLoader, 0), (un.DataLoader, 0), (load, 1)):
        with pytest.raises((RuntimeError, TypeError, KeyError)) as caught:
            list(make(Values(values), batch_size=2, num_workers=workers))
        kinds.append(caught.type)
    assert kinds[0] == kinds[1] == kinds[2]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_batches_of_any_kind(load):
    for workers in (0, 1):
        ours = list(load(tensors(8), batch_size=4, num_workers=workers, collate_fn=packed))
        theirs = list(torch.utils.data.DataLoader(tensors(8), batch_size=4, collate_fn=packed))
        assert all(type(one) is torch.nn.utils.rnn.PackedSequence for one in ours)
        assert all(torch.equal(a.data, b.data) and torch.equal(a.batch_sizes, b.batch_sizes)
                   for a, b in zip(ours, theirs, strict=True))
        batch, *_ = load(tensors(8), batch_size=4, num_workers=workers, collate_fn=Pair)
        assert type(batch) is Pair and torch.equal(batch.second, torch.tensor([7, 6, 5, 4]))
        nested = [torch.nested.nested_tensor([torch.full((5,), float(i))]) for i in range(4)]
        got = list(load(Values(nested), num_workers=workers, collate_fn=cloned))
        assert [sample[0].unbind()[0].tolist() for sample in got] == [[float(i)] * 5 for i in range(4)]
        with pytest.raises(RuntimeError, match="not currently supported by the default collate_fn"):
            list(load(Values(nested), num_workers=workers))


# --- workers ----------------------------------------------------------------------------------------------------------


def test_worker_info_is_read_only_and_of_a_copy(load):
    data = InfoOf([0] * 8)
    made = list(load(data, batch_size=None, num_workers=2, worker_init_fn=mark))
    assert all(its == worker + 100 for worker, _, its in made) and not hasattr(data, "mark")
    assert len({seed - worker for worker, seed, _ in made}) == 1


def test_a_worker_s_affinity(load):
    loader = un.DataLoader(Affinity(), num_workers=2, worker_init_fn=to_first_core)
    cores = [int(core) for core in loader]
    loader.close()
    assert len(cores) == 2 and len(set(cores)) == 1


def test_persistent_workers_do_not_see_a_changed_dataset():
    data = Kinds("string", samples=4)
    loader = un.DataLoader(data, batch_size=None, num_workers=1, persistent_workers=True)
    first = list(loader)
    data.kind = "tensor"
    assert list(loader) == first == [f"sample {i}" for i in range(4)]
    loader.close()


def test_interleaved_loaders(load):
    one, other = (iter(load(Kinds(samples=12), num_workers=workers)) for workers in (1, 2))
    assert [int(next(loop)[1]) for loop in (one, one, other, other, one, other)] == [0, 1, 0, 1, 2, 2]


def test_leaving_a_loop_early_lets_the_program_exit():
    code = """
        import unstarve as un
        from like_torch_support import Count
        for _ in un.DataLoader(Count(64), batch_size=16, num_workers=2, persistent_workers=True):
            break
        print("left")
    """
    with script(code) as program:
        assert program.communicate()[0] == "left\n" and program.returncode == 0


def test_holding_many_batches_uses_no_descriptors():
    code = """
        import resource
        import unstarve as un
        from dataloader_support import Kinds
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        kept = list(un.DataLoader(Kinds("tensor", 300), num_workers=1))
        print(len(kept), all(float(batch[0, 0, 0, 0]) == i for i, batch in enumerate(kept)))
    """
    with script(code) as program:
        assert program.communicate()[0] == "300 True\n"


def test_indices_may_be_large_where_the_loop_fails():
    code = """
        import unstarve as un
        from like_torch_support import Bulk
        indices = [[i] * 500_000 for i in range(20)]
        iterator = iter(un.DataLoader(Bulk(), batch_size=None, sampler=indices, num_workers=1))
        assert next(iterator).shape == (500_000,)
        raise ValueError("of the program")
    """
    with script(code) as program:
        assert "of the program" in program.communicate()[0] and program.returncode == 1


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
def test_as_many_errors_as_batches(workers, load):
    iterator = iter(load(Nothing(13), batch_size=2, shuffle=True, num_workers=workers))
    errors = 0
    while True:
        try:
            next(iterator)
        except NotImplementedError:
            errors += 1
        except StopIteration:
            break
    assert errors == 7


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_before_the_first_sample(workers, load):
    with pytest.raises(RuntimeError, match="no way to begin"):
        list(load(Broken(), num_workers=workers))
    if workers:
        with pytest.raises(RuntimeError, match="no way to prepare"):
            list(load(Kinds(), num_workers=workers, worker_init_fn=fail))


def test_a_worker_that_crashes():
    loader = un.DataLoader(Crashing([1]), num_workers=1)
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly: killed by SIGSEGV"):
        list(loader)
    loader.close()
