#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "app/demo/scene.h"

namespace lathe::demo {

namespace {

Colour mix(Colour a, Colour b, double t) {
  return {a.red + (b.red - a.red) * t, a.green + (b.green - a.green) * t, a.blue + (b.blue - a.blue) * t};
}

Colour scaled(Colour c, double factor) {
  return {c.red * factor, c.green * factor, c.blue * factor};
}

constexpr Colour kWhite{1, 1, 1};

// Where a pixel lies as a figure or the background sees it: from its centre, turned, in its unit of length.
class Frame {
 public:
  Frame(Point centre, double turn, double unit)
      : centre_(centre), cosine_(std::cos(turn) / unit), sine_(std::sin(turn) / unit) {}

  Point local(Point pixel) const {
    const Point p{pixel.x - centre_.x, pixel.y - centre_.y};
    return {p.x * cosine_ + p.y * sine_, p.y * cosine_ - p.x * sine_};
  }

 private:
  Point centre_;
  double cosine_;
  double sine_;
};

// How much of a pixel lies inside, from its centre's distance to the edge in pixels (negative: inside).
double coverage(double distance) {
  return std::clamp(0.5 - distance, 0.0, 1.0);
}

double smooth(double t) {
  return t * t * (3 - 2 * t);
}

// A fixed number in [0, 1) for each lattice point.
double lattice(std::int64_t x, std::int64_t y) {
  auto bits = static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(y) * 0xC2B2AE3D27D4EB4Fu;
  bits ^= bits >> 29;
  bits *= 0xBF58476D1CE4E5B9u;
  bits ^= bits >> 32;
  return static_cast<double>(bits >> 11) / 9007199254740992.0;  // 2^53
}

double value_noise(Point p) {
  const double left = std::floor(p.x);
  const double top = std::floor(p.y);
  const auto x = static_cast<std::int64_t>(left);
  const auto y = static_cast<std::int64_t>(top);
  const double across = smooth(p.x - left);
  const double upper = std::lerp(lattice(x, y), lattice(x + 1, y), across);
  const double lower = std::lerp(lattice(x, y + 1), lattice(x + 1, y + 1), across);
  return std::lerp(upper, lower, smooth(p.y - top));
}

double clouds(Point p) {  // [0, 1)
  double sum = 0;
  double weight = 0.5;
  for (int octave = 0; octave < 4; ++octave) {
    sum += weight * value_noise(p);
    p = {p.x * 2.03 + 17, p.y * 2.03 + 5};
    weight /= 2;
  }
  return sum / 0.9375;
}

// Distance of t from the stripes [k, k + 1/2), negative inside.
double stripe_distance(double t) {
  return std::abs(t - std::floor(t) - 0.5) * -1 + 0.25;
}

double checker(Point p, double scale) {
  const double x = coverage(stripe_distance(p.x / (2 * scale)) * 2 * scale);
  const double y = coverage(stripe_distance(p.y / (2 * scale)) * 2 * scale);
  return x + y - 2 * x * y;
}

// 0: the darker tone of the background, 1: the lighter. The point in pixels from the centre, turned.
double ground_tone(const Scene& scene, Point p) {
  const double scale = scene.ground_scale;
  switch (scene.ground) {
    case Ground::plain:
      return 0.5 + 0.35 * p.y / std::max(scene.width, scene.height);
    case Ground::striped:
      return coverage(stripe_distance(p.x / (1.6 * scale)) * 1.6 * scale);
    case Ground::checked:
      return checker(p, scale);
    case Ground::dotted: {
      const Point cell{p.x / scale, p.y / scale};
      const Point offset{cell.x - std::floor(cell.x) - 0.5, cell.y - std::floor(cell.y) - 0.5};
      return coverage((std::hypot(offset.x, offset.y) - 0.28) * scale);
    }
    case Ground::wavy: {
      const double shifted = p.x + 0.45 * scale * std::sin(p.y / scale * 1.7);
      return 0.5 + 0.5 * std::sin(shifted / scale * 3.2);
    }
    case Ground::cloudy:
      return std::clamp((clouds({p.x / scale / 2, p.y / scale / 2}) - 0.25) * 2, 0.0, 1.0);
  }
  return 0;
}

Colour figure_colour(const Figure& figure, Point local) {
  const Colour base = figure.colour;
  switch (figure.surface) {
    case Surface::plain:
      return base;
    case Surface::glossy: {
      const double shade = std::clamp(1.08 - 0.30 * (local.y + 0.4 * local.x), 0.6, 1.25);
      const double spot = std::exp(-8 * (std::pow(local.x + 0.32, 2) + std::pow(local.y + 0.38, 2)));
      return mix(scaled(base, shade), kWhite, 0.75 * spot);
    }
    case Surface::striped:
      return mix(scaled(base, 0.72), base, coverage(stripe_distance(local.y / 0.36) * 0.36 * figure.radius));
    case Surface::speckled: {
      const double grain = value_noise({local.x * 9 + 31, local.y * 9 + 7});
      return mix(base, kWhite, 0.65 * smooth(std::clamp((grain - 0.62) * 6, 0.0, 1.0)));
    }
  }
  return base;
}

struct LightOf {
  Colour tint;
  double vignette;  // darkening of the corners
  double shadow;    // strength
};

LightOf light_of(Light light) {
  switch (light) {
    case Light::soft:
      return {{1, 1, 1}, 0.15, 0.30};
    case Light::bright:
      return {{1.08, 1.08, 1.06}, 0.0, 0.45};
    case Light::evening:
      return {{1.05, 0.94, 0.80}, 0.25, 0.40};
    case Light::moon:
      return {{0.66, 0.73, 0.92}, 0.35, 0.35};
  }
  return {};
}

class Painter {
 public:
  explicit Painter(const Scene& scene)
      : scene_(scene),
        light_(light_of(scene.light)),
        ground_({scene.width / 2.0, scene.height / 2.0}, scene.ground_turn, 1),
        dark_(scaled(scene.ground_colour, 0.78)),
        pale_(mix(scene.ground_colour, kWhite, 0.22)) {
    for (const Figure& figure : scene.figures) frames_.emplace_back(figure.centre, figure.turn, figure.radius);
  }

  Colour colour_at(Point pixel) const {
    Colour colour = mix(dark_, pale_, ground_tone(scene_, ground_.local(pixel)));
    for (std::size_t i = 0; i < frames_.size(); ++i) colour = under(scene_.figures[i], frames_[i], pixel, colour);
    const double from_centre =
        std::hypot(pixel.x / scene_.width - 0.5, pixel.y / scene_.height - 0.5) / std::hypot(0.5, 0.5);
    const double brightness = 1 - light_.vignette * from_centre * from_centre;
    return {colour.red * light_.tint.red * brightness, colour.green * light_.tint.green * brightness,
            colour.blue * light_.tint.blue * brightness};
  }

 private:
  // What is seen of `colour` when the figure and its shadow lie on it.
  Colour under(const Figure& figure, const Frame& frame, Point pixel, Colour colour) const {
    const Point local = frame.local(pixel);
    if (std::hypot(local.x, local.y) > 1.6) return colour;
    const double inside = coverage(distance(figure.shape, local) * figure.radius);
    if (inside < 1) {  // the shadow: the same outline, moved down to the right, blurred over a fifth of the radius
      const double fall = 0.10 * figure.radius;
      const double edge = distance(figure.shape, frame.local({pixel.x - fall, pixel.y - fall})) / 0.2;
      colour = scaled(colour, 1 - light_.shadow * smooth(std::clamp(0.5 - edge, 0.0, 1.0)));
    }
    return inside > 0 ? mix(colour, figure_colour(figure, local), inside) : colour;
  }

  const Scene& scene_;
  LightOf light_;
  Frame ground_;
  std::vector<Frame> frames_;
  Colour dark_;
  Colour pale_;
};

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(value * 255 + 0.5, 0.0, 255.0));
}

}  // namespace

io::Image draw(const Scene& scene) {
  io::Image image{.width = scene.width, .height = scene.height, .channels = 3, .pixels = {}};
  image.pixels.reserve(static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height) * 3);
  const Painter painter(scene);
  for (std::int32_t y = 0; y < scene.height; ++y) {
    for (std::int32_t x = 0; x < scene.width; ++x) {
      const Colour colour = painter.colour_at({x + 0.5, y + 0.5});
      for (double channel : {colour.red, colour.green, colour.blue}) image.pixels.push_back(to_byte(channel));
    }
  }
  return image;
}

}  // namespace lathe::demo
