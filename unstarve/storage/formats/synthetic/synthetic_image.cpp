#include "unstarve/storage/formats/synthetic/synthetic_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

constexpr std::array<const char*, kShapes> kShapeNames = {"disc",  "ring", "square", "frame", "triangle",
                                                          "cross", "star", "half",   "bars",  "ell"};
constexpr std::array<const char*, kTextures> kTextureNames = {"solid",    "stripes", "checks", "dots",    "rings",
                                                              "gradient", "grid",    "zigzag", "speckle", "quarters"};

float box(float u, float v, float half_width, float half_height) noexcept {
  return std::max(std::fabs(u) - half_width, std::fabs(v) - half_height);
}

// The cell index of a coordinate and the position in the cell (0..1). By conversion, because std::floor is a function
// call on CPUs without SSE4.1.
int cell_of(float x) noexcept {
  const int whole = static_cast<int>(x);
  return whole - (static_cast<float>(whole) > x ? 1 : 0);
}
float position_in_cell(float x) noexcept { return x - static_cast<float>(cell_of(x)); }

std::uint32_t hash(std::uint32_t a, std::uint32_t b, std::uint32_t c) noexcept {
  // Multiply and fold; the constants are odd numbers near 2^32 / golden ratio. Only the top bits are used.
  std::uint32_t h = a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du;
  h ^= h >> 15;
  h *= 0x2C1B3C6Du;
  h ^= h >> 12;
  return h * 0x297A2D39u;
}

}  // namespace

SyntheticClass synthetic_class(int label, int classes) noexcept {
  return {label % kShapes, (label + label / kShapes) % kTextures,
          classes > kShapes * kTextures ? label / (kShapes * kTextures) : -1};
}

std::string synthetic_class_name(int label, int classes) {
  const SyntheticClass kind = synthetic_class(label, classes);
  std::string number = std::to_string(label);
  number.insert(0, 3 - std::min<std::size_t>(3, number.size()), '0');
  std::string name = number + "-" + kShapeNames[static_cast<std::size_t>(kind.shape)] + "-" +
                     kTextureNames[static_cast<std::size_t>(kind.texture)];
  if (kind.background >= 0) name += std::string("-on-") + kTextureNames[static_cast<std::size_t>(kind.background)];
  return name;
}

float shape_distance(int shape, float u, float v) noexcept {
  switch (shape) {
    case 0: return std::sqrt(u * u + v * v) - 0.9f;
    case 1: return std::fabs(std::sqrt(u * u + v * v) - 0.66f) - 0.22f;
    case 2: return box(u, v, 0.76f, 0.76f);
    case 3: return std::fabs(box(u, v, 0.62f, 0.62f)) - 0.19f;
    // Apex (0, -0.9), base from (-0.9, 0.65) to (0.9, 0.65); (0.865, -0.502) is the unit normal of the right edge.
    case 4: return std::max(0.865f * std::fabs(u) - 0.502f * (v + 0.9f), v - 0.65f);
    case 5: return std::min(box(u, v, 0.26f, 0.9f), box(u, v, 0.9f, 0.26f));
    case 6: return 0.6f * (std::sqrt(std::fabs(u)) + std::sqrt(std::fabs(v)) - 1.0f);
    case 7: return std::max(std::sqrt(u * u + (v + 0.4f) * (v + 0.4f)) - 0.95f, -v - 0.4f);
    case 8: return box(std::fabs(u) - 0.52f, v, 0.24f, 0.85f);
    default: return std::min(box(u + 0.5f, v, 0.26f, 0.85f), box(u, v - 0.59f, 0.76f, 0.26f));
  }
}

float texture_value(int texture, float u, float v, float cells, std::uint32_t seed) noexcept {
  const float x = u * cells;
  const float y = v * cells;
  switch (texture) {
    case 0: return 0.0f;
    case 1: return position_in_cell(x * 0.5f) < 0.5f ? 0.0f : 1.0f;
    case 2: return static_cast<float>((cell_of(x) + cell_of(y)) & 1);
    case 3: {
      const float dx = position_in_cell(x * 0.7f) - 0.5f;
      const float dy = position_in_cell(y * 0.7f) - 0.5f;
      return dx * dx + dy * dy < 0.1f ? 1.0f : 0.0f;
    }
    case 4: return position_in_cell(std::sqrt(x * x + y * y) * 0.6f) < 0.5f ? 0.0f : 1.0f;
    case 5: return std::clamp(0.5f + 0.55f * u, 0.0f, 1.0f);
    case 6: return std::min(position_in_cell(x * 0.6f), position_in_cell(y * 0.6f)) < 0.28f ? 1.0f : 0.0f;
    case 7:
      return position_in_cell(0.5f * y + std::fabs(position_in_cell(x * 0.4f) - 0.5f) * 1.6f) < 0.5f ? 0.0f : 1.0f;
    case 8:
      return static_cast<float>(
          hash(static_cast<std::uint32_t>(cell_of(x * 1.7f)), static_cast<std::uint32_t>(cell_of(y * 1.7f)), seed) >>
          31);
    default: return u * v > 0.0f ? 1.0f : 0.0f;
  }
}

namespace {

// Operation numbers of the random streams; far above those of augmentations.
constexpr std::uint32_t kSceneStream = 0xF00;
constexpr std::uint32_t kGrainStream = 0xF01;

constexpr int kSupersampleBelow = 96;  // sides under this are drawn with kSupersample^2 samples per pixel
constexpr int kSupersample = 2;

struct Colour {
  float r = 0, g = 0, b = 0;
};

Colour mix(const Colour& a, const Colour& b, float t) noexcept {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

float luma(const Colour& c) noexcept { return 0.299f * c.r + 0.587f * c.g + 0.114f * c.b; }

float uniform(Random& random, float low, float high) noexcept { return static_cast<float>(random.uniform(low, high)); }

Colour any_colour(Random& random) noexcept {
  return {uniform(random, 15, 240), uniform(random, 15, 240), uniform(random, 15, 240)};
}

// A colour at least `gap` brighter or darker than each of `others`; after 24 attempts the best candidate.
Colour contrasting_colour(Random& random, std::initializer_list<Colour> others, float gap) noexcept {
  Colour best;
  float best_gap = -1;
  for (int attempt = 0; attempt < 24 && best_gap < gap; ++attempt) {
    const Colour candidate = any_colour(random);
    float nearest = 255;
    for (const Colour& other : others) nearest = std::min(nearest, std::fabs(luma(candidate) - luma(other)));
    if (nearest > best_gap) {
      best_gap = nearest;
      best = candidate;
    }
  }
  return best;
}

// Smooth random values over the image: a coarse grid, interpolated.
class SmoothNoise {
 public:
  SmoothNoise(Random& random, int cells_across, Size size)
      : columns_(cells_across + 2), rows_(cells_across * size.height / size.width + 3), line_(columns_) {
    per_pixel_ = static_cast<float>(cells_across) / static_cast<float>(size.width);
    values_.resize(static_cast<std::size_t>(columns_) * rows_);
    for (float& value : values_) value = uniform(random, -1, 1);
  }

  // Prepares row y. Must be called before at(x).
  void row(float y) noexcept {
    const float position = y * per_pixel_;
    const int above = std::min(static_cast<int>(position), rows_ - 2);
    const float t = position - static_cast<float>(above);
    const float* const first = values_.data() + static_cast<std::size_t>(above) * columns_;
    for (int i = 0; i < columns_; ++i) line_[i] = first[i] + (first[i + columns_] - first[i]) * t;
  }
  [[nodiscard]] float at(float x) const noexcept {
    const float position = x * per_pixel_;
    const int left = static_cast<int>(position);
    return line_[left] + (line_[left + 1] - line_[left]) * (position - static_cast<float>(left));
  }

 private:
  int columns_;
  int rows_;
  float per_pixel_;
  std::vector<float> values_;
  std::vector<float> line_;
};

// A shape in the image: position, rotation, texture and colours.
struct SceneShape {
  float x = 0, y = 0, radius = 1;  // pixels
  float sine = 0, cosine = 1;
  int shape = 0;
  int texture = 0;
  float cells = 2;
  float stretch = 1;  // along the u axis: strokes are stretched squares
  std::uint32_t seed = 0;
  Colour first, second;

  [[nodiscard]] bool touches_row(float row) const noexcept { return std::fabs(row - y) <= radius * 1.5f * stretch; }
  // Blends the shape over the colour `under` at (px, py).
  void paint(float px, float py, Colour& under) const noexcept {
    const float dx = (px - x) / radius;
    const float dy = (py - y) / radius;
    const float reach = 1.5f * stretch;
    if (dx > reach || dx < -reach) return;
    const float u = (cosine * dx + sine * dy) / stretch;
    const float v = cosine * dy - sine * dx;
    const float coverage = 0.5f - shape_distance(shape, u, v) * radius;  // the edge is one pixel wide
    if (coverage <= 0) return;
    const Colour own = mix(first, second, texture_value(texture, u, v, cells, seed));
    under = coverage >= 1 ? own : mix(under, own, coverage);
  }
};

void rotate(SceneShape& thing, float angle) noexcept {
  thing.sine = std::sin(angle);
  thing.cosine = std::cos(angle);
}

// All properties of one image that do not depend on the pixel.
struct Scene {
  SceneShape ground;  // its texture, colours and frame fill the image
  std::vector<SceneShape> things;
  float light_x = 0, light_y = 0;  // brightness added across the image
  float cloud = 0, detail = 0;     // strength of the noise layers
  float grain = 0;
};

Scene compose(const SyntheticSet& set, std::uint64_t id, Size size, Random& random) {
  const SyntheticClass kind = synthetic_class(synthetic_label(set, id), set.classes);
  const auto width = static_cast<float>(size.width);
  const auto height = static_cast<float>(size.height);
  const float side = std::min(width, height);
  Scene scene;

  SceneShape& ground = scene.ground;
  ground.radius = side * 0.5f;
  ground.x = width * 0.5f;
  ground.y = height * 0.5f;
  ground.texture = kind.background >= 0 ? kind.background : static_cast<int>(random.below(kTextures));
  ground.cells = uniform(random, 2.5f, 5);
  ground.seed = random.bits();
  rotate(ground, uniform(random, 0, 6.2832f));
  ground.first = any_colour(random);
  // Background textures are faint, so that the texture of the object is visible.
  ground.second = mix(ground.first, any_colour(random), kind.background >= 0 ? 0.35f : uniform(random, 0, 0.3f));

  for (std::uint32_t i = random.below(5); i > 0; --i) {  // clutter: small shapes of any kind
    SceneShape bit;
    bit.radius = side * uniform(random, 0.04f, 0.1f);
    bit.x = uniform(random, 0, width);
    bit.y = uniform(random, 0, height);
    bit.shape = static_cast<int>(random.below(kShapes));
    rotate(bit, uniform(random, 0, 6.2832f));
    bit.first = bit.second = any_colour(random);
    scene.things.push_back(bit);
  }

  SceneShape object;
  object.shape = kind.shape;
  object.texture = kind.texture;
  object.radius = side * uniform(random, 0.26f, 0.46f);
  const float room_x = std::max(0.0f, width * 0.5f - object.radius * 0.85f);
  const float room_y = std::max(0.0f, height * 0.5f - object.radius * 0.85f);
  object.x = width * 0.5f + uniform(random, -room_x, room_x);
  object.y = height * 0.5f + uniform(random, -room_y, room_y);
  object.cells = uniform(random, 2.2f, 3.2f);
  object.seed = random.bits();
  rotate(object, uniform(random, -0.6f, 0.6f));
  object.first = contrasting_colour(random, {ground.first, ground.second}, 55);
  object.second = contrasting_colour(random, {object.first, ground.first, ground.second}, 45);
  scene.things.push_back(object);

  for (std::uint32_t i = random.below(3); i > 0; --i) {  // occluding strokes
    SceneShape stroke;
    stroke.shape = 2;
    stroke.radius = std::max(0.7f, side * uniform(random, 0.008f, 0.022f));
    stroke.stretch = side * uniform(random, 0.2f, 0.6f) / stroke.radius;
    stroke.x = uniform(random, 0, width);
    stroke.y = uniform(random, 0, height);
    rotate(stroke, uniform(random, 0, 6.2832f));
    stroke.first = stroke.second = any_colour(random);
    scene.things.push_back(stroke);
  }

  scene.light_x = uniform(random, -35, 35) / width;
  scene.light_y = uniform(random, -35, 35) / height;
  scene.cloud = uniform(random, 4, 22);
  scene.detail = uniform(random, 2, 16);
  // Downscaled photographs have little grain.
  scene.grain = side < kSupersampleBelow ? uniform(random, 2, 10) : uniform(random, 6, 24);
  return scene;
}

// Sensor noise: triangular distribution in [-1, 1], one 64-bit state per image.
class Grain {
 public:
  explicit Grain(Random random) : state_((std::uint64_t{random.bits()} << 32 | random.bits()) | 1) {}
  // Marsaglia's xorshift64* ("Xorshift RNGs", 2003, with Vigna's multiplier): three values from one step.
  void next(float& r, float& g, float& b) noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t bits = state_ * 0x2545F4914F6CDD1Dull;
    const float shared = static_cast<float>((bits >> 56) + (bits >> 48 & 255)) / 255.0f - 1.0f;
    r = shared + (static_cast<float>(bits >> 40 & 255) / 255.0f - 0.5f) * 0.5f;
    g = shared + (static_cast<float>(bits >> 32 & 255) / 255.0f - 0.5f) * 0.25f;
    b = shared + (static_cast<float>(bits >> 24 & 255) / 255.0f - 0.5f) * 0.5f;
  }

 private:
  std::uint64_t state_;
};

std::uint8_t to_byte(float value) noexcept { return static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f)); }

}  // namespace

void draw_synthetic(const SyntheticSet& set, std::uint64_t id, Size size, Image& out) {
  if (set.classes < 1 || set.classes > kSyntheticMaxClasses) {
    throw argument_error("draw synthetic image: {} classes; expected 1 to {}", set.classes, kSyntheticMaxClasses);
  }
  if (std::min(size.width, size.height) < 8) {
    throw argument_error("draw synthetic image: {} x {} pixels; expected at least 8 x 8", size.width, size.height);
  }
  Random random(set.seed, 0, id, kSceneStream);
  const Scene scene = compose(set, id, size, random);
  SmoothNoise cloud(random, 5, size);
  SmoothNoise detail(random, std::max(6, std::min(size.width / 6, 80)), size);
  Grain grain(Random(set.seed, 0, id, kGrainStream));

  const int samples = std::min(size.width, size.height) < kSupersampleBelow ? kSupersample : 1;
  const float step = 1.0f / static_cast<float>(samples);
  const float share = step * step;
  const SceneShape& ground = scene.ground;
  std::vector<const SceneShape*> here;  // shapes that intersect this row
  out.resize(size);
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* pixel = out.row(y);
    const float centre_y = static_cast<float>(y) + 0.5f;
    cloud.row(centre_y);
    detail.row(centre_y);
    here.clear();
    for (const SceneShape& thing : scene.things) {
      if (thing.touches_row(centre_y)) here.push_back(&thing);
    }
    for (int x = 0; x < size.width; ++x, pixel += kChannels) {
      Colour sum;
      for (int sub = 0; sub < samples * samples; ++sub) {
        const float px = static_cast<float>(x) + (static_cast<float>(sub % samples) + 0.5f) * step;
        const float py = static_cast<float>(y) + (static_cast<float>(sub / samples) + 0.5f) * step;
        const float dx = (px - ground.x) / ground.radius;
        const float dy = (py - ground.y) / ground.radius;
        Colour colour = mix(ground.first, ground.second,
                            texture_value(ground.texture, ground.cosine * dx + ground.sine * dy,
                                          ground.cosine * dy - ground.sine * dx, ground.cells, ground.seed));
        for (const SceneShape* thing : here) thing->paint(px, py, colour);
        sum.r += colour.r * share;
        sum.g += colour.g * share;
        sum.b += colour.b * share;
      }
      const float centre_x = static_cast<float>(x) + 0.5f;
      const float light = scene.light_x * (centre_x - ground.x) + scene.light_y * (centre_y - ground.y) +
                          scene.cloud * cloud.at(centre_x) + scene.detail * detail.at(centre_x);
      float grain_r, grain_g, grain_b;
      grain.next(grain_r, grain_g, grain_b);
      pixel[0] = to_byte(sum.r + light + scene.grain * grain_r);
      pixel[1] = to_byte(sum.g + light + scene.grain * grain_g);
      pixel[2] = to_byte(sum.b + light + scene.grain * grain_b);
    }
  }
}

}  // namespace unstarve
