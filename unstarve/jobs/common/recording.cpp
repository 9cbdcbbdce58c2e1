#include "unstarve/jobs/common/recording.h"

namespace unstarve {

Json to_json(const std::vector<RecordedSpan>& spans) {
  Json all = Json::array();
  for (const RecordedSpan& span : spans) {
    Json entry{{"name", span.name}, {"begin_s", span.begin_s}, {"seconds", span.seconds}};
    for (const auto& [name, value] : span.figures) entry[name] = value;
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace unstarve
