#include "unstarve/pipeline/spec/spec_yaml.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/utf8.h"
#include "unstarve/pipeline/spec/operations_yaml.h"
#include "unstarve/pipeline/spec/yaml_values.h"

namespace unstarve {
namespace {

constexpr Names<ElementType, 4> kTypes{{{"uint8", ElementType::kUint8},
                                        {"float32", ElementType::kFloat32},
                                        {"bfloat16", ElementType::kBfloat16},
                                        {"float16", ElementType::kFloat16}}};
constexpr Names<Layout, 2> kLayouts{{{"NCHW", Layout::kNchw}, {"NHWC", Layout::kNhwc}}};
constexpr Names<CacheWhat, 4> kCached{{{"nothing", CacheWhat::kNothing},
                                       {"encoded", CacheWhat::kEncoded},
                                       {"pixels", CacheWhat::kPixels},
                                       {"auto", CacheWhat::kAuto}}};
constexpr Names<ExecutionOrder, 2> kOrders{{{"exact", ExecutionOrder::kExact}, {"relaxed", ExecutionOrder::kRelaxed}}};
constexpr Names<LastBatch, 3> kLast{{{"drop", LastBatch::kDrop}, {"keep", LastBatch::kKeep}, {"pad", LastBatch::kPad}}};
constexpr Names<PadTo, 3> kPads{{{"nothing", PadTo::kNothing}, {"largest", PadTo::kLargest}, {"size", PadTo::kSize}}};
constexpr Names<OperationsOn, 2> kOperationsOn{{{"host", OperationsOn::kHost}, {"device", OperationsOn::kDevice}}};
constexpr Names<DecodeOn, 4> kDecodeOn{{{"host", DecodeOn::kHost},
                                        {"hybrid", DecodeOn::kHybrid},
                                        {"gpu_hybrid", DecodeOn::kGpuHybrid},
                                        {"hardware", DecodeOn::kHardware}}};
constexpr Names<OnError, 3> kPolicies{
    {{"fail", OnError::kFail}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}}};

void get_channels(YamlMap& map, const std::string& key, std::array<float, kChannels>& value) {
  std::vector<double> numbers(value.begin(), value.end());
  map.get(key, numbers);
  map.expect_count(value.size());
  if (numbers.size() != value.size())
    map.fail(key, fmt::format("found {} numbers, expected 3, one per channel", numbers.size()));
  for (std::size_t c = 0; c < value.size(); ++c) value[c] = static_cast<float>(numbers[c]);
}

void write_texts(YAML::Emitter& out, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::BeginSeq;
  for (const std::string& text : texts) out << YAML::DoubleQuoted << text;
  out << YAML::EndSeq;
}

// Values equal to their defaults are omitted.
void write_source(YAML::Emitter& out, const SourceSpec& source) {
  using YAML::Key;
  using YAML::Value;
  out << YAML::Flow << YAML::BeginMap << Key << "path" << Value << YAML::DoubleQuoted << source.path << Key << "split"
      << Value << YAML::DoubleQuoted << source.split;
  const FilterSpec& filter = source.filter;
  if (filter != FilterSpec{}) {
    out << Key << "filter" << Value << YAML::BeginMap;
    write_texts(out, "labels", filter.labels);
    write_texts(out, "drop_labels", filter.drop_labels);
    if (filter.min_side != 0) out << Key << "min_side" << Value << filter.min_side;
    if (filter.max_side != 0) out << Key << "max_side" << Value << filter.max_side;
    if (filter.max_aspect != 0) out << Key << "max_aspect" << Value << exact_text(filter.max_aspect);
    out << YAML::EndMap;
  }
  if (source.take) out << Key << "take" << Value << *source.take;
  if (source.weight) out << Key << "weight" << Value << exact_text(*source.weight);
  if (!source.earlier_weights.empty()) {
    out << Key << "earlier_weights" << Value;
    write_numbers(out, source.earlier_weights);
  }
  out << YAML::EndMap;
}

SourceSpec read_source(YamlMap map, bool mixed) {
  SourceSpec source;
  map.get("path", source.path);
  map.get("split", source.split);
  YamlMap filter = map.map("filter");
  filter.get("labels", source.filter.labels);
  filter.get("drop_labels", source.filter.drop_labels);
  filter.get("min_side", source.filter.min_side);
  filter.get("max_side", source.filter.max_side);
  filter.get("max_aspect", source.filter.max_aspect);
  filter.finish();
  map.get("take", source.take);
  if (mixed) map.get("weight", source.weight);
  if (mixed) map.get("earlier_weights", source.earlier_weights);
  map.finish();
  return source;
}

void write_order(YAML::Emitter& out, const OrderSpec& order) {
  using YAML::Key;
  using YAML::Value;
  out << Key << "order" << Value << YAML::Flow << YAML::BeginMap << Key << "shuffle" << Value << order.shuffle << Key
      << "seed" << Value << order.seed << Key << "rank" << Value << order.rank << Key << "world" << Value
      << order.world;
  if (order.window > 0) out << Key << "window" << Value << order.window;
  if (order.repeat != 1) out << Key << "repeat" << Value << order.repeat;
  if (order.epoch > 0) out << Key << "epoch" << Value << order.epoch;
  if (order.balance) out << Key << "balance" << Value << true;
  if (!order.class_weights.empty()) {
    out << Key << "class_weights" << Value << YAML::BeginMap;
    for (const auto& [name, weight] : order.class_weights)
      out << Key << YAML::DoubleQuoted << name << Value << exact_text(weight);
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
}

OrderSpec read_order(YamlMap map) {
  OrderSpec order;
  map.get("shuffle", order.shuffle);
  map.get("seed", order.seed);
  map.get("rank", order.rank);
  map.get("world", order.world);
  map.get("window", order.window);
  map.get("repeat", order.repeat);
  map.get("epoch", order.epoch);
  map.get("balance", order.balance);
  YamlMap weights = map.map("class_weights");
  for (const std::string& name : weights.keys()) weights.get(name, order.class_weights[name]);
  map.finish();
  return order;
}

void write_batch(YAML::Emitter& out, const BatchSpec& batch) {
  using YAML::Key;
  using YAML::Value;
  out << Key << "batch" << Value << YAML::Flow << YAML::BeginMap << Key << "size" << Value << batch.size << Key
      << "last" << Value << name_of(kLast, batch.last);
  if (batch.pad != PadSpec{}) {
    out << Key << "pad" << Value << YAML::BeginMap << Key << "to" << Value << name_of(kPads, batch.pad.to);
    if (batch.pad.size != Size{}) {
      out << Key << "size" << Value;
      write_numbers(out, std::array<double, 2>{double(batch.pad.size.height), double(batch.pad.size.width)});
    }
    out << Key << "value" << Value << batch.pad.value << YAML::EndMap;
  }
  if (batch.bucket != BucketSpec{})
    out << Key << "bucket" << Value << YAML::BeginMap << Key << "window" << Value << batch.bucket.window << Key << "run"
        << Value << batch.bucket.run << YAML::EndMap;
  out << YAML::EndMap;
}

BatchSpec read_batch(YamlMap map) {
  BatchSpec batch;
  map.get("size", batch.size);
  get_named(map, "last", kLast, batch.last);
  YamlMap pad = map.map("pad");
  get_named(pad, "to", kPads, batch.pad.to);
  std::optional<std::vector<double>> size;
  pad.get("size", size);
  pad.expect_count(2);
  if (size) {
    const auto side = [&](std::size_t i) {
      if (size->size() != 2 || !((*size)[i] >= 1 && (*size)[i] <= 65535) || (*size)[i] != std::floor((*size)[i]))
        pad.fail("size", "expected [height, width], whole numbers of 1 to 65535");
      return static_cast<int>((*size)[i]);
    };
    batch.pad.size.height = side(0);
    batch.pad.size.width = side(1);
  }
  pad.get("value", batch.pad.value);
  pad.finish();
  YamlMap bucket = map.map("bucket");
  bucket.get("window", batch.bucket.window);
  bucket.get("run", batch.bucket.run);
  bucket.finish();
  map.finish();
  return batch;
}

void write_device(YAML::Emitter& out, const DeviceSpec& device) {
  using YAML::Key;
  using YAML::Value;
  out << Key << "device" << Value << YAML::Flow << YAML::BeginMap << Key << "name" << Value << YAML::DoubleQuoted
      << device.name << Key << "operations" << Value << to_string(device.operations) << Key << "decode" << Value
      << to_string(device.decode);
  if (device.decode_share) out << Key << "decode_share" << Value << exact_text(*device.decode_share);
  out << YAML::EndMap;
}

DeviceSpec read_device(YamlMap map) {
  DeviceSpec device;
  map.get("name", device.name);
  get_named(map, "operations", kOperationsOn, device.operations);
  get_named(map, "decode", kDecodeOn, device.decode);
  map.get("decode_share", device.decode_share);
  map.finish();
  return device;
}

}  // namespace

const char* to_string(OperationsOn operations) { return name_of(kOperationsOn, operations); }
const char* to_string(DecodeOn decode) { return name_of(kDecodeOn, decode); }

void write_yaml(YAML::Emitter& out, const PipelineSpec& spec) {
  using YAML::Key;
  using YAML::Value;
  const auto flow = [&](const char* key) -> YAML::Emitter& {
    return out << Key << key << Value << YAML::Flow << YAML::BeginMap;
  };
  out << YAML::BeginMap;
  if (spec.mix.empty() || spec.source != SourceSpec{}) {
    out << Key << "source" << Value;
    write_source(out, spec.source);
  }
  if (!spec.mix.empty()) {
    out << Key << "mix" << Value << YAML::BeginSeq;
    for (const SourceSpec& source : spec.mix) write_source(out, source);
    out << YAML::EndSeq;
  }
  write_order(out, spec.order);
  flow("decode") << Key << "max_pixels" << Value << spec.decode.max_pixels << YAML::EndMap;
  flow("cache") << Key << "what" << Value << name_of(kCached, spec.cache.what) << Key << "folder" << Value
                << YAML::DoubleQuoted << spec.cache.folder << Key << "limit_mb" << Value << spec.cache.limit_mb << Key
                << "after" << Value << spec.cache.after << YAML::EndMap;
  write_operations(out, "operations", spec.operations);
  flow("output") << Key << "type" << Value << name_of(kTypes, spec.output.type) << Key << "layout" << Value
                 << name_of(kLayouts, spec.output.layout) << Key << "mean" << Value;
  write_numbers(out, spec.output.normalisation.mean);
  out << Key << "std" << Value;
  write_numbers(out, spec.output.normalisation.std);
  out << YAML::EndMap;
  write_batch(out, spec.batch);
  if (!spec.batch_operations.empty()) write_operations(out, "batch_operations", spec.batch_operations);
  flow("execution") << Key << "threads" << Value << spec.execution.threads << Key << "prefetch" << Value
                    << spec.execution.prefetch << Key << "read_ahead" << Value << spec.execution.read_ahead << Key
                    << "pinned" << Value << spec.execution.pinned << Key << "autotune" << Value
                    << spec.execution.autotune << Key << "cpu_limit" << Value << spec.execution.cpu_limit << Key
                    << "order" << Value << name_of(kOrders, spec.execution.order) << Key << "memory_limit_mb" << Value
                    << spec.execution.memory_limit_mb << YAML::EndMap;
  if (spec.device != DeviceSpec{}) write_device(out, spec.device);
  flow("errors") << Key << "policy" << Value << name_of(kPolicies, spec.errors.policy) << Key << "limit" << Value
                 << spec.errors.limit << Key << "rate" << Value << exact_text(spec.errors.rate) << YAML::EndMap;
  if (!spec.passes.empty()) {
    flow("passes");
    for (const auto& [name, on] : spec.passes) out << Key << name << Value << on;
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
}

PipelineSpec read_pipeline_yaml(YamlMap map) {
  PipelineSpec spec;
  spec.source = read_source(map.map("source"), false);
  spec.source.yaml_location.text = map.location("source.path");
  for (const YamlMap& source : map.maps("mix")) {
    spec.mix.push_back(read_source(source, true));
    spec.mix.back().yaml_location.text = map.location(fmt::format("mix[{}].path", spec.mix.size() - 1));
  }
  spec.order = read_order(map.map("order"));
  YamlMap decode = map.map("decode");
  decode.get("max_pixels", spec.decode.max_pixels);
  decode.finish();
  YamlMap cache = map.map("cache");
  get_named(cache, "what", kCached, spec.cache.what);
  cache.get("folder", spec.cache.folder);
  cache.get("limit_mb", spec.cache.limit_mb);
  cache.get("after", spec.cache.after);
  cache.finish();
  read_operations(map, "operations", spec.operations);
  YamlMap output = map.map("output");
  get_named(output, "type", kTypes, spec.output.type);
  get_named(output, "layout", kLayouts, spec.output.layout);
  get_channels(output, "mean", spec.output.normalisation.mean);
  get_channels(output, "std", spec.output.normalisation.std);
  output.finish();
  spec.batch = read_batch(map.map("batch"));
  read_operations(map, "batch_operations", spec.batch_operations);
  YamlMap execution = map.map("execution");
  execution.get("threads", spec.execution.threads);
  execution.get("prefetch", spec.execution.prefetch);
  execution.get("read_ahead", spec.execution.read_ahead);
  execution.get("pinned", spec.execution.pinned);
  get_named(execution, "order", kOrders, spec.execution.order);
  execution.get("memory_limit_mb", spec.execution.memory_limit_mb);
  execution.get("autotune", spec.execution.autotune);
  execution.get("cpu_limit", spec.execution.cpu_limit);
  execution.finish();
  spec.device = read_device(map.map("device"));
  YamlMap errors = map.map("errors");
  get_named(errors, "policy", kPolicies, spec.errors.policy);
  errors.get("limit", spec.errors.limit);
  errors.get("rate", spec.errors.rate);
  errors.finish();
  YamlMap passes = map.map("passes");
  for (const std::string& name : passes.keys()) {
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
      passes.fail(name, "expected the name of a pass: lower-case letters and underscores");
    passes.get(name, spec.passes[name] = true);
  }
  passes.finish();
  map.finish();
  return spec;
}

PipelineSpec pipeline_from_yaml(const std::string& text, const std::string& name) {
  return read_pipeline_yaml(YamlMap::parse(text, name));
}

void check_utf8(const PipelineSpec& spec) {
  const auto check = [](const std::string& node, const std::string& text, const char* remedy) {
    if (is_utf8(text)) return;
    throw Error(ErrorKind::kArgument,
                fmt::format("{}: \"{}\" is not UTF-8, which YAML requires; {}", node, text, remedy));
  };
  const char* const number = "use the number of the class";
  const auto check_source = [&](const std::string& node, const SourceSpec& source) {
    check(node + ".path", source.path, "rename the data");
    for (const std::string& name : source.filter.labels) check(node + ".filter.labels", name, number);
    for (const std::string& name : source.filter.drop_labels) check(node + ".filter.drop_labels", name, number);
  };
  check_source("source", spec.source);
  for (std::size_t i = 0; i < spec.mix.size(); ++i) check_source(fmt::format("mix[{}]", i), spec.mix[i]);
  for (const auto& [name, weight] : spec.order.class_weights) check("order.class_weights", name, number);
  check("cache.folder", spec.cache.folder, "use a folder with another name");
}

std::string to_yaml(const PipelineSpec& spec) {
  YAML::Emitter out;
  write_yaml(out, spec);
  return std::string(out.c_str()) + "\n";
}

}  // namespace unstarve
