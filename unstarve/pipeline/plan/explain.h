#pragma once
// A plan as text for users.
//
// Threads: pure.

#include <string>

namespace unstarve {

class Order;
class SampleSet;
struct ExecutionPlan;
struct Plan;

// The program of a sample: "Read, Open, Decode(whole), ...".
[[nodiscard]] std::string program_text(const Plan& plan);
// Source, order, operations, sizes, memory, passes, decoding and program with their reasons, a line each.
[[nodiscard]] std::string explain(const Plan& plan, const ExecutionPlan& execution, const SampleSet& samples,
                                  const Order& order);

}  // namespace unstarve
