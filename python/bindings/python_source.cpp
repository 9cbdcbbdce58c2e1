#include "python/bindings/python_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <semaphore>
#include <string>
#include <utility>

#include "python/bindings/gil.h"
#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;

// A call that takes longer does not delay the exit of the interpreter.
constexpr std::chrono::seconds kLongestCall{10};

thread_local bool in_call = false;

// Returns the traceback of an exception. nanobind's what() requires UTF-8, but the text may contain a file name as
// os.fsdecode() represents it. Precondition: the GIL is held.
std::string traceback_of(const nb::python_error& error) {
  const nb::object lines = nb::module_::import_("traceback").attr("format_exception")(error.value());
  const nb::object text = nb::str("").attr("join")(lines).attr("encode")("utf-8", "backslashreplace");
  const nb::bytes bytes = nb::cast<nb::bytes>(text);
  std::string message(bytes.c_str(), bytes.size());
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

// One of the permitted concurrent calls. The GIL is released while waiting, because the threads in a call may need it.
// Whether this thread has it is not part of the stable ABI, so it is acquired first.
class Permit {
 public:
  explicit Permit(std::counting_semaphore<>& permits) : permits_(permits) {
    if (permits_.try_acquire()) return;
    const GilAcquire acquire;
    const GilRelease release;
    permits_.acquire();
  }
  ~Permit() { permits_.release(); }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

 private:
  std::counting_semaphore<>& permits_;
};

// Acquires a permit, then the GIL.
class Call {
 public:
  explicit Call(std::counting_semaphore<>& permits) : permit_(permits), outer_(std::exchange(in_call, true)) {}
  ~Call() { in_call = outer_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Permit permit_;
  GilAcquire acquired_;
  bool outer_;
};

class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FULL_RO) != 0) {
      PyErr_Clear();
      return;
    }
    held_ = true;
  }
  ~Buffer() {
    if (held_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] bool of_bytes() const {
    return held_ && view_.itemsize == 1 && (view_.format == nullptr || std::strcmp(view_.format, "B") == 0);
  }
  [[nodiscard]] bool encoded() const { return of_bytes() && view_.ndim == 1; }
  [[nodiscard]] bool pixels() const {
    return of_bytes() && view_.ndim == 3 && view_.shape[2] == kChannels && side(0) && side(1);
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  [[nodiscard]] Size size() const { return {static_cast<int>(view_.shape[1]), static_cast<int>(view_.shape[0])}; }
  void copy_to(std::uint8_t* to) {
    if (PyBuffer_ToContiguous(to, &view_, view_.len, 'C') != 0) throw nb::python_error();
  }
  // For messages: " of format 'f' and shape (3, 4)".
  [[nodiscard]] std::string description() const {
    if (!held_) return {};
    std::string shape;
    for (int i = 0; i < view_.ndim; ++i) shape += fmt::format("{}{}", i > 0 ? ", " : "", view_.shape[i]);
    return fmt::format(" of format '{}' and shape ({})", view_.format != nullptr ? view_.format : "B", shape);
  }

 private:
  [[nodiscard]] bool side(int axis) const {
    return view_.shape[axis] > 0 && view_.shape[axis] <= std::numeric_limits<std::int16_t>::max();
  }
  Py_buffer view_{};
  bool held_ = false;
};

std::string kind_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

class PythonSource final : public Dataset {
 public:
  PythonSource(nb::object object, std::string name, std::vector<std::string> classes, int concurrency, bool labelled)
      : object_(std::move(object)),
        name_(std::move(name)),
        classes_(std::move(classes)),
        concurrency_(concurrency),
        labelled_(labelled),
        size_(nb::len(object_)),
        permits_(concurrency) {
    if (size_ == 0) throw Error(ErrorKind::kInput, name_ + ": found length 0; expected at least one sample");
    const nb::object first = first_sample();
    fields_ = {{"image", Buffer(image_of(first)).pixels() ? FieldKind::kPixels : FieldKind::kEncodedImage}};
    if (labelled_ && is_pair(first)) fields_.push_back({"label", FieldKind::kLabel});
    RecordBuffer record;
    take(first, first_, record);  // throws if it has an unsupported form
  }
  ~PythonSource() override {
    const GilAcquire acquire;
    object_.reset();
  }
  PythonSource(const PythonSource&) = delete;
  PythonSource& operator=(const PythonSource&) = delete;

  [[nodiscard]] std::string format() const override { return "Python source " + name_; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::string missing_labels() const override {
    return labelled_ && fields_.size() < 2 ? "a sample without a label, not a pair (image, label)" : "";
  }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    return {.file = fmt::format("{}[{}]", name_, id)};
  }
  [[nodiscard]] bool known_by_path() const override { return false; }
  [[nodiscard]] int reads_in_flight() const override { return concurrency_ > 1 ? concurrency_ : 0; }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    const Call call(permits_);
    const nb::object object = held();
    if (!object.is_valid()) throw Error(ErrorKind::kCancelled, location(id) + ": the interpreter is exiting");
    try {
      take(sample(object, id), id, record);
      check_label(id, record);
    } catch (const nb::python_error& error) {
      throw Error(ErrorKind::kInput, location(id) + ": " + traceback_of(error));
    }
  }

  void end() {
    {
      const Call call(permits_);
      nb::object last;  // destroyed after the lock is released
      const std::lock_guard lock(object_mutex_);
      std::swap(last, object_);
    }
    // Waits for the calls in progress: their threads would be ended inside of Python code (gil.h).
    const GilRelease release;
    const auto deadline = std::chrono::steady_clock::now() + kLongestCall;
    int ended = 0;
    while (ended < concurrency_ && permits_.try_acquire_until(deadline)) ++ended;
    permits_.release(ended);
  }

 private:
  // Calls may run concurrently with end(). Precondition: the GIL is held.
  [[nodiscard]] nb::object held() const {
    const std::lock_guard lock(object_mutex_);
    return object_;
  }
  [[nodiscard]] static nb::object sample(const nb::object& object, std::uint64_t id) {
    return object.attr("__getitem__")(id);
  }
  // The first sample that the object returns; an exception for an earlier one is reported when that one is loaded.
  [[nodiscard]] nb::object first_sample() {
    constexpr std::uint64_t kProbes = 100;
    const std::uint64_t probes = std::min(size_, kProbes);
    std::string reason;
    for (first_ = 0; first_ < probes; ++first_) {
      try {
        return sample(object_, first_);
      } catch (const nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C
        if (reason.empty()) reason = location(first_) + ": " + traceback_of(error);
      }
    }
    throw Error(ErrorKind::kInput,
                fmt::format("{}: none of the first {} samples can be read. First: {}", name_, probes, reason));
  }
  [[nodiscard]] static bool is_pair(nb::handle sample) {
    return (nb::isinstance<nb::tuple>(sample) || nb::isinstance<nb::list>(sample)) && nb::len(sample) == 2;
  }
  [[nodiscard]] static nb::object image_of(nb::handle sample) {
    return is_pair(sample) ? nb::object(sample[0]) : nb::borrow(sample);
  }

  void take(nb::handle sample, std::uint64_t id, RecordBuffer& record) const {
    const bool labelled = fields_.size() == 2;
    if (labelled_ && is_pair(sample) != labelled)
      throw Error(ErrorKind::kInput, fmt::format("{}: found {} label; expected {}, as in the first sample",
                                                 location(id), labelled ? "no" : "a", labelled ? "one" : "none"));
    const nb::object image = image_of(sample);
    Buffer buffer(image);
    const bool encoded = fields_[0].kind == FieldKind::kEncodedImage;
    if (encoded ? !buffer.encoded() : !buffer.pixels()) {
      const char* const expected = encoded && id != first_ ? "bytes of an encoded image, as in the first sample"
                                   : id != first_
                                       ? "a uint8 array (height, width, 3), as in the first sample"
                                       : "bytes of an encoded image, or a uint8 array (height, width, 3), alone or "
                                         "in a pair with its label";
      throw Error(ErrorKind::kInput, fmt::format("{}: found {}{}; expected {}", location(id), kind_of(image),
                                                 buffer.description(), expected));
    }
    // Decoders may read beyond the end of the last row.
    record.storage.reserve_discard(buffer.bytes() + 64);
    buffer.copy_to(record.storage.data());
    record.values.assign(fields_.size(), {});
    if (encoded) {
      record.values[0].bytes = {record.storage.data(), buffer.bytes()};
    } else {
      const Size size = buffer.size();
      record.values[0].pixels = {record.storage.data(), size.width, size.height,
                                 std::ptrdiff_t{size.width} * kChannels};
    }
    if (labelled) record.values[1].integer = label_of(sample[1], id);
  }

  [[nodiscard]] std::int64_t label_of(nb::handle label, std::uint64_t id) const {
    const nb::object whole = nb::steal(PyNumber_Index(label.ptr()));
    if (whole.is_valid()) {
      const long long number = PyLong_AsLongLong(whole.ptr());
      if (number != -1 || PyErr_Occurred() == nullptr) return number;
    }
    PyErr_Clear();
    throw Error(ErrorKind::kInput,
                fmt::format("{}: found a label of type {}; expected an integer. Use labels=None to ignore labels.",
                            location(id), kind_of(label)));
  }

  void check_label(std::uint64_t id, const RecordBuffer& record) const {
    if (fields_.size() < 2) return;
    const std::int64_t label = record.values[1].integer,
                       end = classes_.empty() ? kMaxClasses : static_cast<std::int64_t>(classes_.size());
    if (label < 0 || label >= end)
      throw Error(ErrorKind::kInput, fmt::format("{}: found label {}; expected 0 to {}", location(id), label, end - 1));
  }

  nb::object object_;
  mutable std::mutex object_mutex_;  // guards object_; not held during calls of Python
  std::string name_;
  std::vector<std::string> classes_;
  int concurrency_;
  bool labelled_;
  std::uint64_t size_;
  std::uint64_t first_ = 0;  // the sample whose form all others must have
  std::vector<Field> fields_;
  mutable std::counting_semaphore<> permits_;
};

}  // namespace

std::shared_ptr<Dataset> python_source(nb::object object, std::string name, std::vector<std::string> classes,
                                       int concurrency, bool labelled) {
  return std::make_shared<PythonSource>(std::move(object), std::move(name), std::move(classes), concurrency, labelled);
}

void end_source(Dataset& source) {
  if (auto* const own = dynamic_cast<PythonSource*>(&source)) own->end();
}

bool in_python_source() { return in_call; }

}  // namespace unstarve::python
