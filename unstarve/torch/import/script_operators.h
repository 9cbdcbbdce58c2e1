#pragma once
// Converts aten operators of TorchScript to nodes of a model graph: one function and one row of the table each.
//
// Threads: any. Failure: UnsupportedScript, UnknownInput (script_values.h).

#include <string_view>

namespace unstarve::infer {

class ScriptValues;

// Whether the table has `op`: the name of an operator without "aten::" and without the underscore of those in place.
[[nodiscard]] bool is_operator(std::string_view op);

// Converts the node of `values`, which is `op`.
void convert_operator(std::string_view op, ScriptValues& values);

}  // namespace unstarve::infer
