"""The loader in the training loops of Lightning and Hugging Face, on real photographs.

Skipped if the packages are missing; make test-frameworks installs them.
"""

import itertools

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from loader_support import photos  # noqa: E402

pytestmark = pytest.mark.frameworks


def loader(photographs, names=None, batch=16):
    pipeline = un.open(photographs).shuffle(seed=3).decode().random_resized_crop(32).flip()
    return pipeline.batch(batch).to_torch(normalize=un.IMAGENET, channels_last=True, names=names)


def network(classes):
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                               torch.nn.Flatten(), torch.nn.Linear(128, classes))


@pytest.fixture
def lightning():
    return pytest.importorskip("lightning", reason="Lightning is not installed: make test-frameworks")


@pytest.fixture
def fit(lightning, tmp_path):
    """Trains. Returns the sum of pixels of every batch, which identifies it, and the trainer."""

    class Module(lightning.LightningModule):
        def __init__(self, classes, stop_after, seen):
            super().__init__()
            self.net, self.stop_after, self.seen = network(classes), stop_after, seen

        def training_step(self, batch, index):
            images, labels = batch
            assert images.device == labels.device == self.device
            assert images.is_contiguous(memory_format=torch.channels_last) and labels.dtype == torch.int64
            self.seen.append((self.current_epoch, float(images.double().sum())))
            return torch.nn.functional.cross_entropy(self.net(images), labels)

        def on_train_batch_end(self, *_):
            if len(self.seen) == self.stop_after:
                self.trainer.save_checkpoint(tmp_path / "amid.ckpt")
                self.trainer.should_stop = True

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    def run(data, stop_after=None, checkpoint=None, **options):
        seen = []
        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False, **options)
        trainer.fit(Module(len(data.classes), stop_after, seen), data, ckpt_path=checkpoint, weights_only=False)
        return seen, trainer

    return run


@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_two_epochs_and_resumes_in_mid_epoch(fit, photographs, tmp_path):
    with loader(photographs) as data:
        seen, trainer = fit(data)
        epochs = [[total for epoch, total in seen if epoch == number] for number in range(2)]
        assert len(data) > 2 and [len(epoch) for epoch in epochs] == [len(data)] * 2
        assert trainer.global_step == 2 * len(data) and trainer.num_training_batches == len(data)
        assert len(set(epochs[0]) | set(epochs[1])) == len(seen)  # other crops, another order
        assert data.epoch == 2
    stop = len(data) + 2  # in the second epoch
    with loader(photographs) as data:
        begun, _ = fit(data, stop_after=stop, min_epochs=1)
        assert begun == seen[:len(begun)] and len(begun) >= stop
    with loader(photographs) as data:
        rest, trainer = fit(data, checkpoint=tmp_path / "amid.ckpt")
        assert rest == seen[stop:] and trainer.global_step == 2 * len(data)


@pytest.fixture
def hugging_face(photographs, tmp_path):
    """Trains two epochs. Returns the sum of pixels of every batch and the number of steps."""
    transformers = pytest.importorskip("transformers", reason="it is not installed: make test-frameworks")
    pytest.importorskip("accelerate", reason="it is not installed: pip install accelerate")

    class Model(torch.nn.Module):
        def __init__(self, classes, seen):
            super().__init__()
            self.net, self.seen = network(classes), seen

        def forward(self, pixel_values, labels):
            assert pixel_values.device == labels.device == next(self.parameters()).device
            self.seen.append(float(pixel_values.double().sum()))
            logits = self.net(pixel_values)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return self.data

    def run(data, resume=None, **options):
        seen = []
        arguments = transformers.TrainingArguments(
            output_dir=tmp_path, num_train_epochs=2, per_device_train_batch_size=16, report_to=[], use_cpu=True,
            disable_tqdm=True, logging_strategy="epoch", **options)
        trainer = Trainer(Model(len(data.classes), seen), arguments)
        trainer.data = data
        return seen, trainer.train(resume_from_checkpoint=resume).global_step

    return run


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_s_trainer_trains_two_epochs_and_resumes_in_mid_epoch(hugging_face, photographs, tmp_path):
    with loader(photographs, names=("pixel_values", "labels")) as data:
        stop = len(data) + 2  # in the second epoch
        seen, steps = hugging_face(data, save_strategy="steps", save_steps=stop)
        assert steps == 2 * len(data) == len(seen)
        data.set_epoch(0)
        expected = [float(batch["pixel_values"].double().sum()) for batch in itertools.chain(data, data)]
        assert seen == expected and len(set(seen)) == len(seen)
    with loader(photographs, names=("pixel_values", "labels")) as data:
        rest, steps = hugging_face(data, resume=tmp_path / f"checkpoint-{stop}", save_strategy="no")
        assert rest == expected[stop:] and steps == 2 * len(data)
    with pytest.raises(un.errors.ArgumentError, match="names.: found .*; expected 2 different names, for images"):
        loader(photographs, names=("pixels",))


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.full((3,), index), index


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(Numbers()[index] for index in range(20))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("kind", ["replace", "skip", "map-style", "workers", "iterable"])
def test_skip_first_batches_of_accelerate_resumes_a_loop(tmp_path, kind, prepared):
    accelerate = pytest.importorskip("accelerate", reason="it is not installed: make test-frameworks")
    if kind in ("replace", "skip"):
        pipeline = un.open(photos(tmp_path, bad=(5, 7, 20, 22))).sequential().center_crop(32)
        data = pipeline.errors(kind).batch(2).to_torch()
        restart = data.set_epoch
    else:
        data = un.DataLoader(Stream() if kind == "iterable" else Numbers(), batch_size=3,
                             num_workers=2 if kind == "workers" else 0)
        restart = int
    epoch = [images.clone() for images, _ in data]
    restart(0)
    here = accelerate.Accelerator(cpu=True).prepare(data) if prepared else data
    rest = [images.clone() for images, _ in accelerate.skip_first_batches(here, 4)]
    assert len(epoch) == {"replace": 12, "skip": 10}.get(kind, 7)
    assert len(rest) == len(epoch) - 4 and all(map(torch.equal, rest, epoch[4:]))
    data.close()


def test_batches_by_index_equal_those_of_the_epoch(photographs):
    with loader(photographs) as data:
        data.set_epoch(1)
        epoch = [images.clone() for images, _ in data]
        data.batch_sampler.set_epoch(1)
        numbers = list(data.batch_sampler)[2:]
        rest = torch.utils.data.DataLoader(data.dataset, batch_sampler=numbers, collate_fn=data.collate_fn)
        assert len(rest) == len(epoch) - 2 and len(data.dataset) == data.samples
        assert all(map(torch.equal, [images for images, _ in rest], epoch[2:]))
        for number in (0, 3, 4, 1):
            data.set_epoch(1)
            assert torch.equal(data.dataset.__getitems__([number])[0][0], epoch[number])
        assert data.state_dict()["samples"] == 2 * 16
        for batch, rejected in ((-1, r"set_epoch\(batch\): found -1; expected 0 or more"),
                               (len(data), rf"set_epoch\(batch\): found {len(data)}; expected 0 to {len(data) - 1}")):
            with pytest.raises(un.errors.ArgumentError, match=rejected):
                data.set_epoch(0, batch)
    relaxed = un.open(photographs).resize((8, 8)).options(order="relaxed").batch(16)
    with pytest.raises(un.errors.ArgumentError, match=r"set_epoch\(batch\): found 1 with order='relaxed'"):
        relaxed.set_epoch(0, 1)
