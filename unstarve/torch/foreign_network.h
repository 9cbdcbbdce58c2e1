#pragma once
// Networks whose passes are function calls (ForeignNetwork, train/trainer.h), and the operators by which Python
// exchanges tensors with them:
//
//   torch.ops.unstarve    new_network() -> int
//                         add_parameter(int network, str name, Tensor parameter)    name: as in a state_dict
//                         add_buffer(int network, str name, Tensor buffer)
//                         input(int network) -> Tensor       the images in forward(), the logits in loss()
//                         labels(int network) -> Tensor      in loss(): classes, or probabilities
//                         output(int network, Tensor output) the logits in forward(), the loss in loss()
//                         loss(int network) -> Tensor        in backward()
//                         drop_network(int network)
//
// Operators of libtorch's dispatcher receive and return tensors of Python with their graphs. This module therefore
// needs neither Python nor libtorch_python, and works with every version of Python.
//
// Ownership: a network shares its parameters and buffers with the Python module.
// Threads:   any; those of one network by one thread at a time.
// Failure:   c10::Error, in Python RuntimeError, for a number that does not exist.
//
// register_operators() (torch_trainer.h) registers them.

#include "unstarve/models/layers.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// The network with the tensors that were added to `calls.number`. Its forward() and loss() throw Error(kArgument) if
// the call stored no output.
[[nodiscard]] NetworkPtr take_network(const ForeignNetwork& calls);

}  // namespace unstarve
