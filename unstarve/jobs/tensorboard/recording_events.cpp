#include "unstarve/jobs/tensorboard/recording_events.h"

#include <map>

#include "unstarve/jobs/tensorboard/event_file.h"

namespace unstarve {

void write_recording_events(const std::filesystem::path& folder, const Recording& recording) {
  std::map<std::string, EventFile> files;
  const auto file_of = [&](const std::string& run) -> EventFile& {
    return files.try_emplace(run, folder / run).first->second;
  };
  for (const RecordedScalar& scalar : recording.scalars)
    for (const auto& [step, value] : scalar.points) file_of(scalar.run).scalar(scalar.tag, step, value);
  if (!recording.text.empty()) file_of("").text(recording.text_tag, 0, recording.text);
}

}  // namespace unstarve
