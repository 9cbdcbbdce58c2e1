#pragma once
// Options after the name of a dataset: "synthetic:classes=10,images=2000,size=32,seed=1" for a generated one,
// "data/*.tfrecord#image=photo,label=y" for stored data.
//
// Threads: a value. Failure: Error(kArgument) with the text, the option, the value and the expected values.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace unstarve {

// Position of the '#' before the options of a path. The names of folders may have a '#': of those before "key=", the
// last after an existing path of this machine, else the first. Without one, the last '#', if no folder follows; the
// options are invalid then. npos if there is none.
[[nodiscard]] std::size_t options_at(const std::string& text);

class SourceOptions {
 public:
  // `text` is the name alone, or "name:key=value,key=value". Each key may occur once.
  explicit SourceOptions(const std::string& text) : SourceOptions(text, text.find(':')) {}
  // `separator`: position in `text` of the character after the name; npos if there are no options.
  SourceOptions(const std::string& text, std::size_t separator);

  // The value of `key` as a whole number in [low, high]; `otherwise` if the key is absent.
  [[nodiscard]] std::uint64_t take(const std::string& key, std::uint64_t otherwise, std::uint64_t low,
                                   std::uint64_t high);
  // The value of `key`, not empty; `otherwise` if the key is absent.
  [[nodiscard]] std::string take_text(const std::string& key, const std::string& otherwise);
  // Whether the option classes=names is given: all labels are names, numbers too.
  [[nodiscard]] bool take_class_names();
  // Adds an option that the text does not contain. Throws if it does.
  void give(const std::string& key, const std::string& value);
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  // Throws if an option was not taken. Call last.
  void reject_unknown() const;

  // Whether `text` is `name` or begins with "name:".
  [[nodiscard]] static bool names(const std::string& text, const std::string& name) noexcept;

 private:
  std::string text_;
  std::map<std::string, std::string> values_;
  std::string known_;  // the options taken so far, for messages
};

}  // namespace unstarve
