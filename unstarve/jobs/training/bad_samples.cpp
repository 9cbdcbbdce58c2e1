#include "unstarve/jobs/training/bad_samples.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "unstarve/core/json.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

// The texts of all ranks, joined. A byte of one rank is the largest of all ranks, as the others have 0 there.
std::string joined_texts(Trainer& trainer, const Ranks& ranks, const std::string& own) {
  std::vector<double> sizes(static_cast<std::size_t>(ranks.world));
  sizes[static_cast<std::size_t>(ranks.rank)] = static_cast<double>(own.size());
  trainer.largest_of_ranks(sizes);
  const auto begin = static_cast<std::ptrdiff_t>(std::accumulate(sizes.begin(), sizes.begin() + ranks.rank, 0.0));
  const double size = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  std::vector<double> bytes(static_cast<std::size_t>(size));
  std::ranges::transform(own, bytes.begin() + begin,
                         [](char byte) { return static_cast<double>(static_cast<unsigned char>(byte)); });
  if (!bytes.empty()) trainer.largest_of_ranks(bytes);
  std::string joined(bytes.size(), '\0');
  std::ranges::transform(bytes, joined.begin(),
                         [](double byte) { return static_cast<char>(static_cast<unsigned char>(byte)); });
  return joined;
}

}  // namespace

void BadSamples::add(Of of, const std::vector<BadSample>& samples) {
  for (const BadSample& sample : samples) samples_.try_emplace({of, sample.id}, sample);
}

bool BadSamples::empty(Of of) const {
  const auto first = samples_.lower_bound({of, 0});
  return first == samples_.end() || first->first.first != of;
}

void BadSamples::gather(Trainer& trainer, const Ranks& ranks, const TrainData& data) {
  if (!ranks.several()) return;
  std::string lines;
  for (const auto& [key, sample] : samples_)
    lines += json_text(nlohmann::ordered_json{key.first == Of::kValidation, sample.id, sample.reason}) + "\n";
  lines = joined_texts(trainer, ranks, lines);
  for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = lines.find('\n', begin);
    const nlohmann::ordered_json line = parse_ordered_json(lines.substr(begin, end - begin));
    const auto of_validation = line.at(0).get<bool>();
    const auto id = line.at(1).get<std::uint64_t>();
    const Dataset& dataset = of_validation ? *data.validation : *data.training;
    samples_.try_emplace({of_validation ? Of::kValidation : Of::kTraining, id},
                         BadSample{id, dataset.record_location(id), line.at(2).get<std::string>()});
  }
}

std::vector<BadSample> BadSamples::list() const {
  std::vector<BadSample> list;
  for (const auto& [key, sample] : samples_) list.push_back(sample);
  return list;
}

}  // namespace unstarve
