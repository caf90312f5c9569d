#include "app/batch/batch.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <new>

#include "app/batch/commands.h"
#include "core/base/error.h"

namespace lathe::batch {

namespace {

using Command = std::function<int(const Call&, run::MakeBackend)>;

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> table = {
      {"train", run_train},
      {"cache", run_cache},
      {"sample", run_sample},
      {"demo", run_demo},
      {"plan", run_plan},
      {"validate", run_validate},
      {"inspect", [](const Call& call, run::MakeBackend) { return run_inspect(call); }},
      {"help", [](const Call& call, run::MakeBackend) { return run_help(call); }},
  };
  return table;
}

// The command is the first word; flags alone, a settings file or the reference's own command line mean `train`.
Call read_call(const std::vector<std::string>& words) {
  Call call;
  std::size_t first = 0;
  if (!words.empty() && commands().contains(words[0])) {
    call.command = words[0];
    first = 1;
  } else if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    call.command = "help";
    first = words.size();
  } else if (words[0] == "--version") {
    call.command = "version";
  } else if (words[0].starts_with("-") || words[0].ends_with(".toml") || words[0] == "accelerate" ||
             words[0] == "python" || words[0] == "python3") {
    call.command = "train";
  } else {
    call.command = words[0];
  }
  for (std::size_t i = first; i < words.size(); ++i) {
    if (words[i] == "--json") {
      call.json = true;
    } else if (words[i] == "--quiet") {
      call.quiet = true;
    } else {
      call.words.push_back(words[i]);
    }
  }
  return call;
}

int unknown_command(const std::string& command) {
  std::vector<std::string> names;
  for (const auto& [name, run] : commands()) names.push_back(name);
  const std::string nearest = config::nearest_name(command, names);
  std::fprintf(stderr, "error: there is no command '%s'%s; the commands are: %s\n", command.c_str(),
               nearest.empty() ? "" : ("; did you mean '" + nearest + "'").c_str(), join(names, ", ").c_str());
  return kInvalidSettings;
}

int dispatch(const std::vector<std::string>& words, run::MakeBackend make_backend) {
  const Call call = read_call(words);
  if (call.command == "version") {
    std::printf("lathe-batch %s\n", LATHE_VERSION);
    return kDone;
  }
  const bool asks_help =
      call.command != "help" && std::any_of(call.words.begin(), call.words.end(),
                                            [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (asks_help) return run_help(call);
  const auto found = commands().find(call.command);
  return found == commands().end() ? unknown_command(call.command) : found->second(call, make_backend);
}

}  // namespace

int run_batch(const std::vector<std::string>& words, run::MakeBackend make_backend) {
  try {
    return dispatch(words, make_backend);
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    const bool settings = error.kind() == ErrorKind::settings;
    return error.kind() == ErrorKind::stopped ? kStopped : settings ? kInvalidSettings : kFailed;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: the machine's memory ran out\n");
    return kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace lathe::batch
