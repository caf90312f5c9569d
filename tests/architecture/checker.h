#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/architecture/layers.h"

namespace lathe::architecture {

struct Report {
  std::vector<std::string> violations;  // "path:line: what is wrong"
  std::vector<std::string> warnings;
  int files = 0;
};

// Reads every source below `root`/{core,app,ui,tests} and checks, against the rules:
//  - arrows: an include leads to the own folder or to one that the rules reach from it; a path starts at the root;
//  - headers of torch and Qt only where the kind allows them; spdlog and fmt in no header, torch/torch.h neither;
//  - every folder with sources has a line; the ids of LATHE_TEXT are unique; headers start with #pragma once;
//  - each folder of tests has its folder of sources, each listed folder with a .cpp has a test.
// Files of more than 350 lines are warnings.
Report check_tree(const std::filesystem::path& root, const Layers& layers);

}  // namespace lathe::architecture
