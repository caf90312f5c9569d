#include "app/demo/demo_pictures.h"

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include "app/demo/scene.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::demo {

namespace {

struct Size {
  std::int32_t width;
  std::int32_t height;
};

constexpr std::array<Size, 6> kSizes{{{320, 320}, {384, 256}, {256, 384}, {448, 256}, {256, 448}, {352, 288}}};
constexpr std::array kGrounds{Ground::plain,  Ground::striped, Ground::checked,
                              Ground::dotted, Ground::wavy,    Ground::cloudy};

// Every item once in a random order, then again: all of them appear, however few are drawn.
template <class Item, std::size_t kCount>
std::vector<Item> in_rounds(const std::array<Item, kCount>& items, std::size_t count, PythonRandom& random) {
  std::vector<Item> result;
  while (result.size() < count) {
    std::vector<Item> round(items.begin(), items.end());
    random.shuffle(round);
    result.insert(result.end(), round.begin(), round.end());
  }
  return result;
}

}  // namespace

std::size_t write_demo_pictures(const std::filesystem::path& folder, std::uint64_t seed, std::size_t count) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    throw Error(ErrorKind::file, format("cannot make the folder {}: {}", to_utf8(folder), problem.message()));
  PythonRandom random(seed);
  const auto sizes = in_rounds(kSizes, count, random);
  const auto shapes = in_rounds(kShapes, count, random);
  const auto grounds = in_rounds(kGrounds, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    const Scene scene = compose(sizes[i].width, sizes[i].height, shapes[i], grounds[i], random);
    const std::string name = format("{:02}_{}", i + 1, scene.name);
    io::encode_png(folder / (name + ".png"), draw(scene));
    write_text(folder / (name + ".txt"), scene.caption + "\n");
  }
  return count;
}

}  // namespace lathe::demo
