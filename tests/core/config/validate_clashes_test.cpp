#include <iterator>

#include "tests/core/config/judging.h"
#include "tests/support/test_main.h"

using namespace lathe::config;
using namespace lathe::config::testing;

// Table of combinations and the exact finding that each gives.
class TestValidateClashes : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void clashesAreNamed_data();
  void clashesAreNamed();
  void acceptsWhatTheReferenceAccepts_data();
  void acceptsWhatTheReferenceAccepts();
  void warnsAsTheReference_data();
  void warnsAsTheReference();
};

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
    {"lr_scheduler=linear lr_scheduler_args=num_cycles=2", "lr_scheduler_args",
     "lr_scheduler_args: num_cycles is not available for lr_scheduler linear"},
    {"lr_scheduler=cosine lr_scheduler_args=num_cycles=None", "lr_scheduler_args",
     "lr_scheduler_args: num_cycles must be a number, not None"},
    {"lr_scheduler=cosine_with_min_lr lr_scheduler_min_lr_ratio=0.1 lr_scheduler_args=min_lr=1e-6",
     "lr_scheduler,lr_scheduler_min_lr_ratio",
     "lr_scheduler_min_lr_ratio and lr_scheduler_args min_lr both name the lowest learning rate"},
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

void TestValidateClashes::clashesAreNamed_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < std::size(kClashes); ++i) QTest::newRow(kClashes[i].set) << static_cast<int>(i);
}

void TestValidateClashes::clashesAreNamed() {
  QFETCH(int, index);
  const Case& row = kClashes[index];
  const Judged judged = judge(settings_with(pairs(row.set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>{row.text});
  QCOMPARE(lathe::join(judged.only(Severity::error).fields, ","), std::string(row.fields));
}

void TestValidateClashes::acceptsWhatTheReferenceAccepts_data() {
  QTest::addColumn<QString>("set");
  for (const char* set :
       {"lr_scheduler=constant_with_warmup lr_warmup_steps=10",
        "lr_scheduler=linear lr_warmup_steps=10%",
        "lr_scheduler=cosine lr_scheduler_args=num_cycles=1",
        "lr_scheduler=cosine_with_restarts lr_scheduler_num_cycles=3",
        "lr_scheduler=polynomial lr_scheduler_power=2 lr_scheduler_args=lr_end=1e-8",
        "lr_scheduler=inverse_sqrt",
        "lr_scheduler=cosine_with_min_lr lr_scheduler_min_lr_ratio=0.1",
        "lr_scheduler=cosine_with_min_lr lr_scheduler_args=min_lr=1e-7",
        "lr_scheduler=warmup_stable_decay lr_decay_steps=0.2 lr_scheduler_args=\"decay_type='linear'\"",
        "lr_scheduler=piecewise_constant lr_scheduler_args=\"step_rules='1:10,0.1:20,0.01'\"",
        "optimizer_type=adamw optimizer_args=betas=(0.9,0.99)",
        "optimizer_type=AdamW optimizer_args=eps=1e-8",
        "network_args=network_reg_dims=.*mlp.*=4,.*attn.*=8",
        "network_args=network_reg_lrs=.*=1e-4",
        "network_args=\"exclude_patterns=['.*mlp.*']\"",
        "network_args=loraplus_lr_ratio=16",
        "network_args=train_llm_adapter=True",
        "loss_type=huber huber_schedule=constant",
        "loss_type=smooth_l1 huber_schedule=exponential",
        "mixed_precision=bf16 full_bf16=true",
        "cache_latents=true cache_text_encoder_outputs=true",
        "network_alpha=0",
        "max_grad_norm=0",
        "log_with=tensorboard logging_dir=logs",
        "compile_fullgraph=true split_attn=true",
        "save_precision=float",
        "network_weights=a.safetensors dim_from_weights=true",
        "timestep_sampling=flux_shift",
        "device=cuda:1"}) {
    QTest::newRow(set) << set;
  }
}

void TestValidateClashes::acceptsWhatTheReferenceAccepts() {
  QFETCH(QString, set);
  const Judged judged = judge(settings_with(pairs(set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>());
  QCOMPARE(judged.said(Severity::warning), std::vector<std::string>());
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

void TestValidateClashes::warnsAsTheReference_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < std::size(kWarnings); ++i) QTest::newRow(kWarnings[i].set) << static_cast<int>(i);
}

void TestValidateClashes::warnsAsTheReference() {
  QFETCH(int, index);
  const Case& row = kWarnings[index];
  const Judged judged = judge(settings_with(pairs(row.set)));
  QCOMPARE(judged.said(Severity::error), std::vector<std::string>());
  QCOMPARE(judged.said(Severity::warning), std::vector<std::string>{row.text});
  QCOMPARE(lathe::join(judged.only(Severity::warning).fields, ","), std::string(row.fields));
}

LATHE_TEST(TestValidateClashes);
#include "validate_clashes_test.moc"
