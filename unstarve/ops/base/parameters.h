#pragma once
// Reads an operation's parameters; checks names, counts and ranges, and reports what was expected.
//
// Use: construct with the names of all parameters of the operation, then read the values. DescribedParameters records
// the parameters that a factory reads, for the schema. Failure: Error(kArgument).

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/op_value.h"

namespace unstarve {

// The largest side of an image, as for decoders.
inline constexpr int kMaxSize = 65'500;

// A parameter as a factory reads it.
struct ParameterInfo {
  struct Integer {
    int fallback, low, high;
  };
  struct Number {
    double fallback, low, high;
  };
  struct Range {  // two numbers, the first not above the second
    std::pair<double, double> fallback;
    double high;  // both are above 0
  };
  struct Interval {  // one number, or two of which the first is not above the second
    std::pair<double, double> fallback;
    double low, high;
  };
  struct Sides {  // one integer, or height and width
    int low, high;
  };
  struct Integers {             // one of `counts` numbers, or one of some words
    std::vector<int> fallback;  // if empty, the first word
    int low, high;
    std::vector<std::size_t> counts;
    std::vector<std::string> words;
  };
  struct Choice {  // one of some words
    std::string fallback;
    std::vector<std::string> words;
  };
  struct Flag {  // true or false
    bool fallback;
  };
  struct Text {  // a text; required
    std::string example;
  };
  std::string name;
  bool required = false;
  std::variant<Integer, Number, Range, Interval, Sides, Integers, Choice, Flag, Text> kind;
};

// Numbers, or a word instead of them.
struct IntegersOrWord {
  std::vector<int> numbers;
  std::string word;
};

// During its lifetime, every Parameters of `operation` in this thread reads as empty and records each parameter that
// the factory reads. If several exist, the innermost records. Other operations that a factory creates are unaffected.
class DescribedParameters {
 public:
  explicit DescribedParameters(std::string_view operation);
  ~DescribedParameters();
  DescribedParameters(const DescribedParameters&) = delete;
  DescribedParameters& operator=(const DescribedParameters&) = delete;
  [[nodiscard]] const std::vector<ParameterInfo>& list() const { return list_; }

 private:
  friend class Parameters;
  std::string operation_;
  DescribedParameters* outer_;
  std::vector<ParameterInfo> list_;
};

class Parameters {
 public:
  // Throws for a name in `params` that is not among `known`.
  Parameters(std::string_view operation, const OpParams& params, std::initializer_list<std::string_view> known);

  // An integer in [low, high]; `fallback` if absent.
  [[nodiscard]] int integer(std::string_view name, int fallback, int low, int high) const;
  // A number in [low, high].
  [[nodiscard]] double number(std::string_view name, double fallback, double low, double high) const;
  // Two numbers a <= b in (0, high].
  [[nodiscard]] std::pair<double, double> range(std::string_view name, std::pair<double, double> fallback,
                                                double high) const;
  // "factor: [0.6, 1.4]", or "factor: 1.2" for a fixed value: two numbers a <= b in [low, high].
  [[nodiscard]] std::pair<double, double> interval(std::string_view name, std::pair<double, double> fallback,
                                                   double low, double high) const;
  // "fill: 114", "fill: [124, 116, 104]", "value: random".
  [[nodiscard]] IntegersOrWord integers(std::string_view name, const ParameterInfo::Integers& takes) const;
  // "size: 224" (a square) or "size: [height, width]" in the order of torchvision; required.
  [[nodiscard]] Size size(std::string_view name) const;
  // "interpolation: bicubic": the index of one of `words`; `fallback` if absent.
  [[nodiscard]] std::size_t choice(std::string_view name, std::size_t fallback,
                                   std::initializer_list<std::string_view> words) const;
  // A text; required. Empty only while the parameters are described. `example` is valid.
  [[nodiscard]] std::string text(std::string_view name, const std::string& example) const;
  // "antialias: false".
  [[nodiscard]] bool flag(std::string_view name, bool fallback) const;
  // Whether `name` is given as two numbers.
  [[nodiscard]] bool has_two(std::string_view name) const;
  // Throws unless `name` is given.
  void require(std::string_view name) const;

 private:
  // The DescribedParameters of this operation, or null.
  [[nodiscard]] DescribedParameters* describing() const;
  [[nodiscard]] const OpValue* find(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const OpValue& found, std::string_view expected) const;

  std::string operation_;
  const OpParams& params_;
};

}  // namespace unstarve
