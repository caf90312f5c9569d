#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/text/caption_files.h"
#include "core/text/captions.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::text;
using lathe::testing::TemporaryFolder;
using nlohmann::json;

class TestGoldenCaptions : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase();
  void processesAsTheReference_data();
  void processesAsTheReference();
  void readsFilesAsTheReference_data();
  void readsFilesAsTheReference();
  void choosesTheFileAsTheReference_data();
  void choosesTheFileAsTheReference();

 private:
  void rows_of(const char* section);
  json golden_;
};

namespace {

// Gives the draws of a case and notes which were asked for.
class GivenDraws : public CaptionDraws {
 public:
  explicit GivenDraws(const json& given) : given_(given) {}

  double random() override { return given_.at("draws").at(randoms++).get<double>(); }
  std::size_t choice(std::size_t count) override {
    calls.push_back({"choice", count});
    return given_.at("choices").at(choices++).get<std::size_t>();
  }
  std::vector<std::size_t> shuffle(std::size_t count) override {
    calls.push_back({"shuffle", count});
    std::vector<std::size_t> order;
    for (const std::size_t old : given_.at("permutation").get<std::vector<std::size_t>>()) {
      if (old < count) order.push_back(old);
    }
    return order;
  }

  json calls = json::array();
  std::size_t randoms = 0;
  std::size_t choices = 0;

 private:
  const json& given_;
};

CaptionOptions options_of(json settings) {
  CaptionOptions options;
  const auto take = [&](const char* name, auto& value) {
    if (const auto found = settings.find(name); found != settings.end()) {
      found->get_to(value);
      settings.erase(found);
    }
  };
  take("caption_prefix", options.caption_prefix);
  take("caption_suffix", options.caption_suffix);
  take("caption_separator", options.caption_separator);
  take("secondary_separator", options.secondary_separator);
  take("keep_tokens_separator", options.keep_tokens_separator);
  take("keep_tokens", options.keep_tokens);
  take("shuffle_caption", options.shuffle_caption);
  take("enable_wildcard", options.enable_wildcard);
  take("caption_dropout_rate", options.caption_dropout_rate);
  take("caption_dropout_every_n_epochs", options.caption_dropout_every_n_epochs);
  take("caption_tag_dropout_rate", options.caption_tag_dropout_rate);
  take("token_warmup_min", options.token_warmup_min);
  take("token_warmup_step", options.token_warmup_step);
  if (!settings.empty()) throw Error(ErrorKind::internal, "a setting this test does not know: " + settings.dump());
  return options;
}

QByteArray bytes(const std::string& text) {
  return QByteArray(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

void TestGoldenCaptions::initTestCase() {
  LATHE_NEEDS_GOLDEN("anima/captions.json");
  golden_ = json::parse(read_text(testing::golden_folder() / "anima" / "captions.json"));
}

void TestGoldenCaptions::rows_of(const char* section) {
  QTest::addColumn<int>("index");
  const int count = static_cast<int>(golden_.at(section).size());
  QVERIFY(count > 0);
  for (int i = 0; i < count; ++i) QTest::addRow("%d", i) << i;
}

void TestGoldenCaptions::processesAsTheReference_data() {
  rows_of("process_caption");
}

void TestGoldenCaptions::processesAsTheReference() {
  QFETCH(int, index);
  const json& item = golden_.at("process_caption").at(static_cast<std::size_t>(index));
  GivenDraws draws(item);
  const CaptionMoment moment = {
      .epoch = item.at("epoch"), .step = item.at("step"), .max_train_steps = item.at("max_train_steps")};

  const std::string result =
      process_caption(item.at("caption").get<std::string>(), options_of(item.at("settings")), moment, draws);

  QCOMPARE(bytes(result), bytes(item.at("result")));
  QCOMPARE(draws.calls.dump(), item.at("random_calls").dump());
  QCOMPARE(draws.randoms, item.at("draws").size());
  QCOMPARE(draws.choices, item.at("choices").size());
}

void TestGoldenCaptions::readsFilesAsTheReference_data() {
  rows_of("caption_files");
}

void TestGoldenCaptions::readsFilesAsTheReference() {
  QFETCH(int, index);
  const json& item = golden_.at("caption_files").at(static_cast<std::size_t>(index));
  const TemporaryFolder folder;
  if (!item.at("bytes_hex").is_null()) {
    const QByteArray content = QByteArray::fromHex(QByteArray::fromStdString(item.at("bytes_hex")));
    folder.write("img.txt", {content.data(), static_cast<std::size_t>(content.size())});
  }
  CaptionSource source = {item.at("caption_extension"), item.at("enable_wildcard"), {}};
  if (!item.at("class_tokens").is_null()) source.class_tokens = item.at("class_tokens");
  const std::string image = to_utf8(folder.path() / "img.png");

  if (item.contains("caption")) {
    const ImageCaption caption = read_caption(image, source);
    QCOMPARE(bytes(caption.text), bytes(item.at("caption")));
    QCOMPARE(caption.file.has_value(), !item.at("bytes_hex").is_null());
    return;
  }
  try {
    read_caption(image, source);
    QFAIL("no error");
  } catch (const Error& error) {
    const QString message = QString::fromStdString(error.message());
    QVERIFY2(message.contains("img.txt"), error.what());
    QVERIFY2(message.contains(item.at("error") == "UnicodeDecodeError" ? "UTF-8" : "is empty"), error.what());
  }
}

void TestGoldenCaptions::choosesTheFileAsTheReference_data() {
  rows_of("extension_choice");
}

void TestGoldenCaptions::choosesTheFileAsTheReference() {
  QFETCH(int, index);
  const json& item = golden_.at("extension_choice").at(static_cast<std::size_t>(index));
  const TemporaryFolder folder;
  for (const std::string stem : {"a.b", "c", "D"}) {
    for (const std::string extension : item.at("present")) folder.write(stem + extension, "from " + stem + extension);
  }
  for (const auto& [image, expected] : item.at("captions").items()) {
    const CaptionSource source = {.caption_extension = item.at("caption_extension")};
    QCOMPARE(bytes(read_caption(to_utf8(folder.path() / from_utf8(image)), source).text), bytes(expected));
  }
}

LATHE_TEST(TestGoldenCaptions);
#include "golden_captions_test.moc"
