#include <array>
#include <cstdio>
#include <string_view>

#include "app/batch/commands.h"
#include "core/base/format.h"
#include "core/config/help.h"

namespace lathe::batch {

namespace {

struct CommandHelp {
  std::string_view name, arguments, text;
};

constexpr std::array kCommands = {
    CommandHelp{"train", "SETTINGS.toml | OPTIONS",
                "train an adapter; the reference's own command line works as it is"},
    CommandHelp{"plan", "SETTINGS.toml | OPTIONS",
                "what train will do: images used and dropped, shapes, steps, saves, memory, disk"},
    CommandHelp{"validate", "SETTINGS.toml | OPTIONS", "check the settings, all findings at once; starts nothing"},
    CommandHelp{"cache", "SETTINGS.toml | OPTIONS", "make the latent and text caches on disk, and end"},
    CommandHelp{"sample", "SETTINGS.toml | OPTIONS",
                "draw the prompts of sample_prompts, with the adapter of network_weights if given"},
    CommandHelp{"inspect", "FILE ...", "what an adapter, model, cache, image or run folder is and holds"},
    CommandHelp{"demo", "[--output_dir FOLDER] [--write_only]",
                "draw a small picture set, train tiny stand-in models on it, show samples"},
    CommandHelp{"help", "[TOPIC]", "this text, a section of options, or one option"},
};

void print_commands() {
  std::printf("lathe-batch: trains LoRA adapters for the Anima diffusion transformer, without a window\n\n");
  for (const CommandHelp& command : kCommands) {
    std::printf("%s\n", format("  lathe-batch {} {}\n      {}", command.name, command.arguments, command.text).c_str());
  }
  std::printf(
      "\n  --json   events and forecasts as JSON on standard output\n"
      "  --quiet  nothing on standard output\n"
      "  --version\n\n"
      "exit codes: 0 done, 2 invalid settings, 3 failed while running, 4 done but with too little of the data, 130 "
      "stopped\n\n");
}

}  // namespace

int run_help(const Call& call) {
  std::string topic;
  for (const std::string& word : call.words) {
    if (word != "--help" && word != "-h" && topic.empty()) topic = word;
  }
  if (topic.empty() || call.command != "help") {
    print_commands();
    std::fputs(config::help_overview().c_str(), stdout);
    return kDone;
  }
  for (const CommandHelp& command : kCommands) {
    if (topic != command.name) continue;
    std::printf("%s\n", format("lathe-batch {} {}\n    {}", command.name, command.arguments, command.text).c_str());
    return kDone;
  }
  if (const auto text = config::help_topic(topic)) {
    std::fputs(text->c_str(), stdout);
    return kDone;
  }
  std::fprintf(stderr, "error: there is no help on '%s'; the topics are: %s, and every option by its name\n",
               topic.c_str(), join(config::help_topics(), ", ").c_str());
  return kInvalidSettings;
}

}  // namespace lathe::batch
