#include "unstarve/jobs/inference/model_settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/prepare/digest.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kMostSetting = 1 << 16;

int positive(const JsonReader& reader, const char* key) {
  const std::uint64_t value = reader.number(key);
  if (value < 1 || value > kMostSetting)
    reader.reject(fmt::format("\"{}\" is {}; expected 1 to {}", key, value, kMostSetting));
  return static_cast<int>(value);
}

}  // namespace

std::optional<ModelSettings> settings_next_to(const std::filesystem::path& model) {
  ModelSettings settings;
  settings.file = model.parent_path() / kModelSettingsFile;
  if (std::error_code none; !std::filesystem::is_regular_file(settings.file, none)) return std::nullopt;
  const Json json = try_parse_ordered_json(read_text_file(settings.file));
  // Other programs write files with this name, too.
  if (!json.is_object() || !json.contains("model_sha256")) return std::nullopt;
  const JsonReader reader(json, fmt::format("read '{}'", settings.file.string()));
  if (reader.text("model_sha256") != digest_file(model, Checksum::kSha256)) {
    if (reader.text("model") == model.filename())
      emit_notice(fmt::format("{} is of another version of {}: the engines are measured", settings.file.string(),
                              model.string()));
    return std::nullopt;
  }
  settings.engine = reader.text("engine");
  settings.cpus = positive(reader, "cpus");
  const JsonReader throughput(reader.object("throughput"), reader.where() + ": throughput");
  settings.throughput = {positive(throughput, "streams"), positive(throughput, "threads"),
                         positive(throughput, "batch"), throughput.text("precision")};
  return settings;
}

}  // namespace unstarve
