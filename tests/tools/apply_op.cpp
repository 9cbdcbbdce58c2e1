// Applies a chain of operations to raw RGB pixels, so that a test in any language can compare it with another library.
//
//   apply_op WIDTH HEIGHT OUTPUT SAMPLE [OPERATION...] < interleaved.rgb > result
//
// OUTPUT is uint8-nhwc, uint8-nchw, float32-nchw, float32-nhwc, bfloat16-nchw, bfloat16-nhwc, float16-nchw or
// float16-nhwc, with ImageNet's normalisation. SAMPLE keys the random numbers. An OPERATION reads name or
// name:parameter=1,2:parameter=word. The result is one line of JSON (width, height, and the part that every operation
// selected), then the output's bytes.

#include <cctype>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/store/store.h"

namespace {

using namespace unstarve;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

OpSpec parse_operation(const std::string& text) {
  OpSpec spec;
  const auto parts = split(text, ':');
  spec.name = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    if (equals == std::string::npos) throw Error(ErrorKind::kArgument, "no '=' in parameter " + parts[i]);
    OpValue& value = spec.params[parts[i].substr(0, equals)];
    const std::string given = parts[i].substr(equals + 1);
    if (std::isalpha(static_cast<unsigned char>(given[0])) != 0) {
      value.word = given;
      continue;
    }
    for (const auto& number : split(given, ',')) value.numbers.push_back(std::stod(number));
  }
  return spec;
}

StoreFormat parse_output(const std::string& text) {
  for (const auto& [type_name, type] : {std::pair{"uint8", ElementType::kUint8},
                                        {"float32", ElementType::kFloat32},
                                        {"bfloat16", ElementType::kBfloat16},
                                        {"float16", ElementType::kFloat16}}) {
    if (text == std::string(type_name) + "-nhwc") return {type, Layout::kNhwc, kImagenetNormalisation};
    if (text == std::string(type_name) + "-nchw") return {type, Layout::kNchw, kImagenetNormalisation};
  }
  throw Error(ErrorKind::kArgument, "unknown output " + text);
}

void run(const std::vector<std::string>& args) {
  if (args.size() < 4) throw Error(ErrorKind::kArgument, "usage: apply_op WIDTH HEIGHT OUTPUT SAMPLE [OPERATION...]");
  Image input({std::stoi(args[0]), std::stoi(args[1])});
  if (std::fread(input.data(), 1, input.bytes(), stdin) != input.bytes() || std::fgetc(stdin) != EOF) {
    throw Error(ErrorKind::kInput, "standard input does not hold " + std::to_string(input.bytes()) + " bytes");
  }
  Frame frame(input.view());
  Scratch scratch;
  std::string selected;
  for (std::size_t i = 4; i < args.size(); ++i) {
    const auto operation = make_operation(parse_operation(args[i]));
    Random random(0, 0, std::stoull(args[3]), static_cast<std::uint32_t>(i - 4));
    const Rect part = operation->select(frame.size(), random);
    frame.crop(part);
    operation->apply(frame, random, scratch);
    for (const int number : {part.x, part.y, part.width, part.height}) {
      selected += (selected.empty() ? "" : ", ") + std::to_string(number);
    }
  }
  const Storer storer(parse_output(args[2]));
  AlignedBytes output(storer.sample_bytes(frame.size()));
  storer.store(frame, output.data());
  std::printf("{\"width\": %d, \"height\": %d, \"selected\": [%s]}\n", frame.width, frame.height, selected.c_str());
  std::fwrite(output.data(), 1, storer.sample_bytes(frame.size()), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "apply_op: %s\n", error.what());
    return 1;
  }
}
