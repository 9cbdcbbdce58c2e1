#pragma once
// The table of all operations: those of the library and those that the program has added.
//
// Threads: any.

#include <memory>
#include <string_view>
#include <vector>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {

struct OperationInfo {
  std::string_view name;
  std::string_view help;  // one line with its parameters and their defaults
  std::unique_ptr<Operation> (*make)(const OpParams& params);
};

// The library's operations in the order of the documentation, then the added ones.
[[nodiscard]] std::vector<OperationInfo> operations();
// Adds an operation for the life of the process, before the first spec with it is read. Specs and settings files then
// accept it; the schema, help and messages list it.
//   name  lower-case letters, digits, underscores; not yet taken. Like help, text that lives as long as the process
//   make  reads parameters by Parameters, which checks them and reports them to the schema
// A folder of cached pixels identifies operations by name and parameters: give a changed operation a new name.
// Throws Error(kArgument).
void add_operation(const OperationInfo& info);
// Throws Error(kArgument) for an unknown name (the message lists the known ones), an unknown or malformed parameter.
[[nodiscard]] std::unique_ptr<Operation> make_operation(const OpSpec& spec);
// The parameters of the operation of this name; empty if there is none.
[[nodiscard]] std::vector<ParameterInfo> parameters_of(std::string_view operation);

}  // namespace unstarve
