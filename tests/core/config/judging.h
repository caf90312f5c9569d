#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <QString>

#include "core/config/validate.h"
#include "core/config/value_text.h"
#include "tests/core/config/compare.h"

// Settings judged by validate(), without files.
namespace lathe::config::testing {

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
inline Settings settings_with(const Pairs& set) {
  Settings settings;
  apply(Fix{{}, {{"network_train_unet_only", "true"}, {"network_module", "networks.lora_anima"}}}, settings);
  apply(Fix{{}, set}, settings);
  return settings;
}

inline Judged judge(Settings settings, const DataConfig& data = {},
                    ValidateOptions options = {.purpose = Purpose::plan, .check_files = false}) {
  Findings findings;
  Judged judged{std::move(settings), {}};
  validate(judged.settings, data, findings, options);
  judged.findings = findings.all();
  return judged;
}

inline Pairs pairs(const QString& text) {
  Pairs made;
  for (const QString& item : text.split(' ', Qt::SkipEmptyParts)) {
    const qsizetype at = item.indexOf('=');
    made.emplace_back(item.left(at).toStdString(), item.mid(at + 1).toStdString());
  }
  return made;
}

}  // namespace lathe::config::testing
