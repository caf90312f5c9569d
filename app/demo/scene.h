#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/demo/shapes.h"
#include "core/base/python_random.h"
#include "core/io/image_file.h"

namespace lathe::demo {

struct Colour {  // 0..1, as stored in the file
  double red = 0;
  double green = 0;
  double blue = 0;
};

enum class Ground { plain, striped, checked, dotted, wavy, cloudy };
enum class Surface { plain, glossy, striped, speckled };
enum class Light { soft, bright, evening, moon };

struct Figure {
  Shape shape = Shape::circle;
  Surface surface = Surface::plain;
  Colour colour;
  Point centre;       // pixels
  double radius = 1;  // pixels
  double turn = 0;    // radians
};

// A picture before it is drawn, and the words for it.
struct Scene {
  std::int32_t width = 0;
  std::int32_t height = 0;
  Ground ground = Ground::plain;
  Colour ground_colour;
  double ground_scale = 32;  // pixels
  double ground_turn = 0;    // radians
  Light light = Light::soft;
  std::vector<Figure> figures;  // later ones lie on top
  std::string caption;          // "a red circle on a striped blue background, soft light"
  std::string name;             // "red_circle"
};

Scene compose(std::int32_t width, std::int32_t height, Shape shape, Ground ground, PythonRandom& random);

io::Image draw(const Scene& scene);

}  // namespace lathe::demo
