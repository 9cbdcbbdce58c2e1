#pragma once
// The options of a data set: "synthetic:classes=10,images=2000,size=32,seed=1" of one that is made, and
// "data/*.tfrecord#image=photo,label=y" of one that is read.
//
// Threads: a value. Failure: Error(kArgument) that names the text, the option, what was found and what was expected.

#include <cstdint>
#include <map>
#include <string>

namespace unstarve {

class SourceOptions {
 public:
  // `text` is the name alone, or "name:key=value,key=value" (or with another separator); each key once.
  explicit SourceOptions(const std::string& text, char separator = ':');

  // The value of `key` as a whole number in [low, high], `otherwise` when it was not given.
  [[nodiscard]] std::uint64_t take(const std::string& key, std::uint64_t otherwise, std::uint64_t low,
                                   std::uint64_t high);
  // The value of `key` as it stands, not empty; `otherwise` when it was not given.
  [[nodiscard]] std::string take_text(const std::string& key, const std::string& otherwise);
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  // Call when all options were taken: throws for one that nobody knows.
  void refuse_rest() const;

  // Whether `text` is `name` or begins with "name:".
  [[nodiscard]] static bool names(const std::string& text, const std::string& name) noexcept;

 private:
  std::string text_;
  std::map<std::string, std::string> values_;
  std::string known_;  // the options taken so far, for messages
};

}  // namespace unstarve
