"""Training by several processes, by torch's process group."""

import os

import torch
import torch.distributed as dist

from unstarve import _core
from unstarve.arguments import rank_and_world


def process_group() -> str:
    """Returns the name of torch's default process group.

    If there is none, it is created as torchrun's environment describes: NCCL between GPUs, Gloo between CPUs.
    """
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    group = dist.group.WORLD
    if group is None:
        raise RuntimeError("torch.distributed: found no process group after init_process_group(); expected one")
    return group.group_name


def joined() -> tuple[int, int, int, int, str] | None:
    """Joins the other processes of a data-parallel training, if there are any.

    Returns:
        The rank of this process, the number of ranks, both also among the ranks of this machine, and the name of the
        process group; None for a single process.
    """
    several = dist.is_available() and (dist.is_initialized() or rank_and_world()[1] > 1)
    group = process_group() if several else ""
    if not several or dist.get_world_size() == 1:
        return None
    local_rank, local_world = (int(os.environ.get(name, default))
                               for name, default in (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")))
    return dist.get_rank(), dist.get_world_size(), local_rank, local_world, group


def train(arguments: list[str]) -> int:
    """Trains as one rank of torch's default process group.

    Args:
        arguments: the command line, e.g. `["unstarve", "train", "photos/"]`.

    Returns:
        The exit code of `unstarve train`.
    """
    os.environ["UNSTARVE_PROCESS_GROUP"] = process_group()
    code = _core.run_program(arguments)
    if code == 0:  # otherwise the other ranks may not be there
        dist.destroy_process_group()
    return code
