#pragma once
// The options of a data set that is made rather than read: "synthetic:classes=10,images=2000,size=32,seed=1".
//
// Threads: a value. Failure: Error(kArgument) that names the text, the option, what was found and what was expected.

#include <cstdint>
#include <map>
#include <string>

namespace unstarve {

class SourceOptions {
 public:
  // `text` is the name alone, or "name:key=value,key=value"; each key once.
  explicit SourceOptions(const std::string& text);

  // The value of `key` as a whole number in [low, high], `otherwise` when it was not given.
  [[nodiscard]] std::uint64_t take(const std::string& key, std::uint64_t otherwise, std::uint64_t low,
                                   std::uint64_t high);
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
