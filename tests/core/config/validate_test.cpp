#include "core/config/validate.h"

#include "core/base/paths.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using lathe::testing::TemporaryFolder;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Judged {
  Settings settings;
  std::vector<Finding> findings;

  std::vector<std::string> said(Severity severity) const {
    std::vector<std::string> texts;
    for (const Finding& finding : findings) {
      if (finding.severity == severity) texts.push_back(finding.english());
    }
    return texts;
  }
  const Finding& only(Severity severity) const {
    const Finding* found = nullptr;
    for (const Finding& finding : findings) {
      if (finding.severity == severity) found = &finding;
    }
    if (said(severity).size() != 1) throw std::runtime_error(std::to_string(said(severity).size()) + " findings");
    return *found;
  }
};

// Settings with which nothing is wrong, changed by `set`. Pairs of one option given as "a=b" in one text.
Settings settings_with(const Pairs& set) {
  Settings settings;
  apply(Fix{{}, {{"network_train_unet_only", "true"}, {"network_module", "networks.lora_anima"}}}, settings);
  apply(Fix{{}, set}, settings);
  return settings;
}

Judged judge(Settings settings, const DataConfig& data = {},
             ValidateOptions options = {.purpose = Purpose::plan, .check_files = false}) {
  Findings findings;
  Judged judged{std::move(settings), {}};
  validate(judged.settings, data, findings, options);
  judged.findings = findings.all();
  return judged;
}

Pairs pairs(const QString& text) {
  Pairs made;
  for (const QString& item : text.split(' ', Qt::SkipEmptyParts)) {
    const qsizetype at = item.indexOf('=');
    made.emplace_back(item.left(at).toStdString(), item.mid(at + 1).toStdString());
  }
  return made;
}

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
  void clashesAreNamed_data();
  void clashesAreNamed();
  void warnsAsTheReference_data();
  void warnsAsTheReference();
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

namespace {

struct Case {
  const char* set;
  const char* fields;  // of the finding, with commas
  const char* text;
};

// Rows of the training spec 7.4 that concern options alone, and those of Lathe.
constexpr Case kClashes[] = {
    {"loss_type=huber", "huber_schedule,loss_type",
     "loss_type huber and smooth_l1 need huber_schedule constant or exponential: snr, the default, does not exist for "
     "Anima"},
    {"loss_type=smooth_l1 huber_schedule=snr", "huber_schedule,loss_type",
     "loss_type huber and smooth_l1 need huber_schedule constant or exponential: snr, the default, does not exist for "
     "Anima"},
    {"full_fp16=true mixed_precision=bf16", "full_fp16,mixed_precision", "full_fp16 needs mixed_precision fp16"},
    {"full_bf16=true", "full_bf16,mixed_precision", "full_bf16 needs mixed_precision bf16"},
    {"adaptive_noise_scale=0.1", "adaptive_noise_scale,noise_offset", "adaptive_noise_scale needs noise_offset"},
    {"scale_v_pred_loss_like_noise_pred=true", "scale_v_pred_loss_like_noise_pred,v_parameterization",
     "scale_v_pred_loss_like_noise_pred needs v_parameterization"},
    {"v_pred_like_loss=0.5 v_parameterization=true", "v_pred_like_loss,v_parameterization",
     "v_pred_like_loss cannot be used together with v_parameterization"},
    {"lr_warmup_steps=10", "lr_scheduler,lr_warmup_steps",
     "lr_scheduler constant takes no warm-up: leave lr_warmup_steps out"},
    {"lr_scheduler=cosine_with_min_lr", "lr_scheduler,lr_scheduler_min_lr_ratio",
     "lr_scheduler cosine_with_min_lr needs lr_scheduler_min_lr_ratio"},
    {"lr_scheduler=polynomial learning_rate=1e-7", "lr_scheduler,learning_rate",
     "lr_scheduler polynomial ends at 1e-07: learning_rate must be larger"},
    {"lr_scheduler=adafactor:0.1", "lr_scheduler,optimizer_type",
     "lr_scheduler adafactor:0.1 belongs to optimizer_type Adafactor"},
    {"lr_scheduler=cosin", "lr_scheduler", "there is no lr_scheduler 'cosin'; did you mean cosine?"},
    {"lr_scheduler=piecewise_constant", "lr_scheduler,lr_scheduler_args",
     "lr_scheduler piecewise_constant needs lr_scheduler_args step_rules, such as \"step_rules='1:10,0.1:20,0.01'\""},
    {"lr_scheduler=cosine lr_scheduler_args=num_cycles=2", "lr_scheduler_args",
     "lr_scheduler_args: num_cycles is not available for lr_scheduler cosine"},
    {"learning_rate=0", "learning_rate", "the learning rate is 0: nothing would be trained"},
    {"unet_lr=0", "unet_lr", "the learning rate is 0: nothing would be trained"},
    {"cache_text_encoder_outputs=true network_train_unet_only=false",
     "cache_text_encoder_outputs,network_train_unet_only",
     "cached text cannot train the text encoder: cache_text_encoder_outputs needs network_train_unet_only"},
    {"network_train_unet_only=false", "network_train_unet_only",
     "without network_train_unet_only the text encoder would be trained too, which is not in this version yet: set "
     "network_train_unet_only"},
    {"log_with=tensorboard", "log_with,logging_dir",
     "log_with needs logging_dir; without both, event files go into the record of the run"},
    {"sample_at_first=true", "sample_at_first,sample_prompts", "sample_at_first needs sample_prompts"},
    {"dim_from_weights=true", "dim_from_weights,network_weights", "dim_from_weights needs network_weights"},
    {"optimizer_type=AdamV", "optimizer_type", "there is no optimizer 'AdamV' here; did you mean AdamW?"},
    {"optimizer_args=betas=0.9", "optimizer_args",
     "optimizer_args: betas must be two numbers from 0 to below 1, such as (0.9, 0.99), not 0.9"},
    {"optimizer_args=weight_deacy=0.1", "optimizer_args",
     "optimizer_args: AdamW has no argument 'weight_deacy'; did you mean 'weight_decay'?"},
    {"optimizer_args=eps=-1", "optimizer_args", "optimizer_args: eps must be a number of at least 0, not -1"},
    {"optimizer_args=lr=1", "optimizer_args,learning_rate",
     "optimizer_args: give the learning rate as learning_rate, not as lr"},
    {"network_module=networks.lora", "network_module",
     "network_module networks.lora is not for Anima; it must be networks.lora_anima"},
    {"network_args=rank_dropout=2", "network_args", "network_args: rank_dropout must be a number from 0 to 1, not '2'"},
    {"network_args=include_patterns=.*mlp.*", "network_args",
     "network_args: include_patterns must be a list of texts in Python's notation, such as ['.*mlp.*'], not .*mlp.*"},
    {"network_dim=0", "network_dim", "network_dim must be at least 1, not 0"},
    {"blocks_to_swap=27", "blocks_to_swap", "blocks_to_swap must lie between 0 and 26, not 27"},
    {"caption_dropout_rate=1.5", "caption_dropout_rate", "caption_dropout_rate must lie between 0 and 1, not 1.5"},
    {"huber_c=0", "huber_c", "huber_c must be greater than 0, not 0"},
    {"learning_rate=nan", "learning_rate", "learning_rate must be a finite number, not nan"},
    {"seed=-1", "seed", "seed must lie between 0 and 4294967295, not -1"},
    {"max_token_length=100", "max_token_length", "max_token_length must be one of 150, 225; not '100'"},
    {"mixed_precision=bf61", "mixed_precision",
     "mixed_precision must be one of no, fp16, bf16; not 'bf61'. Did you mean 'bf16'?"},
    {"device=gpu", "device", "device must be auto, cpu, cuda, or cuda:N; not 'gpu'"},
};

}  // namespace

void TestValidate::clashesAreNamed_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < std::size(kClashes); ++i) QTest::newRow(kClashes[i].set) << static_cast<int>(i);
}

void TestValidate::clashesAreNamed() {
  QFETCH(int, index);
  const Case& row = kClashes[index];
  const Judged judged = judge(settings_with(pairs(row.set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>{row.text});
  QCOMPARE(lathe::join(judged.only(Severity::error).fields, ","), std::string(row.fields));
}

namespace {

// Rows of 7.5.
constexpr Case kWarnings[] = {
    {"v2=true clip_skip=2", "v2,clip_skip", "clip_skip is unusual together with v2"},
    {"zero_terminal_snr=true", "zero_terminal_snr,v_parameterization",
     "zero_terminal_snr is meant for models with v_parameterization"},
    {"sample_every_n_steps=0", "sample_every_n_steps",
     "sample_every_n_steps is 0; no samples are drawn at that interval"},
    {"sample_every_n_epochs=5", "sample_prompts", "no samples are drawn: sample_prompts is not given"},
    {"fp8_base=true", "fp8_base", "fp8_base is not supported for Anima, in the reference neither; it is off"},
    {"fp8_base_unet=true", "fp8_base_unet",
     "fp8_base_unet is not supported for Anima, in the reference neither; it is off"},
    {"vae_chunk_size=33", "vae_chunk_size", "vae_chunk_size 33 is odd; raised to 34"},
    {"validation_split=1.5", "validation_split", "validation_split is 1.5; outside 0 to 1 nothing is held back"},
    {"masked_loss=true", "masked_loss", "masked_loss changes nothing: no subset has mask images or alpha_mask"},
    {"wandb_api_key=k", "wandb_api_key,huggingface_token",
     "keys on the command line can be read by other users of this machine"},
    {"lr_scheduler=linear lr_warmup_steps=200%", "lr_warmup_steps",
     "lr_warmup_steps is 200% of the whole run: a number below 1 is a share, from 1 on it is steps"},
    {"network_args=rank_dropuot=0.1", "network_args",
     "network_args: 'rank_dropuot' is not known and has no effect, in the reference neither; did you mean "
     "'rank_dropout'?"},
    {"network_args=dropout=0.1", "network_args,network_dropout",
     "network_args: dropout has no effect, in the reference neither; use network_dropout"},
    {"network_args=network_reg_dims=.*mlp.*=4,oops", "network_args",
     "network_args: 'oops' in network_reg_dims is not of the form pattern=rank and is skipped, as in the reference"},
};

}  // namespace

void TestValidate::warnsAsTheReference_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < std::size(kWarnings); ++i) QTest::newRow(kWarnings[i].set) << static_cast<int>(i);
}

void TestValidate::warnsAsTheReference() {
  QFETCH(int, index);
  const Case& row = kWarnings[index];
  const Judged judged = judge(settings_with(pairs(row.set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>());
  QCOMPARE(judged.said(Severity::warning), std::vector<std::string>{row.text});
  QCOMPARE(lathe::join(judged.only(Severity::warning).fields, ","), std::string(row.fields));
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
  subset.color_aug = true;
  subset.shuffle_caption = true;
  subset.caption_tag_dropout_rate = 0.1;
  const Judged judged = judge(
      settings_with({{"cache_latents_to_disk", "true"}, {"cache_text_encoder_outputs", "true"}}), one_dataset(subset));
  QCOMPARE(
      judged.said(Severity::error),
      (std::vector<std::string>{
          "cached latents cannot be changed while training: color_aug needs cache_latents off (odd)",
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
