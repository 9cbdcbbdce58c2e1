#include "python/bindings/lending_device.h"

#include <nanobind/stl/pair.h>

#include <cstdint>
#include <string>
#include <utility>

#include "python/bindings/gil.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;

class LentMemory final : public Memory {
 public:
  // `allocate` returns (address, owner).
  LentMemory(const nb::object& allocate, std::size_t bytes) : bytes_(bytes) {
    const GilAcquire acquire;
    const auto [address, owner] = nb::cast<std::pair<std::uintptr_t, nb::object>>(allocate(bytes));
    data_ = reinterpret_cast<std::uint8_t*>(address);
    owner_ = owner;
  }
  ~LentMemory() override {
    const GilAcquire acquire;
    owner_.reset();
  }
  [[nodiscard]] std::uint8_t* data() override { return data_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] bool pinned() const override { return true; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_;
  nb::object owner_;
};

class LendingDevice final : public Device {
 public:
  explicit LendingDevice(nb::object allocate) : host_(open_device("cpu")), allocate_(std::move(allocate)) {}
  ~LendingDevice() override {
    const GilAcquire acquire;
    allocate_.reset();
  }
  [[nodiscard]] std::string name() const override { return host_->name(); }
  [[nodiscard]] bool is_host() const override { return false; }
  [[nodiscard]] std::unique_ptr<Memory> allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  [[nodiscard]] std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) override {
    return std::make_unique<LentMemory>(allocate_, bytes);
  }
  [[nodiscard]] std::unique_ptr<Stream> make_stream() override { return host_->make_stream(); }
  [[nodiscard]] std::unique_ptr<Stream> borrow_stream(void* native) override { return host_->borrow_stream(native); }
  void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream& stream) override {
    host_->copy_to_device(dst, src, bytes, stream);
  }
  void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream& stream) override {
    host_->copy_to_host(dst, src, bytes, stream);
  }

 private:
  std::unique_ptr<Device> host_;
  nb::object allocate_;
};

}  // namespace

std::unique_ptr<Device> lending_device(nb::object allocate) {
  return std::make_unique<LendingDevice>(std::move(allocate));
}

}  // namespace unstarve::python
