"""unstarve keeps the accelerator busy: it finds what starves training, removes it, and proves the gain.

The package is the skeleton that the loader's bindings will fill: it imports without torch and tells its version, which
is that of the C++ library and of the program. What it holds today is `unstarve.weights`, which turns PyTorch
checkpoints into safetensors files that the program trains from.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
