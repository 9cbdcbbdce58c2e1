#pragma once
// The optimisation passes by name (pass_table.inl), as a spec switches them: "passes: {crop_into_decode: false}".

#include <span>
#include <string_view>

namespace unstarve {

struct PipelineSpec;

struct PassSwitch {
  std::string_view name;
  std::string_view help;     // one line: what the pass does
  std::string_view error{};  // of an approximate pass: the bound of its error; empty: the pass is exact
};

// All passes, in the order in which they run.
[[nodiscard]] std::span<const PassSwitch> pass_switches();

// Whether the pass may apply: as the spec switches it; by default exact passes may and approximate ones may not.
[[nodiscard]] bool is_enabled(const PipelineSpec& spec, const PassSwitch& pass);
// The same, by name. Precondition: there is such a pass.
[[nodiscard]] bool is_enabled(const PipelineSpec& spec, std::string_view pass);

// Throws Error(kArgument) if the spec switches an unknown pass.
void check_pass_switches(const PipelineSpec& spec);

}  // namespace unstarve
