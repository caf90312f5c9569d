#include <cstdio>

#include "app/batch/commands.h"
#include "app/batch/console.h"
#include "app/demo/demo_pictures.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/config/effective.h"
#include "core/run/events_json.h"

namespace lathe::batch {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSeed = 1;
// The loss of the last tenth of the steps must lie this share below that of the first tenth.
constexpr double kMargin = 0.2;

struct DemoOptions {
  fs::path folder = "lathe-demo";
  bool write_only = false;
  std::vector<std::string> settings;  // further options, after the demo's own
};

DemoOptions read_options(const Call& call) {
  DemoOptions options;
  for (std::size_t i = 0; i < call.words.size(); ++i) {
    std::string word = call.words[i];
    for (std::size_t k = 2; k < word.find('=') && k < word.size(); ++k) {
      if (word[k] == '-') word[k] = '_';
    }
    if (word == "--write_only") {
      options.write_only = true;
    } else if (word == "--output_dir") {
      if (++i == call.words.size()) throw Error(ErrorKind::settings, "--output_dir needs a folder");
      options.folder = from_utf8(call.words[i]);
    } else if (word.starts_with("--output_dir=")) {
      options.folder = from_utf8(word.substr(std::string_view("--output_dir=").size()));
    } else {
      options.settings.push_back(call.words[i]);
    }
  }
  return options;
}

std::string settings_toml(const fs::path& folder) {
  const auto quoted = [&](const fs::path& path) {
    return config::toml_string(to_generic_utf8(fs::absolute(path).lexically_normal()));
  };
  std::string text =
      "# The demo's settings. For real weights: put the real files in the first three lines, take device,\n"
      "# mixed_precision and max_train_steps out, and set resolution in dataset.toml to 1024.\n";
  text += "pretrained_model_name_or_path = " + quoted(folder / "models" / "dit.safetensors") + "\n";
  text += "qwen3 = " + quoted(folder / "models" / "qwen3.safetensors") + "\n";
  text += "vae = " + quoted(folder / "models" / "vae.safetensors") + "\n";
  text += "dataset_config = " + quoted(folder / "dataset.toml") + "\n";
  text += "output_dir = " + quoted(folder / "output") + "\n";
  text += "sample_prompts = " + quoted(folder / "prompts.txt") + "\n";
  text += R"(output_name = "demo"
device = "cpu"
mixed_precision = "no"
network_module = "networks.lora_anima"
network_dim = 8
network_alpha = 8
network_train_unet_only = true
learning_rate = 2e-3
max_train_steps = 200
lr_scheduler = "cosine"
lr_warmup_steps = 10
cache_latents = true
cache_latents_to_disk = true
cache_text_encoder_outputs = true
cache_text_encoder_outputs_to_disk = true
timestep_sampling = "sigmoid"
max_data_loader_n_workers = 1
save_every_n_steps = 100
sample_at_first = true
sample_every_n_steps = 200
seed = 42
)";
  return text;
}

std::string dataset_toml(const fs::path& folder) {
  return R"(# ~48 pictures drawn by the demo, of several aspect ratios.
[general]
caption_extension = ".txt"
enable_bucket = true
min_bucket_reso = 128
max_bucket_reso = 512
bucket_reso_steps = 64

[[datasets]]
resolution = 256
batch_size = 2

  [[datasets.subsets]]
  image_dir = )" +
         config::toml_string(to_generic_utf8(fs::absolute(folder / "images").lexically_normal())) + "\n";
}

constexpr std::string_view kPrompts =
    "# One prompt a line; --w and --h size, --s steps, --l guidance, --d seed.\n"
    "a red circle on a blue background --w 256 --h 256 --s 12 --l 1 --d 7\n"
    "a green square on a striped yellow background --w 320 --h 192 --s 12 --l 1 --d 8\n";

// Writes everything the run needs; what is there already is written anew, so that a second demo is the same as the
// first.
void write_inputs(const fs::path& folder, run::Backend& backend, bool quiet) {
  const auto say = [quiet](const std::string& text) {
    if (!quiet) std::printf("%s\n", text.c_str());
  };
  std::error_code failed;
  for (const char* part : {"images", "models", "output"}) {
    fs::create_directories(folder / part, failed);
    if (failed)
      throw Error(ErrorKind::file,
                  format("cannot create '{}': {}; choose another --output_dir", folder / part, failed.message()));
  }
  const std::size_t count = demo::write_demo_pictures(folder / "images", kSeed);
  say(format("drew {} pictures with captions: {}", static_cast<std::uint64_t>(count), folder / "images"));
  backend.write_tiny_models(folder / "models");
  say(format("wrote tiny stand-in models with the real names of all weights: {}", folder / "models"));
  write_text(folder / "dataset.toml", dataset_toml(folder));
  write_text(folder / "prompts.txt", kPrompts);
  write_text(folder / "train.toml", settings_toml(folder));
  say(format("wrote the settings: {}", folder / "train.toml"));
}

// Mean loss of the first and the last tenth of the steps of the newest run.
struct Losses {
  double first = 0.0, last = 0.0;
  std::size_t steps = 0;
};

class LossCollector : public run::EventSink {
 public:
  void post(run::Event event) override {
    if (const auto* step = std::get_if<run::StepDone>(&event.body)) losses_.push_back(step->loss);
  }
  Losses losses() const {
    Losses result{0.0, 0.0, losses_.size()};
    const std::size_t part = std::max<std::size_t>(1, losses_.size() / 10);
    if (losses_.size() < 2 * part) return result;
    for (std::size_t i = 0; i < part; ++i) {
      result.first += losses_[i] / static_cast<double>(part);
      result.last += losses_[losses_.size() - 1 - i] / static_cast<double>(part);
    }
    return result;
  }

 private:
  std::vector<double> losses_;
};

void say_what_next(const fs::path& folder) {
  std::printf("\nwhere things are:\n  adapter:  %s\n  samples:  %s (before and after)\n  settings: %s\n",
              to_utf8(folder / "output" / "demo.safetensors").c_str(), to_utf8(folder / "output" / "sample").c_str(),
              to_utf8(folder / "train.toml").c_str());
  std::printf(
      "  (the stand-in models are random: their samples show that everything runs, not what the real ones draw)\n");
  std::printf(
      "\nwith real weights (Anima DiT, Qwen3-0.6B and the Qwen-Image VAE as .safetensors) and your own pictures:\n"
      "  lathe-batch plan  your.toml     what will be trained, how long, how much memory and disk\n"
      "  lathe-batch train your.toml\n"
      "  (copy %s, change the first lines; the flags of the reference's trainer work too)\n",
      to_utf8(folder / "train.toml").c_str());
}

}  // namespace

int run_demo(const Call& call, run::MakeBackend make_backend) {
  const DemoOptions options = read_options(call);
  write_inputs(options.folder, *make_backend(), call.quiet || call.json);
  if (options.write_only) {
    if (!call.quiet && !call.json)
      std::printf("train it with: lathe-batch train %s\n", to_utf8(options.folder / "train.toml").c_str());
    return kDone;
  }
  Call train = call;
  train.command = "train";
  train.words = {to_utf8(options.folder / "train.toml")};
  train.words.insert(train.words.end(), options.settings.begin(), options.settings.end());
  Prepared prepared = prepare(train, Depth::data, make_backend);
  print(prepared.findings);
  if (prepared.findings.has_errors()) return kInvalidSettings;

  LossCollector collector;
  const int code = run_session(train, prepared, make_backend, "train", &collector);
  if (code != kDone) return code;
  const Losses losses = collector.losses();
  const double fall = losses.first > 0 ? 1.0 - losses.last / losses.first : 0.0;
  if (!call.quiet && !call.json) {
    std::printf(
        "loss: %.4f over the first tenth of %zu steps, %.4f over the last: %.1f %% lower (at least %.0f %% is asked "
        "for)\n",
        losses.first, losses.steps, losses.last, fall * 100.0, kMargin * 100.0);
    say_what_next(options.folder);
  }
  if (fall < kMargin) {
    std::fprintf(stderr, "error: the loss fell by %.1f %%, less than the %.0f %% that the demo must reach\n",
                 fall * 100.0, kMargin * 100.0);
    return kFailed;
  }
  return kDone;
}

}  // namespace lathe::batch
