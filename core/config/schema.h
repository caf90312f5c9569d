#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/config/settings.h"

// The one table of all settings. The command line, settings files, the form, the help and the effective settings of a
// run are read from it. Names, types and defaults of the reference's options are the reference's.
namespace lathe::config {

enum class OptionType {
  flag,       // bool
  integer,    // int64
  real,       // double; an int64 where one was written (the reference keeps the difference in its metadata)
  text,       // string
  path,       // string
  choice,     // string, one of `choices`
  steps,      // Steps: 100, 0.1, "10%"
  text_list,  // vector<string>
  real_list,  // vector<double>
};

enum class Section {
  model,
  dataset,
  adapter,
  training,
  optimizer,
  compile,
  memory,
  samples,
  output,
  logging,
  advanced,
};

enum class OptionClass {
  works,
  no_effect,  // changes nothing that is trained, in the reference neither; accepted with one note
  refused,    // has an effect there that is not wanted or cannot be had here; an error that says why
  not_yet,    // will work in a later version; until then an error, never ignored
};

enum class Origin {
  reference,  // the reference's release 0.10.1
  later,      // a later release of it
  ours,
};

enum class Job { anima_lora };

enum class PathKind { none, file, folder, file_or_folder };

// A value that is classed otherwise than its option: optimizer_type=Lion.
struct ValueState {
  std::string_view value;
  OptionClass state = OptionClass::not_yet;
  TextId reason;  // with {} for "option=value"
};

struct Option {
  std::string_view name;
  OptionType type = OptionType::flag;
  Value standard;  // monostate: unset

  std::vector<std::string_view> choices;  // also of text and integer options; empty: anything
  bool other_values = false;              // choices are the usual names only; the validator judges others
  std::optional<double> min, max;         // inclusive; of numbers, of each number of a list, of a share of steps
  bool above_min = false;                 // min itself is excluded

  Section section = Section::advanced;
  TextId help;  // one sentence

  OptionClass state = OptionClass::works;
  TextId reason;  // of any state but `works`: a sentence with {} for the option
  std::vector<ValueState> values;

  Job job = Job::anima_lora;
  Origin origin = Origin::reference;
  PathKind path = PathKind::none;  // of path options and of lists of paths
  bool secret = false;             // never written to settings, events or metadata

  bool may_be_unset() const { return std::holds_alternative<std::monostate>(standard); }
  // Whether `value` has a type that this option can hold.
  bool accepts(const Value& value) const;
};

// All options, by section, in the order in which a person reads them.
const std::vector<Option>& options();
// nullptr: no option has this exact name.
const Option* find_option(std::string_view name);
// As find_option; throws Error(internal) where there is none.
const Option& option(std::string_view name);
std::vector<std::string> option_names();

const std::vector<Section>& sections();
std::string_view name(Section section);  // "compile": for `help compile`
TextId title(Section section);           // "Compile & performance"
// "integer", "number", "text" …: for messages and help.
std::string_view name(OptionType type);

}  // namespace lathe::config
