"""The table of comparisons: name, job, both sides.

A side is ("python", peer module) or ("ours", mode of bench/ours). A peer can also be ("ours-per-core", mode): one
process with one thread on each core, all concurrent. Jobs are plain data and equal for both sides, except for options
of the peer. run.py adds the `data` folder.
"""

from dataclasses import dataclass

from bench.operations import OPERATIONS, UINT8

IMAGENET = {"job": "imagenet-train", "batch": 256, "seed": 0}
IMAGENET_INDEXED = IMAGENET | {"indexed": True}
DATASET = {"job": "dataset", "batch": 32, "seed": 0}
FUNCTIONS = {"job": "functions", "batch": 256, "seed": 0}
FIRST_EPOCH = {"job": "dataset-first-epoch", "batch": 32, "images": 320, "seed": 0}
CIFAR = {"job": "cifar-train", "batch": 512, "seed": 0}
RESNET18 = {"job": "train", "model": "resnet18", "classes": 1000, "image_size": 224, "batch": 32, "seed": 0}
TAR = {"job": "tar-read", "batch": 256, "order": "sequential", "seed": 0}
TFRECORD = {"job": "tfrecord-read", "batch": 256, "order": "sequential", "seed": 0}
PARQUET = {"job": "parquet-read", "batch": 256, "order": "sequential", "seed": 0}
FIRST_BATCH = {"job": "folder-first-batch", "batch": 256, "seed": 0}
COLD = {"job": "imagenet-train", "batch": 256, "seed": 0, "read_ahead": -1}
COLD_SMALL = {"job": "folder-first-batch", "batch": 256, "seed": 0, "read_ahead": -1}
EVAL = {"job": "imagenet-eval", "batch": 256, "seed": 0}
RAW = {"job": "packed-raw-256", "batch": 256, "seed": 0}
RESIZE_AREA = {"job": "resize", "images": 160, "size": [224, 224],
               "operations": "operations: [{resize: {size: [224, 224], interpolation: area}}]\n" + UINT8}
RESIZE_BILINEAR = RESIZE_AREA | {"operations": "operations: [{resize: {size: [224, 224]}}]\n" + UINT8}
RANDAUGMENT = {"job": "randaugment", "images": 160, "side": 224, "operations": "operations: [rand_augment]\n" + UINT8}
DECODE = {"job": "decode", "index": False, "seed": 0}
DECODE_INDEXED = DECODE | {"index": True}
AVX2 = {"instructions": "avx2"}
PACK = {"job": "pack", "resize": 256}
# A million samples of almost no cost: small batches measure the cost per batch, large batches the cost per sample.
TINY_BATCHES = {"job": "trivial", "source": "sleep:ms=0,images=1000000,size=8", "batch": 16, "seed": 0}
SCHEDULING = {"job": "trivial", "source": "sleep:ms=0,images=1000000,size=1", "batch": 1024, "seed": 0}
STRAGGLERS = {"job": "stragglers", "batch": 128, "threads": 32, "order": "relaxed", "seed": 0}
OVERLAP = {"job": "overlap", "batch": 32, "seed": 0}
# Kernels as small as possible, so that most of a step is the work of the host between them.
LAUNCH = RESNET18 | {"model": "mobilenet_v2", "classes": 10, "image_size": 32, "batch": 2, "host_time": True}
GPU = {"device": "cuda", "precision": "bfloat16"}
LAUNCH_GPU = RESNET18 | GPU | {"host_time": True}
RESNET50_GPU = RESNET18 | GPU | {"model": "resnet50", "batch": 256}
RESNET50 = RESNET18 | {"model": "resnet50", "batch": 16}
MOBILENET = RESNET18 | {"model": "mobilenet_v2"}
INFER = {"job": "infer", "precision": "int8", "batch": 1}
INFER_ALL = INFER | {"job": "infer-end-to-end", "network": "resnet50"}
CIFAR_NET = {"job": "train", "model": "cifar_net", "classes": 10, "image_size": 32, "batch": 512, "seed": 0}


@dataclass(frozen=True)
class Comparison:
    name: str
    job: dict
    peer: tuple
    ours: str | tuple = "loader"  # a mode of bench/ours, or a Python side and its settings
    data: str = ""  # a dataset of Bench.folder() in run.py; "": none
    peer_options: tuple = ()  # more (key, value) pairs for the peer's job
    unit: str = "images/s"


def _python(module):
    return ("python", module)


# (name, module)
IMAGENET_PEERS = (("torchvision", "torchvision"), ("pillow", "pillow"), ("simplejpeg", "simplejpeg"),
                  ("tf.data", "tf_data"),
                  ("dali", "dali"), ("ffcv", "ffcv"), ("spdl", "spdl"))


def _operation(row):
    """If torchvision has no such operation, the peer is a copy of the image."""
    peer = _python("torchvision_operation") if row.theirs else ("ours", "operations")
    return Comparison(f"operation/{row.name}", row.job(), peer, ours="batch-operations" if row.batch else "operations",
                      data="" if row.batch else "photographs",
                      peer_options=() if row.theirs else (("operations", "operations: []\n" + UINT8),))


COMPARISONS = (
    *(Comparison(f"imagenet-train/{name}", IMAGENET, _python(module), data="photographs")
      for name, module in IMAGENET_PEERS),
    *(Comparison(f"imagenet-train-python/{name}", IMAGENET, _python(module),
                 ours=("python", "unstarve_loader", {"tensors": True}), data="photographs")
      for name, module in IMAGENET_PEERS),
    Comparison("dataset/torch", DATASET, _python("dataset"), ours=("python", "dataset", {"loader": "unstarve"}),
               data="photographs"),
    Comparison("dataset-first-epoch/torch", FIRST_EPOCH, _python("dataset"),
               ours=("python", "dataset", {"loader": "unstarve"}), data="photographs", unit="first epochs/s"),
    *(Comparison(f"functions/{name}", FUNCTIONS, _python(name), ours=_python("functions_dataset"), data="photographs")
      for name in ("torchvision", "simplejpeg")),
    *(Comparison(f"imagenet-train-indexed/{name}", IMAGENET_INDEXED, _python(module), data="photographs")
      for name, module in IMAGENET_PEERS),
    *(Comparison(f"{name}/ffcv-raw", job, _python("ffcv"), data="photographs", peer_options=(("write", "raw"),))
      for name, job in (("imagenet-train", IMAGENET), ("imagenet-train-indexed", IMAGENET_INDEXED))),
    Comparison("cifar-train/torchvision", CIFAR, _python("torchvision"), data="cifar"),
    Comparison("cifar-train/ffcv", CIFAR, _python("ffcv"), data="cifar"),
    Comparison("cifar-train/torch-batched", CIFAR, _python("torch_batched"), data="cifar"),
    Comparison("cifar-train/memcpy", CIFAR, ("ours", "memcpy"), data="cifar"),
    Comparison("pass/crop_into_decode", IMAGENET, ("ours", "loader"), data="photographs",
               peer_options=(("without", "crop_into_decode"),)),
    Comparison("pass/crop_into_resize", EVAL, ("ours", "loader"), data="photographs",
               peer_options=(("without", "crop_into_resize"),)),
    Comparison("pass/resize_into_decode", IMAGENET, ("ours", "loader"), data="photographs",
               peer_options=(("without", "resize_into_decode"),)),
    Comparison("pass/scan_index", IMAGENET_INDEXED, ("ours", "loader"), data="photographs",
               peer_options=(("without", "scan_index"),)),
    Comparison("pass/scale_into_decode", IMAGENET_INDEXED | {"with": "scale_into_decode"}, ("ours", "loader"),
               data="photographs", peer_options=(("without", "scale_into_decode"),)),
    Comparison("pass/operation_fusion", CIFAR, ("ours", "loader"), data="cifar",
               peer_options=(("without", "operation_fusion"),)),
    Comparison("loader-overhead", IMAGENET, ("ours", "bare"), data="photographs"),
    Comparison("tfrecord-read/tf.data", TFRECORD, _python("tf_records"), ours="records", data="tfrecord"),
    Comparison("tfrecord-read/memcpy", TFRECORD, ("ours", "record-memcpy"), ours="records", data="tfrecord"),
    Comparison("random-over-sequential", TFRECORD | {"order": "random"}, ("ours", "records"), ours="records",
               data="tfrecord", peer_options=(("order", "sequential"),)),
    Comparison("random-over-sequential-tar", TAR | {"order": "random"}, ("ours", "records"), ours="records",
               data="webdataset", peer_options=(("order", "sequential"),)),
    Comparison("tar-read/webdataset", TAR, _python("web_dataset"), ours="records", data="webdataset"),
    Comparison("tar-read/spdl", TAR, _python("spdl_tar"), ours="records", data="webdataset"),
    Comparison("tar-read-mapped/spdl", TAR, _python("spdl_tar"), ours="records", data="webdataset",
               peer_options=(("mapped", True),)),
    Comparison("tar-read-small/spdl", TAR, _python("spdl_tar"), ours="records", data="webdataset-small"),
    Comparison("tar-read-small-mapped/spdl", TAR, _python("spdl_tar"), ours="records", data="webdataset-small",
               peer_options=(("mapped", True),)),
    Comparison("parquet-read/pyarrow", PARQUET, _python("pyarrow_scan"), ours="records", data="parquet"),
    Comparison("parquet-read/petastorm", PARQUET, _python("petastorm"), ours="records", data="parquet-flat"),
    Comparison("folder-first-batch/torch", FIRST_BATCH, _python("torch_folder"), ours="first-batch",
               data="cifar-folder", unit="first batches/s"),
    Comparison("folder-first-batch-uncached/torch", FIRST_BATCH | {"uncached": True}, _python("torch_folder"),
               ours="first-batch",
               data="cifar-folder", unit="first batches/s"),
    Comparison("folder-first-batch/torch-workers", FIRST_BATCH, _python("torch_folder"), ours="first-batch",
               data="cifar-folder", peer_options=(("workers", True),), unit="first batches/s"),
    Comparison("first-batch/torch", FIRST_BATCH, _python("torch_folder"), ours=_python("unstarve_loader"),
               data="cifar-folder", unit="first batches/s"),
    Comparison("python-iteration", TINY_BATCHES, ("ours", "loader"), ours=_python("unstarve_loader"), unit="samples/s"),
    Comparison("scheduling", SCHEDULING, ("ours", "bare"), unit="samples/s"),
    Comparison("overlap-90", OVERLAP, ("ours", "overlap"), ours="overlap", peer_options=(("resident", True),),
               unit="us of work/s"),
    Comparison("stragglers", STRAGGLERS, ("ours", "stragglers"), ours="stragglers", peer_options=(("even", True),),
               unit="samples/s"),
    Comparison("stragglers/exact", STRAGGLERS, ("ours", "stragglers"), ours="stragglers",
               peer_options=(("order", "exact"),), unit="samples/s"),
    Comparison("warm-folder/read-ahead", IMAGENET_INDEXED, ("ours", "loader"), data="photographs",
               peer_options=(("read_ahead", 64),)),
    Comparison("cold-folder/no-read-ahead", COLD, ("ours", "cold"), ours="cold", data="photographs",
               peer_options=(("read_ahead", 0),)),
    Comparison("cold-small-files/no-read-ahead", COLD_SMALL, ("ours", "cold"), ours="cold", data="cifar-folder",
               peer_options=(("read_ahead", 0),)),
    Comparison("cold-shards/no-read-ahead", COLD, ("ours", "cold"), ours="cold", data="webdataset",
               peer_options=(("read_ahead", 0),)),
    *(Comparison(f"imagenet-eval/{name}", EVAL, _python(module), data="photographs")
      for name, module in IMAGENET_PEERS),
    Comparison("packed-raw-256/memcpy", RAW, ("ours", "memcpy"), data="raw-256"),
    Comparison("two-threads", IMAGENET, ("ours", "loader"), data="photographs", peer_options=(("cores", 1),)),
    Comparison("two-threads/two-processes", IMAGENET, ("ours-per-core", "loader"), data="photographs"),
    Comparison("resize/opencv-area", RESIZE_AREA, _python("opencv_resize"), ours="operations", data="photographs"),
    Comparison("resize/pillow-simd", RESIZE_BILINEAR, _python("pillow_simd_resize"), ours="operations",
               data="photographs"),
    Comparison("randaugment/torchvision", RANDAUGMENT, _python("torchvision_randaugment"), ours="operations",
               data="photographs"),
    *map(_operation, OPERATIONS),
    *(Comparison(f"{side}{kind}/libjpeg-turbo-{what}", job, ("ours", peer), ours=side, data="photographs")
      for side, what, peer in (("decode-crop", "full", "libjpeg"), ("entropy", "skip", "libjpeg-skip"))
      for kind, job in (("", DECODE), ("-indexed", DECODE_INDEXED), ("-avx2", DECODE | AVX2),
                        ("-indexed-avx2", DECODE_INDEXED | AVX2))),
    Comparison("pack-resize/pillow", PACK, _python("pillow_pack"), ours="pack", data="photographs-linked"),
    Comparison("pack-copy/plain-write", PACK | {"resize": 0}, _python("plain_write"), ours="pack",
               data="photographs-linked"),
    *(Comparison(f"train-{name}/{peer}", job, _python("eager"), ours="train",
                 peer_options=(("compile", True),) if peer == "compile" else ())
      for name, job in (("resnet18-224", RESNET18), ("resnet50-224", RESNET50), ("mobilenet_v2-224", MOBILENET),
                        ("cifar-32", CIFAR_NET))
      for peer in ("eager", "compile")),
    *(Comparison(f"train-resnet50-224-gpu/{peer}", RESNET50_GPU, _python("eager"), ours="train",
                 peer_options=(("compile", True),) if peer == "compile" else ())
      for peer in ("eager", "compile")),
    Comparison("launch-cost/torch", LAUNCH, _python("eager"), ours="train", unit="steps/s of host time"),
    *(Comparison(f"launch-cost-gpu/{peer}", LAUNCH_GPU | {"graph": graph}, _python("eager"), ours="train",
                 unit="steps/s of host time") for peer, graph in (("torch", "off"), ("torch-graph", "on"))),
    *(Comparison(f"infer-{network}-int8/{name}", INFER | {"network": network}, peer,
                 ours="infer", data="photographs", peer_options=options)
      for network in ("resnet50", "mobilenet_v2")
      for name, peer, options in (("fp32", ("ours", "infer"), (("precision", "float32"),)),
                                  ("onnxruntime", _python("onnxruntime_int8"), ()),
                                  ("openvino-nncf", _python("openvino_nncf"), ()))),
    Comparison("infer-end-to-end", INFER_ALL, ("ours", "infer-parts"), ours="infer-end-to-end", data="photographs"),
    Comparison("checkpoint-cost", CIFAR_NET | {"checkpoint_seconds": 1}, ("ours", "train"), ours="train",
               peer_options=(("checkpoint_seconds", 0),)),
    Comparison("checkpoint-cost-10", CIFAR_NET | {"batch": 32, "checkpoint_seconds": 0.1}, ("ours", "train"),
               ours="train", peer_options=(("checkpoint_seconds", 0),)),
)
