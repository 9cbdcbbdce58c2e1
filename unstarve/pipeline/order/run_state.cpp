#include "unstarve/pipeline/order/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "unstarve/core/base64.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/pipeline/order/mixture_state.h"
#include "unstarve/storage/dataset/data_identity.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
// Epochs are counted in 32 bits; only the lower half can be resumed, which leaves room for further epochs.
constexpr std::uint64_t kMaxEpoch = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxBatch = std::numeric_limits<std::int32_t>::max();

template <class... Args>
[[noreturn]] void reject_state(fmt::format_string<Args...> what, Args&&... args) {
  throw argument_error("state: {}", fmt::format(what, std::forward<Args>(args)...));
}

// Settings of a state without "order".
const Json& default_settings() {
  static const Json settings = {
      {"window", 0}, {"repeat", 1},      {"epoch", 0}, {"balance", false}, {"class_weights", Json::object()},
      {"set", ""},   {"bucket", nullptr}};
  return settings;
}

// A digest, because there may be thousands of classes.
std::string digest_of(const std::map<std::string, double>& weights) {
  std::uint64_t digest = mix_bits(weights.size());
  for (const auto& [name, weight] : weights) {
    for (const char letter : name) digest = tweak_of(digest, static_cast<unsigned char>(letter));
    digest = tweak_of(digest, std::bit_cast<std::uint64_t>(weight + 0.0));
  }
  return fmt::format("{:016x}", digest);
}

Json parse(const std::string& text) {
  const Json state = try_parse_ordered_json(text);
  if (!state.is_object()) reject_state("found {}; expected the JSON object of a loader's state", text.substr(0, 60));
  return state;
}

std::string text_of(const Json& state, const char* key) {
  return state.contains(key) ? json_text(state[key]) : std::string("nothing");
}

std::uint64_t integer(const Json& state, const char* key, std::uint64_t min, std::uint64_t max) {
  const auto found = state.find(key);
  if (found == state.end() || !found->is_number_integer())
    reject_state("{}: found {}; expected a whole number", key, text_of(state, key));
  // A negative number is larger than `max` after the conversion.
  const auto value = found->get<std::uint64_t>();
  if ((!found->is_number_unsigned() && found->get<std::int64_t>() < 0) || value < min || value > max)
    reject_state("{}: found {}; expected {} to {}", key, json_text(*found), min, max);
  return value;
}

std::uint64_t identity(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    reject_state("data: found {}; expected 16 hexadecimal digits", json_text(value).substr(0, 60));
  return std::stoull(text, nullptr, 16);
}

bool boolean(const Json& state, const char* key) {
  const auto found = state.find(key);
  if (found == state.end() || !found->is_boolean())
    reject_state("{}: found {}; expected true or false", key, text_of(state, key));
  return found->get<bool>();
}

std::vector<bool> bits(const Json& state, const char* key) {
  if (!state.contains(key)) return {};
  const auto read = state[key].is_string() ? bits_from_base64(state[key].get<std::string>()) : std::nullopt;
  if (!read) reject_state("{}: found {}; expected bits in base64", key, text_of(state, key).substr(0, 60));
  return *read;
}

void add_bits(Json& state, const char* key, const std::vector<bool>& bits) {
  if (!bits.empty()) state[key] = bits_to_base64(bits);
}

// The resume position in an epoch of `length` samples; independent of the samples.
EpochPosition combined_position(std::span<const RankProgress> ranks, int batch, LastBatch last, std::uint64_t length) {
  return position_after(ranks, OrderSpec{}, BatchSpec{batch, last == LastBatch::kDrop ? last : LastBatch::kKeep},
                        length);
}

}  // namespace

RunState::RunState(const PipelineSpec& spec, const std::shared_ptr<const SampleSet>& set, std::uint64_t data)
    : spec_(spec.order),
      batch_(spec.batch),
      relaxed_(spec.execution.order == ExecutionOrder::kRelaxed),
      order_(spec.order, spec.batch, OrderBasis{set, {}}),
      records_(set->records()),
      data_(data) {
  if (!set->everything() || !set->weights().empty()) fingerprint_ = set->fingerprint();
  if (spec.order.balance) return;
  weights_ = set->weights();
  if (weights_.empty()) return;
  for (std::size_t i = 0; i < spec.mix[0].earlier_weights.size(); ++i) {
    std::vector<double>& earlier = earlier_.emplace_back();
    for (const SourceSpec& source : spec.mix) earlier.push_back(source.earlier_weights[i]);
  }
}

std::vector<MixtureStretch> RunState::first_stretches() const {
  if (weights_.empty()) return {};
  return {{0, std::vector<std::uint64_t>(weights_.size()), weights_}};
}

Json RunState::settings() const {
  Json all = default_settings();
  all["window"] = spec_.window;
  all["repeat"] = spec_.repeat;
  all["epoch"] = spec_.epoch;
  all["balance"] = spec_.balance;
  if (!spec_.class_weights.empty()) all["class_weights"] = digest_of(spec_.class_weights);
  if (fingerprint_ != 0) all["set"] = fmt::format("{:016x}", fingerprint_);
  if (batch_.bucket.window > 0) {
    const std::uint64_t run = batch_.bucket.run > 0
                                  ? batch_.bucket.run
                                  : static_cast<std::uint64_t>(batch_.size) * static_cast<std::uint64_t>(spec_.world);
    all["bucket"] = {batch_.bucket.window, run};
  }
  return all;
}

std::string RunState::text(const RankProgress& progress, std::span<const MixtureStretch> stretches) const {
  const EpochPosition& start = progress.start;
  const bool has_progress = progress.samples > 0 || !progress.used.empty();
  const bool own_state = relaxed_ && spec_.world > 1 && has_progress;
  EpochPosition at = start;
  if (!own_state && has_progress) {
    if (start.used.empty() && progress.used.empty())
      at.offset = std::min(start.offset + progress.samples * order_.world(), length());
    else  // all ranks have the same progress
      at = combined_position(std::vector<RankProgress>(order_.world(), progress), batch_.size, batch_.last, length());
  }
  if (at.offset >= length()) at = {at.epoch + 1, 0, 0, {}};

  Json state = {{"version", kVersion}, {"epoch", at.epoch},        {"samples", at.offset},
                {"seed", spec_.seed},  {"shuffle", spec_.shuffle}, {"dataset", records_}};
  if (data_ != 0) state["data"] = fmt::format("{:016x}", data_);
  if (own_state) {
    state["rank"] = spec_.rank;
    state["world"] = spec_.world;
    state["batch"] = batch_.size;
    state["drop_last"] = batch_.last == LastBatch::kDrop;
    state["rank_samples"] = progress.samples;
    add_bits(state, "rank_window", progress.used);
  }
  add_bits(state, "window", at.used);
  Json changed = Json::object();
  const Json all = settings();
  for (const auto& [key, value] : all.items())
    if (value != default_settings()[key]) changed[key] = value;
  if (!changed.empty()) state["order"] = std::move(changed);
  if (!stretches.empty()) state["mix"] = mixture_state(stretches, at.epoch * length() + at.offset);
  return json_text(state);
}

std::uint64_t RunState::check(const Json& state) const {
  if (!state.contains("version")) reject_state("found no version; expected the result of state_dict()");
  if (state["version"] != kVersion) reject_state("version {}; expected {}", text_of(state, "version"), kVersion);
  (void)integer(state, "epoch", 0, kMaxEpoch);
  if (const auto found = state.find("dataset");
      found != state.end() && found->is_number_unsigned() && *found != records_) {
    reject_state(
        "found a state of other data, of {} samples; expected this data, of {}. Open the data of the run that saved "
        "the state",
        json_text(*found), records_);
  }
  (void)integer(state, "samples", 0, length());
  const Json expected = {{"seed", spec_.seed}, {"shuffle", spec_.shuffle}, {"dataset", records_}};
  for (const auto& [key, value] : expected.items())
    if (!state.contains(key) || state[key] != value)
      reject_state("{} {}, but this loader has {}", key, text_of(state, key.c_str()), json_text(value));
  if (const auto found = state.find("data"); found != state.end() && data_ != 0) {
    if (const std::uint64_t theirs = identity(*found); theirs != data_)
      reject_state(
          "found a state of other data of as many samples, which differ in: {}; expected the same data in the same "
          "order, at any path. Open the data of the run that saved the state",
          identities_differ_in(theirs, data_));
  }
  std::uint64_t bucket_run = 0;
  const Json given = state.contains("order") ? state["order"] : Json::object();
  if (!given.is_object()) reject_state("order: found {}; expected settings by name", json_text(given));
  const Json all = settings();
  for (const auto& [key, value] : all.items()) {
    const Json& theirs = given.contains(key) ? given[key] : default_settings()[key];
    if (theirs == value) continue;
    if (key == "set")
      reject_state(
          "found other selected samples than in this loader; expected the same data, filter, take and sources");
    if (key == "bucket" && theirs.is_array() && value.is_array() && theirs.size() == 2 && theirs[0] == value[0] &&
        theirs[1].is_number_unsigned() && theirs[1] != 0) {
      bucket_run = theirs[1].get<std::uint64_t>();
      continue;
    }
    reject_state("{} {}, but this loader has {}", key, json_text(theirs), json_text(value));
  }
  return bucket_run;
}

EpochPosition RunState::position(std::span<const Json> states) const {
  const Json& first = states[0];
  const auto window = [&](const Json& state) {
    std::vector<bool> used = bits(state, "window");
    if (const auto samples = state["samples"].get<std::uint64_t>(); used.size() > length() - samples)
      reject_state("window: found {} bits after {} samples, but an epoch has {}", used.size(), samples, length());
    return used;
  };
  const auto epoch_of = [](const Json& state) { return state["epoch"].get<std::uint32_t>(); };
  if (std::none_of(states.begin(), states.end(), [](const Json& state) { return state.contains("rank"); })) {
    for (const Json& state : states)
      if (state != first) reject_state("found different states of the ranks; expected states of one batch");
    return {epoch_of(first), 0, first["samples"].get<std::uint64_t>(), window(first)};
  }
  std::vector<std::pair<std::int64_t, const Json*>> ranks;
  for (const Json& state : states)
    ranks.emplace_back(state.contains("rank") ? static_cast<std::int64_t>(integer(state, "rank", 0, kMaxBatch)) : -1,
                       &state);
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::uint64_t world = integer(*ranks.back().second, "world", 1, kMaxBatch);
  std::vector<std::int64_t> found;
  bool all = ranks.size() == world;
  for (const auto& [rank, state] : ranks) {
    all = all && rank == static_cast<std::int64_t>(found.size());
    found.push_back(rank);
  }
  if (!all)
    reject_state(
        "found states of ranks [{}]; expected a list of the states of all {} ranks, saved at the same time: in relaxed "
        "order each rank knows only its own samples",
        fmt::join(found, ", "), world);
  std::vector<RankProgress> progress;
  for (const auto& [rank, state] : ranks)
    progress.push_back({{epoch_of(*state), 0, (*state)["samples"].get<std::uint64_t>(), window(*state)},
                        integer(*state, "rank_samples", 0, length()),
                        bits(*state, "rank_window")});
  return combined_position(progress, static_cast<int>(integer(*ranks[0].second, "batch", 1, kMaxBatch)),
                           boolean(*ranks[0].second, "drop_last") ? LastBatch::kDrop : LastBatch::kKeep, length());
}

RunStart RunState::start(std::span<const std::string> texts) const {
  if (texts.empty()) reject_state("found an empty list; expected the states of all ranks");
  std::vector<Json> states;
  for (const std::string& text : texts) states.push_back(parse(text));
  RunStart start;
  for (const Json& state : states) start.bucket_run = check(state);
  start.at = position(states);
  if (!weights_.empty()) {
    // Relaxed order may have used samples of later blocks.
    const std::uint64_t here = start.at.epoch * length() + start.at.offset + start.at.used.size();
    start.stretches =
        mixture_from_state(states[0].contains("mix") ? states[0]["mix"] : Json(), weights_, earlier_, here);
  }
  if (order_.remaining(start.at.offset, start.at.used).batches_per_epoch() == 0)
    start.at = {start.at.epoch + 1, 0, 0, {}};
  return start;
}

}  // namespace unstarve
