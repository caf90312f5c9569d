#include <algorithm>
#include <optional>

#include <QRegularExpression>
#include <nlohmann/json.hpp>

#include "core/config/args.h"
#include "core/models/adapters/lora.h"
#include "core/models/adapters/lora_options.h"
#include "core/models/anima/dit.h"
#include "core/train/checkpoint.h"
#include "core/train/metadata.h"
#include "core/train/optimizers/make_optimizer.h"
#include "core/train/run_options.h"
#include "tests/core/train/golden_file.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using Json = nlohmann::ordered_json;

// Every text of the header equals the reference's. Entries marked VOLATILE hold times and random ids: their form is
// compared. Hashes belong to files that are not handed out.
class TestGoldenLoraMetadata : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void equalsTheReference_data();
  void equalsTheReference();
  void savesTheSameTensors_data() { equalsTheReference_data(); }
  void savesTheSameTensors();
  void wouldNoticeAnotherOption();
};

namespace {

using Strings = std::map<std::string, std::string>;

const Json& runs() {
  static const Json all = Json::parse(testing::golden_json_text("lora_metadata.json"))["runs"];
  return all;
}

template <class T>
std::optional<T> maybe(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

std::vector<dataset::FolderTags> tags_of(const Json& json) {
  std::vector<dataset::FolderTags> folders;
  for (const auto& [folder, tags] : json.items()) {
    dataset::FolderTags& entry = folders.emplace_back();
    entry.folder = folder;
    for (const auto& [tag, count] : tags.items()) entry.tags.emplace_back(tag, count.get<std::int64_t>());
  }
  return folders;
}

void fill_buckets(dataset::Dataset& data, const Json& info) {
  if (info.is_null()) return;
  data.mean_aspect_error = info["mean_img_ar_error"];
  for (const auto& [id, bucket] : info["buckets"].items()) {
    data.buckets.push_back({{bucket["resolution"][0], bucket["resolution"][1]},
                            std::vector<std::size_t>(bucket["count"].get<std::size_t>())});
  }
}

// The training data that the golden header describes, as the program would have found it.
dataset::Manifest from_file_manifest(const Strings& header) {
  dataset::Manifest manifest;
  manifest.tag_frequency = tags_of(Json::parse(header.at("ss_tag_frequency")));
  for (const Json& json : Json::parse(header.at("ss_datasets"))) {
    dataset::Dataset& data = manifest.training.emplace_back();
    data.config.kind = json["is_dreambooth"].get<bool>() ? config::DatasetKind::folder : config::DatasetKind::metadata;
    data.config.batch_size = json["batch_size_per_device"];
    data.config.width = json["resolution"][0];
    data.config.height = json["resolution"][1];
    data.config.enable_bucket = json["enable_bucket"];
    data.config.min_bucket_reso = json["min_bucket_reso"];
    data.config.max_bucket_reso = json["max_bucket_reso"];
    data.config.resize_interpolation = maybe<std::string>(json["resize_interpolation"]);
    data.tag_frequency = tags_of(json["tag_frequency"]);
    fill_buckets(data, json["bucket_info"]);
    for (const Json& from : json["subsets"]) {
      config::SubsetConfig& subset = data.config.subsets.emplace_back();
      data.subset_images.push_back(from["img_count"]);
      subset.image_dir = "/somewhere/" + from["image_dir"].get<std::string>();
      subset.num_repeats = from["num_repeats"];
      subset.color_aug = from["color_aug"];
      subset.flip_aug = from["flip_aug"];
      subset.random_crop = from["random_crop"];
      subset.shuffle_caption = from["shuffle_caption"];
      subset.keep_tokens = from["keep_tokens"];
      subset.keep_tokens_separator = from["keep_tokens_separator"];
      subset.secondary_separator = maybe<std::string>(from["secondary_separator"]);
      subset.enable_wildcard = from["enable_wildcard"];
      subset.caption_prefix = maybe<std::string>(from["caption_prefix"]);
      subset.caption_suffix = maybe<std::string>(from["caption_suffix"]);
      subset.resize_interpolation = maybe<std::string>(from["resize_interpolation"]);
      subset.class_tokens = maybe<std::string>(from["class_tokens"]);
      subset.is_reg = from["is_reg"];
    }
  }
  return manifest;
}

dataset::Manifest from_options_manifest(const Strings& header) {
  dataset::Manifest manifest;
  dataset::Dataset& data = manifest.training.emplace_back();
  const Json resolution =
      Json::parse("[" + header.at("ss_resolution").substr(1, header.at("ss_resolution").size() - 2) + "]");
  data.config.width = resolution[0];
  data.config.height = resolution[1];
  data.config.enable_bucket = header.at("ss_enable_bucket") == "True";
  data.config.bucket_no_upscale = header.at("ss_bucket_no_upscale") == "True";
  data.config.min_bucket_reso = std::stoll(header.at("ss_min_bucket_reso"));
  data.config.max_bucket_reso = std::stoll(header.at("ss_max_bucket_reso"));
  data.tag_frequency = tags_of(Json::parse(header.at("ss_tag_frequency")));
  fill_buckets(data, Json::parse(header.at("ss_bucket_info")));
  for (const bool regularisation : {false, true}) {
    const char* key = regularisation ? "ss_reg_dataset_dirs" : "ss_dataset_dirs";
    const Json folders = Json::parse(header.at(key));
    for (const auto& [folder, from] : folders.items()) {
      config::SubsetConfig& subset = data.config.subsets.emplace_back();
      subset.image_dir = "/somewhere/" + folder;
      subset.num_repeats = from["n_repeats"];
      subset.is_reg = regularisation;
      data.subset_images.push_back(from["img_count"]);
    }
  }
  return manifest;
}

// The run's command line, with the words that every run of the generator had and the list leaves out.
config::Settings settings_of(const Json& run, const Strings& header) {
  std::vector<std::string> words = run["args"];
  words.insert(words.end(), {"--network_module", "networks.lora_anima"});
  words.insert(words.end(), {"--output_name", header.at("modelspec.title")});
  config::Findings findings;
  config::Settings settings = config::parse_arguments(words, findings).settings;
  if (findings.has_errors()) throw std::runtime_error(findings.all().front().english());
  return settings;
}

io::Metadata metadata_of(const Strings& header, const config::Settings& settings, const dataset::Manifest& manifest) {
  const auto number = [&header](const char* key) {
    const auto found = header.find(key);
    return found == header.end() ? 0 : std::stoll(found->second);
  };
  const auto text = [&header](const char* key) {
    const auto found = header.find(key);
    return found == header.end() ? std::string() : found->second;
  };
  const auto optimizer =
      train::make_optimizer(settings.text("optimizer_type"), testing::literals(settings.list("optimizer_args")), {});
  train::MetadataFacts facts;
  facts.session_id = 4000000000U;
  facts.started_at = 1796127699.779693;
  facts.seed = number("ss_seed");
  facts.max_train_steps = number("ss_max_train_steps");
  facts.epochs = number("ss_num_epochs");
  facts.batches_per_epoch = number("ss_num_batches_per_epoch");
  facts.optimizer = std::get<std::unique_ptr<train::Optimizer>>(optimizer)->metadata_name();
  facts.lr_scheduler = settings.text("lr_scheduler");
  facts.manifest = &manifest;
  facts.datasets_from_file = settings.is_set("dataset_config");
  facts.base_model = {text("ss_sd_model_name"), text("ss_sd_model_hash"), text("ss_new_sd_model_hash")};
  facts.vae = {text("ss_vae_name"), text("ss_vae_hash"), text("ss_new_vae_hash")};
  const io::Metadata run = train::run_metadata(settings, facts);
  return train::file_metadata(run, settings, {number("ss_steps"), number("ss_epoch"), 1796127740.9936604});
}

// "VOLATILE e.g. 2026-12-01T12:22:20": digits may differ, the rest may not.
bool same_form(const std::string& actual, const std::string& expected) {
  constexpr std::string_view mark = "VOLATILE e.g. ";
  if (!expected.starts_with(mark)) return actual == expected;
  const QString example = QString::fromStdString(expected.substr(mark.size()));
  QString pattern = QRegularExpression::escape(example);
  pattern.replace(QRegularExpression(QStringLiteral("[0-9]+")), QStringLiteral("[0-9]+"));
  return QRegularExpression(QRegularExpression::anchoredPattern(pattern))
      .match(QString::fromStdString(actual))
      .hasMatch();
}

// Lines that say what differs; the hashes of the tensors are left out.
std::vector<std::string> differences(const io::Metadata& actual, const Strings& expected) {
  std::vector<std::string> result;
  for (const auto& [key, value] : expected) {
    if (key.starts_with("sshs_")) continue;
    const auto found = actual.find(key);
    if (found == actual.end()) {
      result.push_back(key + " is missing");
    } else if (!same_form(found->second, value)) {
      result.push_back(key + " is " + found->second + ", expected " + value);
    }
  }
  for (const auto& [key, value] : actual) {
    if (!expected.contains(key)) result.push_back(key + " is not expected");
  }
  return result;
}

dataset::Manifest manifest_of(const Strings& header) {
  if (header.contains("ss_datasets")) return from_file_manifest(header);
  return header.contains("ss_dataset_dirs") ? from_options_manifest(header) : dataset::Manifest();
}

}  // namespace

void TestGoldenLoraMetadata::initTestCase() {
  LATHE_NEEDS_GOLDEN("anima/lora_metadata.json");
}

void TestGoldenLoraMetadata::equalsTheReference_data() {
  QTest::addColumn<QString>("run");
  QTest::addColumn<QString>("file");
  for (const auto& [run, content] : runs().items()) {
    for (const auto& [file, header] : content["files"].items()) {
      QTest::newRow(file.c_str()) << QString::fromStdString(run) << QString::fromStdString(file);
    }
  }
}

void TestGoldenLoraMetadata::equalsTheReference() {
  QFETCH(QString, run);
  QFETCH(QString, file);
  const Json& content = runs()[run.toStdString()];
  const Strings header = content["files"][file.toStdString()]["metadata"];
  const dataset::Manifest manifest = manifest_of(header);
  const auto different = differences(metadata_of(header, settings_of(content, header), manifest), header);
  for (const std::string& line : different) qWarning("%s", line.c_str());
  QVERIFY(different.empty());
}

void TestGoldenLoraMetadata::savesTheSameTensors() {
  QFETCH(QString, run);
  QFETCH(QString, file);
  LATHE_NEEDS_GOLDEN("anima/tiny_dit.safetensors");
  const Json& content = runs()[run.toStdString()];
  const Json& own = content["files"][file.toStdString()]["keys"];
  const Json& expected = own.is_array() ? own : content["files"].begin().value()["keys"];  // "as in the first file"
  const config::Settings settings = settings_of(content, content["files"][file.toStdString()]["metadata"]);
  const auto dit = models::anima::Dit::load(testing::golden_folder() / "anima" / "tiny_dit.safetensors", {});
  const models::LoraNetwork lora(dit->linears(), "lora_unet", models::lora_options(settings));
  const testing::TemporaryFolder folder;
  train::save_adapter(folder.path() / "a.safetensors", lora.state(), {}, train::save_options(settings));
  const io::SafetensorsFile saved(folder.path() / "a.safetensors");
  Json actual = Json::array();
  for (const io::TensorInfo& info : saved.tensors()) {
    actual.push_back({info.name, info.shape, io::name(info.dtype)});
  }
  QCOMPARE(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) QCOMPARE(actual[i].dump(), expected[i].dump());
}

void TestGoldenLoraMetadata::wouldNoticeAnotherOption() {
  const Json& content = runs()["dirs"];
  const Strings header = content["files"].begin().value()["metadata"];
  const dataset::Manifest manifest = manifest_of(header);
  config::Settings settings = settings_of(content, header);
  settings.set("sigmoid_scale", 1.01, config::Source::command_line);
  QCOMPARE(differences(metadata_of(header, settings, manifest), header).size(), 1u);
}

LATHE_TEST(TestGoldenLoraMetadata);
#include "golden_metadata_test.moc"
