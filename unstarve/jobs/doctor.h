#pragma once
// `unstarve doctor`: report configuration problems and how to fix them.
//
// Threads: pure functions except run_doctor(), which reads the machine. Failure: only std::bad_alloc; facts that cannot
// be read are left out.

#include <string>

#include "unstarve/jobs/doctor/doctor_facts.h"
#include "unstarve/jobs/doctor/findings.h"

namespace unstarve {

struct DoctorResult {
  DoctorFacts facts;
  DoctorFindings findings;  // of find_problems()
};

// The compiler that compiled this library.
[[nodiscard]] std::string compiler_name();

[[nodiscard]] DoctorResult run_doctor(const BuildFacts& build);

// See "doctor" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const DoctorResult& result);
[[nodiscard]] std::string to_text(const DoctorResult& result);

}  // namespace unstarve
