"""OpenVINO with a model quantised by NNCF, one batch after the other, all cores for each.

Candidates: NNCF's presets, symmetric (its default, PERFORMANCE) or with zero points for activations (MIXED).
"""

from bench.peers.inputs import CROP
from bench.peers.onnxruntime_int8 import check

ENVIRONMENT = "quantisers"
JOBS = ["infer"]

__all__ = ["batches", "candidates", "check"]


def candidates(job):
    return [{"preset": "PERFORMANCE"}, {"preset": "MIXED"}]


def quantised_model(job, preset):
    """Returns the path of the quantised model, which is made once."""
    from pathlib import Path

    import nncf
    import openvino

    from bench.peers.calibration_images import IMAGES, calibration_images

    model = Path(job["models"]) / (job["network"] + ".onnx")
    ready = model.with_name(f"{job['network']}-nncf-{preset}.xml")
    if ready.exists():
        return ready
    quantised = nncf.quantize(openvino.Core().read_model(model),
                              nncf.Dataset(list(calibration_images(job["data"]))),
                              preset=nncf.QuantizationPreset[preset], subset_size=IMAGES)
    part = ready.with_name("part-" + ready.name)
    openvino.save_model(quantised, part, compress_to_fp16=False)
    part.with_suffix(".bin").rename(ready.with_suffix(".bin"))
    part.rename(ready)
    return ready


def batches(job, settings):
    import numpy
    import openvino

    core = openvino.Core()
    model = core.read_model(quantised_model(job, settings["preset"]))
    model.reshape([job["batch"], 3, CROP, CROP])
    compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": job["cores"]})
    request = compiled.create_infer_request()
    images = numpy.random.default_rng(0).uniform(-2, 2, (job["batch"], 3, CROP, CROP)).astype(numpy.float32)
    request.set_input_tensor(openvino.Tensor(images))
    while True:
        request.infer()
        yield images, request.get_output_tensor().data
