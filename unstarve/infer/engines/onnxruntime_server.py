"""The process of an engine of ONNX Runtime: python -P -c THIS ENGINE. engine_process.h has the requests and answers.

onnxruntime computes on the CPU, tensorrt on a GPU by TensorRT, and by CUDA what that does not support.

One session computes all streams: each stream is a thread that calls session.run(), which releases the interpreter lock.
"""

import json
import mmap
import os
import queue
import signal
import sys
import tempfile
import threading

# The operators of which the time of a network consists, by what they multiply: int8, int8 weights, or float32.
PRODUCTS = {**dict.fromkeys(["QLinearConv", "ConvInteger", "QGemm", "QLinearMatMul", "MatMulInteger",
                             "MatMulIntegerToFloat", "DynamicQuantizeMatMul"], "I8"),
            "MatMulNBits": "W8",
            **dict.fromkeys(["Conv", "FusedConv", "ConvTranspose", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"],
                            "F32")}
TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16"}


def facts(ports):
    return [{"name": port.name, "type": TYPES.get(port.type[7:-1], port.type[7:-1]),
             "shape": [side if isinstance(side, int) else -1 for side in port.shape]} for port in ports]


def kernels(events):
    """The number of convolutions and matrix products by operator, from a profile of one run."""
    found = [event["args"]["op_name"] for event in events if event["name"].endswith("_kernel_time")]
    return {f"{name} cpu_{PRODUCTS[name]}": found.count(name) for name in found if name in PRODUCTS}


class Missing(Exception):
    """A package or a part of it."""


class Server:
    def __init__(self, answers, engine):
        self.answers, self.engine, self.lock = answers, engine, threading.Lock()
        self.path, self.session, self.waiting, self.threads = None, None, queue.SimpleQueue(), []

    def write(self, answer):
        with self.lock:
            print(json.dumps(answer), file=self.answers, flush=True)

    def open(self, threads, optimise, providers, profile=None):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        # Threads that wait in a loop would take the cores of the loader.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if profile:
            options.enable_profiling, options.profile_file_prefix = True, profile
        if not optimise:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(self.path, options, providers=providers)

    def providers(self):
        """Of the computing session."""
        import onnxruntime
        if self.engine != "tensorrt":
            return ["CPUExecutionProvider"]
        found = onnxruntime.get_available_providers()
        if "TensorrtExecutionProvider" not in found:
            raise Missing(f"found the providers {', '.join(found)} in onnxruntime {onnxruntime.__version__} of "
                          f"{sys.executable}; expected TensorrtExecutionProvider. Run: pip install onnxruntime-gpu "
                          "tensorrt")
        with open(self.path, "rb") as file:
            is_quantised = b"QuantizeLinear" in file.read()
        return [("TensorrtExecutionProvider", {"trt_int8_enable": is_quantised}), "CUDAExecutionProvider",
                "CPUExecutionProvider"]

    def load(self, request):
        import onnxruntime
        self.path = request["load"]
        session = self.open(1, optimise=False, providers=["CPUExecutionProvider"])
        return {"version": onnxruntime.__version__, "inputs": facts(session.get_inputs()),
                "outputs": facts(session.get_outputs())}

    def compile(self, request):
        if request["precision"] != "float32":
            raise ValueError(f"found precision {request['precision']}; expected float32")
        with tempfile.TemporaryDirectory() as folder:
            return self.compile_and_run(request, os.path.join(folder, "profile"))

    def compile_and_run(self, request, profile):
        import numpy
        self.session = self.open(max(1, request["threads"] // request["streams"]), optimise=True,
                                 providers=self.providers(), profile=profile)
        used = self.session.get_providers()
        if self.engine == "tensorrt" and used[0] != "TensorrtExecutionProvider":  # its libraries were not loaded
            raise Missing(f"ONNX Runtime uses {used[0]}; expected TensorrtExecutionProvider. Run: pip install tensorrt")
        self.input, self.output = self.session.get_inputs()[0].name, self.session.get_outputs()[0].name
        self.shape = request["shape"]
        sample = numpy.zeros(self.shape, numpy.float32)
        self.output_shape = list(self.session.run([self.output], {self.input: sample})[0].shape)
        with open(self.session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
        for _ in self.threads:  # those of the settings before
            self.waiting.put(None)
        for thread in self.threads:
            thread.join()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(request["streams"])]
        for thread in self.threads:
            thread.start()
        # TensorRT computes a part of the model as one node.
        return {"output_shape": self.output_shape, "precision": "",
                "kernels": kernels(events) if self.engine == "onnxruntime" else {}}

    def bind(self, request):
        import numpy
        inputs, outputs = (int(numpy.prod(shape)) for shape in (self.shape, self.output_shape))
        memory = mmap.mmap(request["memory"], 4 * (inputs + outputs) * request["requests"])
        rows = numpy.frombuffer(memory, numpy.float32).reshape(request["requests"], inputs + outputs)
        self.inputs = [row[:inputs].reshape(self.shape) for row in rows]
        self.outputs = [row[inputs:].reshape(self.output_shape) for row in rows]
        return {}

    def work(self):
        while (request := self.waiting.get()) is not None:
            try:
                self.outputs[request][...] = self.session.run([self.output], {self.input: self.inputs[request]})[0]
                self.write({"done": request})
            except Exception as error:  # any error of the engine is an answer
                self.write(self.failure(f"run {self.path}", error))

    def answer(self, request):
        if "run" in request:
            self.waiting.put(request["run"])
        elif "load" in request:
            self.write(self.load(request))
        elif "shape" in request:
            self.write(self.compile(request))
        elif "profile" in request:
            self.write({"layers": []})
        else:
            self.write(self.bind(request))

    def failure(self, what, error):
        return {"error": f"engine {self.engine}: {what}: " + " ".join(str(error).split()), "kind": "input"}

    def missing(self, text):
        return {"error": f"engine {self.engine}: {text}", "kind": "missing"}


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent stops in order, and closes the input
    server = Server(os.fdopen(os.dup(1), "w"), sys.argv[1])
    os.dup2(2, 1)  # libraries may print
    for line in sys.stdin:
        request = json.loads(line)
        try:
            server.answer(request)
        except Missing as error:
            server.write(server.missing(error))
        except ImportError as error:
            server.write(server.missing(f"{error} in {sys.executable}; expected onnxruntime and numpy. "
                                        "Run: pip install 'unstarve[infer]'   (in a source tree: make setup)"))
        except Exception as error:
            server.write(server.failure(("load " if "load" in request else "compile ") + str(server.path), error))
    os._exit(0)  # without waiting for threads that compute


main()
