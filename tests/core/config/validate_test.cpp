#include "core/config/validate.h"

#include "core/config/schema.h"
#include "tests/core/config/judging.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using namespace lathe::config::testing;

namespace {

DataConfig one_dataset(const SubsetConfig& subset) {
  DataConfig data;
  data.datasets.resize(1);
  data.datasets[0].subsets = {SubsetConfig{.image_dir = "plain"}, subset};
  return data;
}

}  // namespace

class TestValidate : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void defaultsAreFine();
  void changesWhatTheReferenceChanges_data();
  void changesWhatTheReferenceChanges();
  void everyFixResolvesItsFinding_data();
  void everyFixResolvesItsFinding();
  void whatDoesNotWorkIsRefusedByName_data();
  void whatDoesNotWorkIsRefusedByName();
  void optionsWithoutEffectGetOneNote();
  void cachedDataCannotChange();
  void masksAndSplitsOfTheFile();
  void findingsCarryPlaces();
};

void TestValidate::defaultsAreFine() {
  QCOMPARE(judge(settings_with({})).findings.size(), std::size_t{0});
}

void TestValidate::changesWhatTheReferenceChanges_data() {
  QTest::addColumn<QString>("set");
  QTest::addColumn<QString>("changed");
  QTest::addColumn<QString>("note");  // empty: a warning says it
  const auto row = [](const char* set, const char* changed, const char* note) {
    QTest::newRow(set) << set << changed << note;
  };
  row("cache_latents_to_disk=true", "cache_latents=true", "cache_latents is on, because cache_latents_to_disk is");
  row("cache_text_encoder_outputs_to_disk=true", "cache_text_encoder_outputs=true",
      "cache_text_encoder_outputs is on, because cache_text_encoder_outputs_to_disk is");
  row("attn_mode=sdpa", "attn_mode=torch", "attn_mode sdpa means torch");
  row("compile_backend=inductor", "compile_backend=native", "compile_backend inductor means native");
  row("caption_extention=.txt", "caption_extension=.txt", "caption_extention is taken as caption_extension .txt");
  row("network_module=", "network_module=networks.lora_anima",
      "network_module is networks.lora_anima, the one kind of adapter for Anima");
  row("vae_chunk_size=33", "vae_chunk_size=34", "");
  row("fp8_base=true", "fp8_base=false", "");
  row("sample_every_n_epochs=-1", "sample_every_n_epochs=", "");
  row("validation_split=-0.5", "validation_split=0.0", "");
}

void TestValidate::changesWhatTheReferenceChanges() {
  QFETCH(QString, set);
  QFETCH(QString, changed);
  QFETCH(QString, note);
  const Judged judged = judge(settings_with(pairs(set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>());
  for (const auto& [name, value] : pairs(changed)) {
    QCOMPARE(field_text(judged.settings.value(name)), value);
    QVERIFY(judged.settings.source(name) == Source::automatic);
  }
  if (!note.isEmpty()) QCOMPARE(judged.said(Severity::note), std::vector<std::string>{note.toStdString()});
  QVERIFY(judge(judged.settings).said(Severity::warning).empty());  // a second look changes nothing more
}

void TestValidate::everyFixResolvesItsFinding_data() {
  QTest::addColumn<QString>("set");
  for (const char* set : {"loss_type=huber",
                          "full_fp16=true mixed_precision=bf16",
                          "full_bf16=true",
                          "lr_warmup_steps=0.1",
                          "compile=true torch_compile=true",
                          "compile=true compile_fullgraph=true split_attn=true",
                          "compile=true compile_fullgraph=true blocks_to_swap=4",
                          "blocks_to_swap=4 cpu_offload_checkpointing=true",
                          "blocks_to_swap=4 unsloth_offload_checkpointing=true",
                          "unsloth_offload_checkpointing=true cpu_offload_checkpointing=true",
                          "optimizer_type=Lion use_8bit_adam=true",
                          "use_lion_optimizer=true use_8bit_adam=true",
                          "fused_backward_pass=true",
                          "network_train_unet_only=false",
                          "network_train_text_encoder_only=true",
                          "resume=x initial_step=2000",
                          "train_inpainting=true cache_latents=true",
                          "optimizer_type=lion",
                          "attn_mode=flash",
                          "save_model_as=ckpt",
                          "validation_split=0.1",
                          "deepspeed=true",
                          "weighted_captions=true",
                          "log_with=all",
                          "device=gpu",
                          "sample_at_first=true",
                          "blocks_to_swap=40",
                          "compile=true compile_fullgraph=true unsloth_offload_checkpointing=true"}) {
    QTest::newRow(set) << set;
  }
}

// Applying the first fix of the first error, again and again, ends without errors, and each step removes one.
void TestValidate::everyFixResolvesItsFinding() {
  QFETCH(QString, set);
  const Settings start = settings_with(pairs(set));
  const Judged first = judge(start);
  QVERIFY(!first.said(Severity::error).empty());
  for (const Finding& finding : first.findings) {
    for (const Fix& fix : finding.fixes) {
      Settings fixed = first.settings;
      apply(fix, fixed);
      const Judged again = judge(fixed);
      const auto left = again.said(finding.severity);
      QVERIFY2(std::find(left.begin(), left.end(), finding.english()) == left.end(),
               (finding.english() + " | " + fix.label.english()).c_str());
    }
  }
  Settings now = first.settings;
  for (int step = 0; step < 10; ++step) {
    const Judged judged = judge(now);
    if (judged.said(Severity::error).empty()) return;
    for (const Finding& finding : judged.findings) {
      if (finding.severity != Severity::error || finding.fixes.empty()) continue;
      apply(finding.fixes.front(), now);
      break;
    }
  }
  QFAIL("the fixes do not lead to valid settings");
}

void TestValidate::whatDoesNotWorkIsRefusedByName_data() {
  QTest::addColumn<QString>("set");
  QTest::addColumn<QString>("error");
  const auto row = [](const char* set, const char* error) { QTest::newRow(set) << set << error; };
  row("optimizer_type=lion", "optimizer_type=lion: this version has AdamW only");
  row("attn_mode=flash",
      "attn_mode=flash: this version has PyTorch's attention only, which picks the quickest kernel itself");
  row("save_state=true", "save_state: saving and continuing a run is not in this version yet");
  row("resume=x", "resume: continuing a run is not in this version yet");
  row("compile=true", "compile: the compiler is not in this version yet");
  row("validation_split=0.1", "validation_split: it is not in this version yet");
  row("dataset_class=a.B", "dataset_class: it names a Python class, and no Python runs here");
  row("lr_scheduler=reduce_lr_on_plateau",
      "lr_scheduler=reduce_lr_on_plateau: the reference cannot make this schedule from its command line either");
}

void TestValidate::whatDoesNotWorkIsRefusedByName() {
  QFETCH(QString, set);
  QFETCH(QString, error);
  QCOMPARE(judge(settings_with(pairs(set))).said(Severity::error), std::vector<std::string>{error.toStdString()});
}

void TestValidate::optionsWithoutEffectGetOneNote() {
  const Judged judged = judge(settings_with({{"min_snr_gamma", "5"},
                                             {"mem_eff_attn", "true"},
                                             {"lowram", "true"},
                                             {"xformers", "true"},
                                             {"attn_mode", "torch"}}));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>());
  QCOMPARE(judged.said(Severity::note),
           std::vector<std::string>{
               "accepted without effect on the training, as in the reference: min_snr_gamma, xformers, mem_eff_attn, "
               "lowram; see help for each"});
  // Each option that the table calls works and each without effect is accepted with its default given.
  Settings defaults = settings_with({});
  for (const Option& row : options()) {
    if (!row.may_be_unset() && row.name != "network_train_unet_only")
      defaults.set(row.name, row.standard, Source::file);
  }
  QVERIFY(judge(defaults).findings.empty());
}

void TestValidate::cachedDataCannotChange() {
  SubsetConfig subset{.image_dir = "odd"};
  subset.random_crop = true;
  subset.shuffle_caption = true;
  subset.caption_tag_dropout_rate = 0.1;
  const Judged judged = judge(
      settings_with({{"cache_latents_to_disk", "true"}, {"cache_text_encoder_outputs", "true"}}), one_dataset(subset));
  QCOMPARE(
      judged.said(Severity::error),
      (std::vector<std::string>{
          "cached latents cannot be changed while training: random_crop needs cache_latents off (odd)",
          "cached text cannot be changed while training: shuffle_caption needs cache_text_encoder_outputs off (odd)",
          "cached text cannot be changed while training: caption_tag_dropout_rate needs cache_text_encoder_outputs "
          "off (odd)"}));
  Settings fixed = judged.settings;
  for (const Finding& finding : judged.findings) {
    if (finding.severity == Severity::error) apply(finding.fixes.back(), fixed);
  }
  QVERIFY(judge(fixed, one_dataset(subset)).said(Severity::error).empty());

  // caption_dropout_rate is allowed with cached text, flips and alpha masks with cached latents.
  SubsetConfig allowed{.image_dir = "odd"};
  allowed.caption_dropout_rate = 0.1;
  allowed.flip_aug = allowed.alpha_mask = true;
  QVERIFY(
      judge(settings_with({{"cache_latents", "true"}, {"cache_text_encoder_outputs", "true"}}), one_dataset(allowed))
          .findings.empty());
}

void TestValidate::masksAndSplitsOfTheFile() {
  DataConfig data = one_dataset({.image_dir = "a"});
  data.datasets[0].validation_split = 0.25;
  QCOMPARE(judge(settings_with({}), data).said(Severity::error),
           std::vector<std::string>{"validation_split in the dataset file is not in this version yet"});
  data.datasets[0].validation_split = 0.0;
  data.datasets[0].kind = DatasetKind::masked;
  QCOMPARE(judge(settings_with({{"masked_loss", "true"}}), data).said(Severity::error).size(), std::size_t{1});
  SubsetConfig alpha{.image_dir = "a"};
  alpha.alpha_mask = true;
  QVERIFY(judge(settings_with({{"masked_loss", "true"}}), one_dataset(alpha)).findings.empty());
}

void TestValidate::findingsCarryPlaces() {
  ValidateOptions options{.purpose = Purpose::plan, .check_files = false};
  options.places["network_dim"] = {"job.toml", 7, 1};
  const Judged judged = judge(settings_with({{"network_dim", "0"}}), {}, options);
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>{"job.toml:7: network_dim must be at least 1, not 0"});
}

LATHE_TEST(TestValidate);
#include "validate_test.moc"
