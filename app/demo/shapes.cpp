#include "app/demo/shapes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace lathe::demo {

namespace {

constexpr double kPi = std::numbers::pi;

// Corners on circles whose radii alternate; the first one points up.
std::vector<Point> corners(int count, double radius, double other_radius, double down = 0) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * kPi * i / count - kPi / 2;
    const double r = i % 2 == 0 ? radius : other_radius;
    points.push_back({r * std::cos(angle), r * std::sin(angle) + down});
  }
  return points;
}

std::vector<Point> heart() {
  std::vector<Point> points;
  for (int i = 0; i < 72; ++i) {  // x = sin³t, y from four harmonics: the usual heart curve, brought to radius 1
    const double t = 2 * kPi * i / 72;
    const double y = 13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
    points.push_back({std::pow(std::sin(t), 3), -y / 16 - 0.1});
  }
  return points;
}

double segment_distance(Point p, Point a, Point b) {
  const Point along{b.x - a.x, b.y - a.y};
  const Point to{p.x - a.x, p.y - a.y};
  const double t = std::clamp((to.x * along.x + to.y * along.y) / (along.x * along.x + along.y * along.y), 0.0, 1.0);
  return std::hypot(to.x - t * along.x, to.y - t * along.y);
}

// The nearest edge, with the sign of an even-odd count of crossings to the right.
double polygon_distance(std::span<const Point> points, Point p) {
  double nearest = 1e9;
  bool inside = false;
  for (std::size_t i = 0, previous = points.size() - 1; i < points.size(); previous = i++) {
    const Point a = points[previous];
    const Point b = points[i];
    nearest = std::min(nearest, segment_distance(p, a, b));
    if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y)) inside = !inside;
  }
  return inside ? -nearest : nearest;
}

double flower_distance(Point p) {  // six round petals around a round middle
  const double petal = kPi / 3;
  double angle = std::atan2(p.y, p.x) + kPi / 2;
  angle -= petal * std::round(angle / petal);
  const double radius = std::hypot(p.x, p.y);
  return std::min(std::hypot(radius * std::cos(angle) - 0.64, radius * std::sin(angle)) - 0.36, radius - 0.5);
}

}  // namespace

std::string_view name(Shape shape) {
  constexpr std::array<std::string_view, kShapes.size()> names{"circle",  "square", "triangle", "star",  "hexagon",
                                                               "diamond", "ring",   "crescent", "heart", "flower"};
  return names[static_cast<std::size_t>(shape)];
}

double distance(Shape shape, Point p) {
  static const auto square = std::vector<Point>{{-0.8, -0.8}, {0.8, -0.8}, {0.8, 0.8}, {-0.8, 0.8}};
  static const auto triangle = corners(3, 1.1, 1.1, 0.2);
  static const auto star = corners(10, 1.08, 0.46, 0.05);
  static const auto hexagon = corners(6, 1, 1);
  static const auto diamond = corners(4, 1.1, 0.72);
  static const auto heart_curve = heart();
  const double radius = std::hypot(p.x, p.y);
  if (radius > 1.6) return radius - 1.2;  // far outside every shape
  constexpr double kRound = 0.06;         // corners are rounded by this
  switch (shape) {
    case Shape::circle:
      return radius - 0.95;
    case Shape::square:
      return polygon_distance(square, p) - kRound;
    case Shape::triangle:
      return polygon_distance(triangle, p) - kRound;
    case Shape::star:
      return polygon_distance(star, p) - kRound;
    case Shape::hexagon:
      return polygon_distance(hexagon, p) - kRound;
    case Shape::diamond:
      return polygon_distance(diamond, p) - kRound;
    case Shape::ring:
      return std::abs(radius - 0.72) - 0.25;
    case Shape::crescent:
      return std::max(radius - 1, 0.82 - std::hypot(p.x - 0.45, p.y + 0.15));
    case Shape::heart:
      return polygon_distance(heart_curve, p);
    case Shape::flower:
      return flower_distance(p);
  }
  return radius - 1;
}

}  // namespace lathe::demo
