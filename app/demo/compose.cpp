#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "app/demo/scene.h"
#include "core/base/format.h"

namespace lathe::demo {

namespace {

struct NamedColour {
  std::string_view name;
  Colour colour;
};

constexpr std::array<NamedColour, 10> kColours{{{"red", {0.86, 0.20, 0.20}},
                                                {"orange", {0.95, 0.55, 0.15}},
                                                {"yellow", {0.97, 0.83, 0.25}},
                                                {"green", {0.30, 0.65, 0.32}},
                                                {"teal", {0.13, 0.58, 0.58}},
                                                {"blue", {0.20, 0.42, 0.80}},
                                                {"purple", {0.52, 0.30, 0.70}},
                                                {"pink", {0.94, 0.55, 0.68}},
                                                {"white", {0.94, 0.93, 0.90}},
                                                {"grey", {0.42, 0.45, 0.50}}}};

constexpr std::array<std::string_view, 6> kGroundWords{"plain", "striped", "checked", "dotted", "wavy", "cloudy"};
constexpr std::array<std::string_view, 4> kSurfaceWords{"", "glossy ", "striped ", "speckled "};
constexpr std::array<std::string_view, 4> kLightWords{"soft light", "bright light", "evening light", "moonlight"};

template <class Items>
const auto& pick(const Items& items, PythonRandom& random) {
  return items[random.below(items.size())];
}

double difference(Colour a, Colour b) {
  return std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
}

// One that can be told from the others.
NamedColour pick_apart(std::initializer_list<Colour> others, PythonRandom& random) {
  while (true) {
    const NamedColour colour = pick(kColours, random);
    const bool apart =
        std::ranges::all_of(others, [&](Colour other) { return difference(colour.colour, other) > 0.55; });
    if (apart) return colour;
  }
}

std::string with_article(const std::string& words) {
  return (std::string_view("aeiou").find(words.front()) == std::string_view::npos ? "a " : "an ") + words;
}

// Two or three small figures around the large one, which moves aside for them.
std::string add_company(Scene& scene, Shape main_shape, Colour apart_from, PythonRandom& random) {
  const auto count = static_cast<int>(random.randint(2, 3));
  Shape shape = pick(kShapes, random);
  while (shape == main_shape) shape = pick(kShapes, random);
  const NamedColour colour = pick_apart({apart_from, scene.ground_colour}, random);
  const double side = std::min(scene.width, scene.height);
  const bool wide = scene.width >= scene.height;
  Figure& main = scene.figures.front();
  main.radius = side * random.uniform(0.24, 0.28);
  (wide ? main.centre.x : main.centre.y) = (wide ? scene.width : scene.height) * 0.36;
  for (int i = 0; i < count; ++i) {
    const double along = (i + 1.0) / (count + 1.0);
    Figure small{.shape = shape,
                 .colour = colour.colour,
                 .radius = side * random.uniform(0.085, 0.105),
                 .turn = random.uniform(-0.3, 0.3)};
    small.centre = wide ? Point{scene.width * random.uniform(0.76, 0.82), scene.height * along}
                        : Point{scene.width * along, scene.height * random.uniform(0.76, 0.82)};
    scene.figures.push_back(small);
  }
  return format(" with {} small {} {}s", count == 2 ? "two" : "three", colour.name, name(shape));
}

}  // namespace

Scene compose(std::int32_t width, std::int32_t height, Shape shape, Ground ground, PythonRandom& random) {
  Scene scene{.width = width, .height = height, .ground = ground};
  const NamedColour ground_colour = pick(kColours, random);
  const NamedColour colour = pick_apart({ground_colour.colour}, random);
  const double side = std::min(width, height);
  scene.ground_colour = ground_colour.colour;
  scene.ground_scale = side * random.uniform(0.09, 0.16);
  scene.ground_turn = random.uniform(0, std::numbers::pi);
  scene.light = static_cast<Light>(random.below(kLightWords.size()));
  const auto surface = static_cast<Surface>(random.below(kSurfaceWords.size()));
  scene.figures.push_back({.shape = shape,
                           .surface = surface,
                           .colour = colour.colour,
                           .centre = {width * random.uniform(0.42, 0.58), height * random.uniform(0.44, 0.56)},
                           .radius = side * random.uniform(0.27, 0.36),
                           .turn = random.uniform(-0.25, 0.25)});
  std::string company;
  if (random.random() < 0.35) company = add_company(scene, shape, colour.colour, random);

  const auto surface_word = kSurfaceWords[static_cast<std::size_t>(surface)];
  const auto what = format("{}{} {}", surface_word, colour.name, name(shape));
  const auto where = format("{} {} background", kGroundWords[static_cast<std::size_t>(ground)], ground_colour.name);
  scene.caption = format("{}{} on {}, {}", with_article(what), company, with_article(where),
                         kLightWords[static_cast<std::size_t>(scene.light)]);
  scene.name = format("{}_{}", colour.name, name(shape));
  return scene;
}

}  // namespace lathe::demo
