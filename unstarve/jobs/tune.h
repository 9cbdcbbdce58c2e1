#pragma once
// `unstarve tune`: try optimisations one by one on the user's data, keep those that help, and report the results.
//
// Threads: one caller. Failure: as run_ladder().

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/ledger.h"

namespace unstarve {

struct Report;

struct TuneOptions {
  Settings settings;  // the defaults; tuning starts from base_of() of these
  std::string device = "cpu";
  double minutes = 3;
  bool may_reduce_batch = false;  // as LadderOptions
  bool own_output = false;        // the element type and layout are the user's, so they are written
  std::string program{};          // LadderOptions::program
  // Steps that change what is learned, to try by the time to an accuracy: words_to_try() (ladder/ladder_step.h). They
  // require `validation`, as TrainOptions::validation. Each takes 2 * kMinPairs runs of `epochs`.
  std::vector<std::string> tried{};
  PipelineSpec validation{};
  double epochs = 4;
};

struct TuneResult {
  Ledger ledger;
  Settings winner;                  // never slower than the defaults (ladder.h)
  bool emulated = false;            // the target is an emulated accelerator
  bool own_output = false;          // as TuneOptions
  RatioInterval total;              // of the winner to the base
  RatioInterval over_defaults;      // of the tuned settings to the defaults; no pairs if these are the defaults
  Profile before, after;            // of base and winner
  std::vector<RecordedSpan> spans;  // of the ladder
  std::string verdict;              // one sentence
  std::string noise;                // what noise or a short time left open, one sentence; empty: nothing
  double times_needed = 1;          // the time that would have sufficed for all steps, relative to the present one
};

[[nodiscard]] TuneResult run_tune(const TuneOptions& options, const Progress& progress = {});

// Whether steps were kept, and how they compare with the defaults. kNotMeasured: none fitted into the time. kFewer...:
// none was kept; the defaults without the steps that made the plain settings slower were compared with the defaults.
// kByAccuracy: steps were kept for their time to an accuracy, and the others are not faster.
enum class KeptSteps {
  kNone,
  kNotMeasured,
  kInDefaults,
  kNotFaster,
  kFaster,
  kFewerNotFaster,
  kFewerFaster,
  kByAccuracy
};
[[nodiscard]] KeptSteps kept_steps(const Ledger& ledger, const RatioInterval& over_defaults);
// One sentence with both ratios. "defaults are best" requires that the plain settings are not faster, and that
// the comparison with other settings is decided.
[[nodiscard]] std::string verdict_of(const RatioInterval& over_base, const RatioInterval& over_defaults,
                                     KeptSteps kept);

// What is still open after `tune`.
struct Undecided {
  std::vector<std::string> noisy;         // comparisons whose interval contains 1 and spans more than 10 %
  std::vector<std::string> not_measured;  // steps that did not fit into the time
  double times_longer = 1;                // the time that decides on all of `noisy`, relative to the present one
};
[[nodiscard]] Undecided undecided(const TuneResult& result);
// Sets `noise` of results that leave something open. `command`: the command that produced them, which took `minutes`;
// the sentence contains it with the --minutes that it needs, at most kLongest.
void describe_noise(std::vector<TuneResult>& results, const std::string& command, double minutes);

// The text of the file for `--config`, with a comment that names its origin. For an emulated accelerator it is a
// pipeline spec: nothing was measured about the precision and memory layout of a network. It has an output only if the
// user's spec has one.
[[nodiscard]] std::string winner_yaml(const TuneResult& result, const std::string& command);
[[nodiscard]] Recording recording_of(const TuneResult& result, const std::string& command);
[[nodiscard]] Report report_of(const std::vector<TuneResult>& results, const std::string& title,
                               const std::string& command);
// The table, the verdict and the noise.
[[nodiscard]] std::string to_text(const TuneResult& result, int width);
// See "tune" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const TuneResult& result);

}  // namespace unstarve
