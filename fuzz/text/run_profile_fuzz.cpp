// Arbitrary bytes as the JSON of a RunProfile: rejected with Error(kInput), or equal after writing and reading it.
// What is accepted can be explained, and shown as a page and as a trace.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/diagnose_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  unstarve::TraceDiagnosis diagnosis;
  try {
    diagnosis.profile =
        unstarve::run_profile_from_json(std::string(reinterpret_cast<const char*>(data), size), "profile.json");
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
    return 0;
  }
  const std::string text = unstarve::to_json(diagnosis.profile);
  if (unstarve::to_json(unstarve::run_profile_from_json(text, "again")) != text) std::abort();
  diagnosis.findings = unstarve::findings_of(diagnosis.profile);
  if (unstarve::to_text(diagnosis).empty()) std::abort();
  if (unstarve::render_report(unstarve::report_of(diagnosis, "command")).empty()) std::abort();
  if (unstarve::chrome_trace(diagnosis.profile, diagnosis.findings).empty()) std::abort();
  return 0;
}
