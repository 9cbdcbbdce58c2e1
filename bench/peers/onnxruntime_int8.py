"""ONNX Runtime with a model of its own quantiser, one batch after the other, all cores for each.

Quantisation as its documentation advises for networks of convolutions: shape inference and folding first, Q/DQ form,
weights per channel. Candidates: activations as int8 (its default) or uint8 (documented as faster on some x86
CPUs), and threads that wait in a loop (its default) or sleep.
"""

from bench.peers.inputs import CROP

ENVIRONMENT = "quantisers"
JOBS = ["infer"]


def candidates(job):
    return [{"activations": activations, "spinning": spinning}
            for activations in ("QUInt8", "QInt8") for spinning in ("1", "0")]


def quantised_model(job, activations):
    """Returns the path of the quantised model, which is made once."""
    from pathlib import Path

    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    from bench.peers.calibration_images import calibration_images

    model = Path(job["models"]) / (job["network"] + ".onnx")
    ready = model.with_name(f"{job['network']}-onnxruntime-{activations}.onnx")
    if ready.exists():
        return ready
    prepared, part = (ready.with_suffix(suffix) for suffix in (".prepared.onnx", ".part.onnx"))
    quant_pre_process(str(model), str(prepared))

    class Images(CalibrationDataReader):
        def __init__(self):
            self.images = calibration_images(job["data"])

        def get_next(self):
            image = next(self.images, None)
            return None if image is None else {input_name: image}

    import onnx

    input_name = onnx.load(str(model)).graph.input[0].name
    quantize_static(str(prepared), str(part), Images(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType[activations], weight_type=QuantType.QInt8)
    prepared.unlink()
    part.rename(ready)
    return ready


def batches(job, settings):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job["cores"], 1
    options.add_session_config_entry("session.intra_op.allow_spinning", settings["spinning"])
    model = quantised_model(job, settings["activations"])
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    images = numpy.random.default_rng(0).uniform(-2, 2, (job["batch"], 3, CROP, CROP)).astype(numpy.float32)
    while True:
        yield images, session.run(None, {name: images})[0]


def check(source):
    """Returns the shape and the range of the outputs."""
    _, outputs = next(source)
    return {"shape": list(outputs.shape), "range": [float(outputs.min()), float(outputs.max())]}
