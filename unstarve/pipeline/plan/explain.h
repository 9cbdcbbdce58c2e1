#pragma once
// A plan in words.
//
// Threads: pure.

#include <string>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// One step in one line, such as "Select(0) random_resized_crop".
[[nodiscard]] std::string step_text(const Plan& plan, const Step& step);
// The program of a sample and, if any, of a batch, a line each: "program     Read, Open, Decode(whole), ...".
[[nodiscard]] std::string program_text(const Plan& plan);
// Source, order, operations, sizes, program, memory, passes and decoding with their reasons, a line each. Stable order;
// for people, not for parsing.
[[nodiscard]] std::string explain(const Plan& plan, const SampleSet& samples, const Order& order);

}  // namespace unstarve
