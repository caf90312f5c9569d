#include "core/train/engine.h"

#include <cstring>
#include <fstream>

#include "core/base/error.h"
#include "core/config/args.h"
#include "core/config/validate.h"
#include "core/io/image_file.h"
#include "core/io/safetensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

// Collects events; may ask for a stop once a step is done.
class Watch : public run::EventSink {
 public:
  void post(run::Event event) override {
    if (const auto* step = std::get_if<run::StepDone>(&event.body)) {
      steps.push_back(*step);
      if (stop_after == step->step && control != nullptr) control->stop();
    } else if (const auto* saved = std::get_if<run::CheckpointSaved>(&event.body)) {
      saves.push_back(*saved);
    } else if (const auto* sample = std::get_if<run::SampleReady>(&event.body)) {
      samples.push_back(*sample);
    } else if (const auto* warning = std::get_if<run::Warning>(&event.body)) {
      warnings.push_back(warning->message.english());
    }
  }
  std::vector<double> losses() const {
    std::vector<double> out;
    for (const run::StepDone& step : steps) out.push_back(step.loss);
    return out;
  }

  run::Control* control = nullptr;
  std::int64_t stop_after = -1;
  std::vector<run::StepDone> steps;
  std::vector<run::CheckpointSaved> saves;
  std::vector<run::SampleReady> samples;
  std::vector<std::string> warnings;
};

// Six small pictures of two shapes with captions.
void draw_pictures(const fs::path& folder) {
  fs::create_directories(folder);
  for (int i = 0; i < 6; ++i) {
    io::Image image{i % 2 == 0 ? 64 : 96, 64, 3, {}};
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        for (int c = 0; c < 3; ++c)
          image.pixels.push_back(static_cast<std::uint8_t>((x * (c + 1) + y * (i + 1)) % 256));
      }
    }
    const std::string name = "p" + std::to_string(i);
    io::encode_png(folder / (name + ".png"), image);
    std::ofstream(folder / (name + ".txt")) << "picture number " << i << "\n";
  }
}

std::string contents(const fs::path& path) {
  const io::SafetensorsFile file(path);
  const auto bytes = file.data_section();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

class TestEngine : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void trainsSavesAndNames();
  void givesTheSameAdapterForTheSameSeed();
  void givesTheSameLossesHoweverItCaches();
  void givesTheSameLossesWithCheckpointing();
  void dividesALossOverAccumulatedBatches();
  void finishesTheStepAndSavesWhenStopped();
  void drawsSamples();
  void namesAnImageThatCannotBeRead();

 private:
  struct Run {
    run::EndStatus status = run::EndStatus::failed;
    Watch watch;
    fs::path output;
  };
  void train(Run& run, const std::vector<std::string>& more, std::int64_t stop_after = -1);

  TemporaryFolder folder_;
  int runs_ = 0;
};

void TestEngine::initTestCase() {
  fs::create_directories(folder_.path() / "models");
  train::make_engine()->write_tiny_models(folder_.path() / "models");
  draw_pictures(folder_.path() / "pictures" / "1_thing");
}

void TestEngine::train(Run& run, const std::vector<std::string>& more, std::int64_t stop_after) {
  const auto path = [&](const std::string& relative) { return (folder_.path() / relative).string(); };
  run.output = folder_.path() / ("output" + std::to_string(runs_++));
  fs::create_directories(run.output);
  std::vector<std::string> words = {"--pretrained_model_name_or_path",
                                    path("models/dit.safetensors"),
                                    "--qwen3",
                                    path("models/qwen3.safetensors"),
                                    "--vae",
                                    path("models/vae.safetensors"),
                                    "--train_data_dir",
                                    path("pictures"),
                                    "--resolution",
                                    "64",
                                    "--enable_bucket",
                                    "--min_bucket_reso",
                                    "64",
                                    "--max_bucket_reso",
                                    "128",
                                    "--bucket_reso_steps",
                                    "32",
                                    "--caption_extension",
                                    ".txt",
                                    "--output_dir",
                                    run.output.string(),
                                    "--network_module",
                                    "networks.lora_anima",
                                    "--network_train_unet_only",
                                    "--network_dim",
                                    "2",
                                    "--learning_rate",
                                    "1e-3",
                                    "--max_train_steps",
                                    "6",
                                    "--train_batch_size",
                                    "2",
                                    "--seed",
                                    "5",
                                    "--device",
                                    "cpu",
                                    "--max_data_loader_n_workers",
                                    "0"};
  words.insert(words.end(), more.begin(), more.end());
  config::Findings findings;
  run::Job job;
  job.settings = config::parse_arguments(words, findings).settings;
  job.data = config::read_data_config(job.settings, findings);
  config::validate(job.settings, job.data, findings);
  for (const config::Finding& finding : findings.all()) {
    QVERIFY2(finding.severity != config::Severity::error, finding.english().c_str());
  }
  run::Control control;
  run.watch.control = &control;
  run.watch.stop_after = stop_after;
  run.status = train::make_engine()->train(job, run.watch, control);
}

void TestEngine::trainsSavesAndNames() {
  Run run;
  train(run, {"--cache_latents", "--cache_text_encoder_outputs", "--save_every_n_steps", "3", "--output_name", "mine"});
  QVERIFY(run.status == run::EndStatus::completed);
  QCOMPARE(run.watch.steps.size(), std::size_t{6});
  QVERIFY(run.watch.steps[0].gradient_norm > 0);
  QCOMPARE(run.watch.saves.size(), std::size_t{3});  // steps 3 and 6, and the end
  QVERIFY(fs::exists(run.output / "mine-step00000003.safetensors"));
  const io::SafetensorsFile file(run.output / "mine.safetensors");
  QCOMPARE(file.tensors().size() % 3, std::size_t{0});
  for (const io::TensorInfo& tensor : file.tensors()) QVERIFY(tensor.name.starts_with("lora_unet_blocks_"));
  QCOMPARE(file.metadata().at("ss_steps"), std::string("6"));
  QCOMPARE(file.metadata().at("ss_network_dim"), std::string("2"));
}

void TestEngine::givesTheSameAdapterForTheSameSeed() {
  Run one, two, other;
  train(one, {"--cache_latents", "--cache_text_encoder_outputs"});
  train(two, {"--cache_latents", "--cache_text_encoder_outputs", "--max_data_loader_n_workers", "3"});
  train(other, {"--cache_latents", "--cache_text_encoder_outputs", "--seed", "6"});
  QCOMPARE(one.watch.losses(), two.watch.losses());
  QVERIFY(contents(one.output / "last.safetensors") == contents(two.output / "last.safetensors"));
  QVERIFY(contents(one.output / "last.safetensors") != contents(other.output / "last.safetensors"));
}

void TestEngine::givesTheSameLossesHoweverItCaches() {
  Run memory, disk, again, none;
  train(memory, {"--cache_latents", "--cache_text_encoder_outputs"});
  train(disk, {"--cache_latents_to_disk", "--cache_text_encoder_outputs_to_disk"});
  train(again, {"--cache_latents_to_disk", "--cache_text_encoder_outputs_to_disk"});
  train(none, {});
  QCOMPARE(memory.watch.losses(), disk.watch.losses());
  QCOMPARE(disk.watch.losses(), again.watch.losses());
  QVERIFY(std::ranges::any_of(again.watch.warnings, [](const std::string& text) {
    return text.find("6 of 6 are in the cache") != std::string::npos;
  }));
  // Encoded in batches instead of one by one: equal but for the order of sums.
  for (std::size_t i = 0; i < 6; ++i)
    QVERIFY(std::abs(none.watch.losses()[i] - memory.watch.losses()[i]) < 1e-3 * memory.watch.losses()[i]);
}

void TestEngine::givesTheSameLossesWithCheckpointing() {
  Run plain, saved;
  train(plain, {"--cache_latents", "--cache_text_encoder_outputs"});
  train(saved, {"--cache_latents", "--cache_text_encoder_outputs", "--gradient_checkpointing"});
  QCOMPARE(plain.watch.losses(), saved.watch.losses());
}

void TestEngine::dividesALossOverAccumulatedBatches() {
  Run run;
  train(run, {"--cache_latents", "--cache_text_encoder_outputs", "--gradient_accumulation_steps", "2",
              "--max_train_steps", "4"});
  QCOMPARE(run.watch.steps.size(), std::size_t{4});
  // Three batches an epoch: a group of two, and a short one at its end.
  std::vector<std::size_t> batches;
  for (const run::StepDone& step : run.watch.steps) batches.push_back(step.buckets.size());
  QCOMPARE(batches, (std::vector<std::size_t>{2, 1, 2, 1}));
  QCOMPARE(run.watch.steps.back().epoch, std::int64_t{2});
}

void TestEngine::finishesTheStepAndSavesWhenStopped() {
  Run run;
  train(run, {"--cache_latents", "--cache_text_encoder_outputs", "--output_name", "mine"}, 2);
  QVERIFY(run.status == run::EndStatus::stopped);
  QCOMPARE(run.watch.steps.size(), std::size_t{2});
  QVERIFY(fs::exists(run.output / "mine-step00000002.safetensors"));
  QVERIFY(!fs::exists(run.output / "mine.safetensors"));
}

void TestEngine::drawsSamples() {
  const fs::path prompts = folder_.write("prompts.txt", "a thing --w 64 --h 96 --s 2 --l 3 --d 1\n");
  Run run;
  train(run, {"--cache_latents", "--cache_text_encoder_outputs", "--sample_prompts", prompts.string(),
              "--sample_at_first", "--sample_every_n_steps", "6"});
  QCOMPARE(run.watch.samples.size(), std::size_t{2});
  const io::ImageProbe image = io::probe_image(run.watch.samples[1].path);
  QCOMPARE(image.width, 64);
  QCOMPARE(image.height, 96);
}

void TestEngine::namesAnImageThatCannotBeRead() {
  const fs::path broken = folder_.path() / "pictures" / "1_thing" / "p9.png";
  fs::copy_file(folder_.path() / "pictures" / "1_thing" / "p0.png", broken);
  fs::resize_file(broken, fs::file_size(broken) / 2);
  Run run;
  try {
    train(run, {"--cache_latents", "--cache_text_encoder_outputs"});
    fs::remove(broken);
    QFAIL("no error");
  } catch (const Error& error) {
    fs::remove(broken);
    QVERIFY2(QString(error.what()).contains("p9.png"), error.what());
  }
}

LATHE_TEST(TestEngine);
#include "engine_test.moc"
