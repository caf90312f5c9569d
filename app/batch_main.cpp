#include <string>
#include <vector>

#include "app/batch/batch.h"
#include "core/train/engine.h"

#ifdef _WIN32
#include <windows.h>

#include "core/base/paths.h"

int wmain(int count, wchar_t** words) {
  SetConsoleOutputCP(CP_UTF8);
  std::vector<std::string> arguments;
  for (int i = 1; i < count; ++i) arguments.push_back(lathe::to_utf8(std::filesystem::path(words[i])));
  return lathe::batch::run_batch(arguments, &lathe::train::make_engine);
}
#else
int main(int count, char** words) {
  return lathe::batch::run_batch(std::vector<std::string>(words + 1, words + count), &lathe::train::make_engine);
}
#endif
