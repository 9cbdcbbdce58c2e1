#include "gradients.h"

#include <string>
#include <vector>

namespace {

using namespace unstarve;

class Gradients final : public Dataset {
 public:
  Gradients(std::uint64_t images, int size) : images_(images), size_(size) {}

  std::string format() const override { return "gradients"; }
  std::uint64_t size() const override { return images_; }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = "gradients", .number = id}; }

  // Any thread, with a record of its own: the pixels are in the record's memory.
  void read(std::uint64_t id, RecordBuffer& record) const override {
    const bool downwards = id % 2 == 1;
    const auto row = static_cast<std::ptrdiff_t>(size_) * kChannels;
    record.storage.reserve_discard(static_cast<std::size_t>(row) * static_cast<std::size_t>(size_));
    std::uint8_t* pixel = record.storage.data();
    for (int y = 0; y < size_; ++y) {
      for (int x = 0; x < size_; ++x, pixel += kChannels) {
        const int brightness = 255 * (downwards ? y : x) / (size_ - 1);
        for (int channel = 0; channel < kChannels; ++channel) pixel[channel] = static_cast<std::uint8_t>(brightness);
      }
    }
    record.values.resize(2);
    record.values[0].pixels = {record.storage.data(), size_, size_, row, kChannels, 1};
    record.values[1].integer = downwards ? 1 : 0;
  }

 private:
  std::uint64_t images_;
  int size_;
  std::vector<Field> fields_{{"image", FieldKind::kPixels}, {"label", FieldKind::kLabel}};
  std::vector<std::string> classes_{"right", "down"};
};

}  // namespace

std::shared_ptr<const unstarve::Dataset> make_gradients(std::uint64_t images, int size) {
  return std::make_shared<Gradients>(images, size);
}
