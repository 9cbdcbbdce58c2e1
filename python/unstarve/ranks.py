"""Training by several processes that torchrun started."""

import os

import torch
import torch.distributed as dist

from unstarve import _core


def train(arguments: list[str]) -> int:
    """Trains as one rank of torch's default process group: NCCL between GPUs, Gloo between CPUs.

    Args:
        arguments: the command line, e.g. `["unstarve", "train", "photos/"]`.

    Returns:
        The exit code of `unstarve train`.
    """
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    group = dist.group.WORLD
    if group is None:
        raise RuntimeError("torch.distributed: found no process group after init_process_group(); expected one")
    os.environ["UNSTARVE_PROCESS_GROUP"] = group.group_name
    code = _core.run_program(arguments)
    if code == 0:  # otherwise the other ranks may not be there
        dist.destroy_process_group()
    return code
