#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::run {

// What one run leaves beside its adapters: <output_dir>/lathe-runs/<output_name>-<YYYYmmdd-HHMMSS>[-n]/. Never shared
// by two runs. The window opens a run, live or finished, from this folder alone.
struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path settings() const { return path / "settings.toml"; }  // effective, with their sources
  std::filesystem::path command_line() const { return path / "command_line.txt"; }
  std::filesystem::path forecast() const { return path / "forecast.json"; }  // made before the start
  std::filesystem::path events() const { return path / "events.jsonl"; }
  std::filesystem::path log() const { return path / "log.txt"; }
  std::filesystem::path tensorboard() const { return path / "tensorboard"; }  // where no logging_dir is given
};

// Makes the folder (and output_dir). Error(file) with the reason where that is not possible. Characters of
// `output_name` that a file name cannot hold become '_'.
RunFolder create_run_folder(const std::filesystem::path& output_dir, std::string_view output_name);

}  // namespace lathe::run
