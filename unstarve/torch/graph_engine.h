#pragma once
// The engine libtorch: runs an ONNX file by libtorch's operators on the CPU, with weights and images in channels-last
// memory. Q/DQ nodes are computed in float32.
//
// Threads: as Engine; one thread of its own computes. Failure: as Engine; Error(kInput) for more than one stream, and
//          as read_onnx().

#include <memory>
#include <string>

#include "unstarve/infer/engines/engine.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<Engine> make_libtorch_engine(const std::string& model);

}  // namespace unstarve
