#pragma once

#include <array>
#include <string_view>

namespace lathe::demo {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Shape { circle, square, triangle, star, hexagon, diamond, ring, crescent, heart, flower };
inline constexpr std::array kShapes{Shape::circle,  Shape::square, Shape::triangle, Shape::star,  Shape::hexagon,
                                    Shape::diamond, Shape::ring,   Shape::crescent, Shape::heart, Shape::flower};

std::string_view name(Shape shape);  // "circle"

// Distance of a point from the outline of a shape of radius about 1 around the origin, y downwards; negative inside.
// Exact near the outline, where it is used to smooth the edge.
double distance(Shape shape, Point point);

}  // namespace lathe::demo
