#pragma once
// A file of events for TensorBoard: scalars, images and texts over steps.
//
//   FOLDER/events.out.tfevents.<seconds>.<host>.<process>    records of TFRecord with a protocol buffer Event each
//
// Formats: TFRecord as in storage/formats/tfrecord; the messages Event and Summary of TensorFlow
//          (core/util/event.proto, core/framework/{summary,tensor}.proto). The file is flushed with every call, so that
//          TensorBoard shows a running job.
//
// Threads: one at a time. Failure: Error(kIo) if the folder cannot be created or the file cannot be written.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/core/size.h"
#include "unstarve/jobs/common/recording.h"

namespace unstarve {

class EventFile {
 public:
  // Starts a file. If `first_step` is above 0, TensorBoard hides what earlier files of the folder have from it on.
  explicit EventFile(const std::filesystem::path& folder, std::int64_t first_step = 0);

  // Tags with a slash are grouped by their first part: "train/loss".
  void scalar(std::string_view tag, std::int64_t step, double value);
  void text(std::string_view tag, std::int64_t step, std::string_view markdown);
  void image(std::string_view tag, std::int64_t step, std::span<const std::uint8_t> png, Size size);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(const std::string& event);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// The scalars and the text of a recording. Scalars of a run are written to a subfolder of its name.
void write_recording_events(const std::filesystem::path& folder, const Recording& recording);

}  // namespace unstarve
