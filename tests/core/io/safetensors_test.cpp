#include "core/io/safetensors.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "tests/core/io/io_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

class TestSafetensors : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsWhatItWrote();
  void writesInTheOrderOfTheLibrary();
  void keepsTheMappingForWhoBorrowsBytes();
  void leavesTheOldFileWhenTensorsAreWrong();
  void refusesToWriteWrongTensors_data();
  void refusesToWriteWrongTensors();
  void opensAllPartsOfAShardedFile();
  void namesTheMissingPartAndTheTensorInTwoParts();
  void hashesAsTheLibraryAndTheReferenceDo();
};

void TestSafetensors::readsWhatItWrote() {
  const TemporaryFolder folder;
  const auto path = folder.path() / from_utf8("äpfel.safetensors");
  const std::string floats(24, 'f');
  const std::string scalar(8, 's');
  const std::vector<TensorToWrite> tensors = {{"weight", DType::F32, {2, 3}, bytes_of(floats)},
                                              {"empty", DType::F16, {0, 4}, {}},
                                              {"alpha", DType::I64, {}, bytes_of(scalar)}};
  write_safetensors(path, tensors, {{"b", "zwei\n\"x\""}, {"a", "eins"}});

  const SafetensorsFile file(path);
  QCOMPARE(file.tensors().size(), 3u);
  QCOMPARE(file.metadata(), (Metadata{{"a", "eins"}, {"b", "zwei\n\"x\""}}));
  QCOMPARE(file.at("weight").shape, (std::vector<std::int64_t>{2, 3}));
  QVERIFY(std::ranges::equal(file.bytes(file.at("weight")), bytes_of(floats)));
  QVERIFY(std::ranges::equal(file.bytes(file.at("alpha")), bytes_of(scalar)));
  QVERIFY(file.bytes(file.at("empty")).empty());
  QVERIFY(file.find("weigh") == nullptr);
  QVERIFY(QString::fromStdString(message_of([&] { file.at("weigh"); })).contains("no tensor 'weigh'"));
  QCOMPARE((file.data_section().data() - file.mapping()->bytes().data()) % 8, 0);
}

// The header was made by the Python package safetensors 0.8.0 from tensors given in another order.
void TestSafetensors::writesInTheOrderOfTheLibrary() {
  const std::string expected =
      R"({"uint64":{"dtype":"U64","shape":[2],"data_offsets":[0,16]},"int64":{"dtype":"I64","shape":[2],"data_offsets":[16,32]},)"
      R"("float64":{"dtype":"F64","shape":[2],"data_offsets":[32,48]},"complex64":{"dtype":"C64","shape":[2],"data_offsets":[48,64]},)"
      R"("float32":{"dtype":"F32","shape":[4],"data_offsets":[64,80]},"uint32":{"dtype":"U32","shape":[4],"data_offsets":[80,96]},)"
      R"("int32":{"dtype":"I32","shape":[4],"data_offsets":[96,112]},"bfloat16":{"dtype":"BF16","shape":[8],"data_offsets":[112,128]},)"
      R"("float16":{"dtype":"F16","shape":[8],"data_offsets":[128,144]},"uint16":{"dtype":"U16","shape":[8],"data_offsets":[144,160]},)"
      R"("int16":{"dtype":"I16","shape":[8],"data_offsets":[160,176]},"float8_e5m2fnuz":{"dtype":"F8_E5M2FNUZ","shape":[16],"data_offsets":[176,192]},)"
      R"("float8_e4m3fnuz":{"dtype":"F8_E4M3FNUZ","shape":[16],"data_offsets":[192,208]},"float8_e8m0fnu":{"dtype":"F8_E8M0","shape":[16],"data_offsets":[208,224]},)"
      R"("float8_e4m3fn":{"dtype":"F8_E4M3","shape":[16],"data_offsets":[224,240]},"float8_e5m2":{"dtype":"F8_E5M2","shape":[16],"data_offsets":[240,256]},)"
      R"("int8":{"dtype":"I8","shape":[16],"data_offsets":[256,272]},"uint8":{"dtype":"U8","shape":[16],"data_offsets":[272,288]},)"
      R"("bool":{"dtype":"BOOL","shape":[16],"data_offsets":[288,304]}})";
  const std::string sixteen(16, '\1');
  const std::vector<std::pair<std::string, DType>> given = {{"bool", DType::BOOL},
                                                            {"uint8", DType::U8},
                                                            {"int8", DType::I8},
                                                            {"float8_e5m2", DType::F8_E5M2},
                                                            {"float8_e4m3fn", DType::F8_E4M3},
                                                            {"float8_e8m0fnu", DType::F8_E8M0},
                                                            {"int16", DType::I16},
                                                            {"uint16", DType::U16},
                                                            {"float16", DType::F16},
                                                            {"bfloat16", DType::BF16},
                                                            {"int32", DType::I32},
                                                            {"uint32", DType::U32},
                                                            {"float32", DType::F32},
                                                            {"complex64", DType::C64},
                                                            {"float64", DType::F64},
                                                            {"int64", DType::I64},
                                                            {"uint64", DType::U64},
                                                            {"float8_e4m3fnuz", DType::F8_E4M3FNUZ},
                                                            {"float8_e5m2fnuz", DType::F8_E5M2FNUZ}};
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, dtype] : given) {
    tensors.push_back({name, dtype, {static_cast<std::int64_t>(16 / byte_size(dtype))}, bytes_of(sixteen)});
  }
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", tensors, {});

  std::string text = read_text(folder.path() / "a").substr(8);
  text.resize(text.find('\1'));
  QCOMPARE(text.size() % 8, 0u);
  text.erase(text.find_last_not_of(' ') + 1);
  QCOMPARE(QString::fromStdString(text), QString::fromStdString(expected));
}

void TestSafetensors::keepsTheMappingForWhoBorrowsBytes() {
  const TemporaryFolder folder;
  const auto path = folder.write("a", raw_file("{" + tensor("a", "4", "0,4") + "}", 4));
  std::shared_ptr<const MappedFile> mapping;
  std::span<const std::byte> borrowed;
  {
    const SafetensorsFile file(path);
    mapping = file.mapping();
    borrowed = file.bytes(file.at("a"));
  }
  QCOMPARE(mapping.use_count(), 1);
  QVERIFY(std::ranges::equal(borrowed, bytes_of(std::string(4, 'd'))));
}

void TestSafetensors::leavesTheOldFileWhenTensorsAreWrong() {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "old");
  const std::string four(4, 'x');
  const std::vector<TensorToWrite> tensors = {{"a", DType::F32, {2}, bytes_of(four)}};
  QVERIFY_EXCEPTION_THROWN(write_safetensors(path, tensors, {}), Error);
  QCOMPARE(read_text(path), std::string("old"));
  QCOMPARE(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

void TestSafetensors::refusesToWriteWrongTensors_data() {
  QTest::addColumn<QByteArray>("first");
  QTest::addColumn<QByteArray>("second");
  QTest::addColumn<QString>("reason");
  QTest::newRow("twice") << QByteArray("a") << QByteArray("a") << "duplicate tensor name 'a'";
  QTest::newRow("reserved") << QByteArray("a") << QByteArray("__metadata__") << "no tensor can be named";
  QTest::newRow("encoding") << QByteArray("a") << QByteArray("\xff") << "not UTF-8";
}

void TestSafetensors::refusesToWriteWrongTensors() {
  QFETCH(QByteArray, first);
  QFETCH(QByteArray, second);
  QFETCH(QString, reason);
  const TemporaryFolder folder;
  const std::string four(4, 'x');
  // Of two types, so that equal names are not neighbours in the order of the file.
  const std::vector<TensorToWrite> tensors = {{first.toStdString(), DType::F32, {1}, bytes_of(four)},
                                              {"between", DType::I32, {1}, bytes_of(four)},
                                              {second.toStdString(), DType::U8, {4}, bytes_of(four)}};
  const std::string message = message_of([&] { write_safetensors(folder.path() / "a", tensors, {}); });
  QVERIFY2(QString::fromStdString(message).contains(reason), message.c_str());
  QVERIFY(std::filesystem::is_empty(folder.path()));
}

void TestSafetensors::opensAllPartsOfAShardedFile() {
  const TemporaryFolder folder;
  folder.write("m-00001-of-00002.safetensors", raw_file("{" + tensor("a", "4", "0,4") + "}", 4));
  const auto second = folder.write("m-00002-of-00002.safetensors", raw_file("{" + tensor("b", "4", "0,4") + "}", 4));
  const auto single = folder.write("m.safetensors", raw_file("{" + tensor("c", "4", "0,4") + "}", 4));
  const std::vector<SafetensorsFile> files = open_sharded(second);
  QCOMPARE(files.size(), 2u);
  QVERIFY(files[0].find("a") != nullptr && files[1].find("b") != nullptr);
  QCOMPARE(open_sharded(single).size(), 1u);
}

void TestSafetensors::namesTheMissingPartAndTheTensorInTwoParts() {
  const TemporaryFolder folder;
  const std::string part = raw_file("{" + tensor("a", "4", "0,4") + "}", 4);
  const auto first = folder.write("m-00001-of-00002.safetensors", part);
  std::string message = message_of([&] { open_sharded(first); });
  QVERIFY2(QString::fromStdString(message).contains("m-00002-of-00002.safetensors"), message.c_str());
  folder.write("m-00002-of-00002.safetensors", part);
  message = message_of([&] { open_sharded(first); });
  QVERIFY2(QString::fromStdString(message).contains("duplicate tensor name 'a'"), message.c_str());
}

// Expected values from the Python package safetensors 0.8.0 and hashlib.
void TestSafetensors::hashesAsTheLibraryAndTheReferenceDo() {
  std::string big(1'200'000, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31 % 251);
  const std::vector<float> floats = {1.5f, -2.0f};
  const std::int64_t four = 4;
  const std::vector<TensorToWrite> tensors = {{"u", DType::U8, {1'200'000}, bytes_of(big)},
                                              {"b", DType::F32, {2}, std::as_bytes(std::span(floats))},
                                              {"a.alpha", DType::I64, {}, std::as_bytes(std::span(&four, 1))}};
  QCOMPARE(safetensors_data_hash(tensors),
           std::string("54156b11409821227f512323929dcff0032d636b4f46e36edabfbeda50848a75"));
  QCOMPARE(safetensors_legacy_hash(tensors, {{"ss_x", "yé"}, {"other", "z"}}), std::string("baba3ee3"));
  QCOMPARE(safetensors_legacy_hash(tensors, {{"other", "z"}}), std::string("24599a0e"));
  QCOMPARE(safetensors_legacy_hash(std::span(tensors).subspan(1), {}), std::string("e3b0c442"));
}

LATHE_TEST(TestSafetensors);

#include "safetensors_test.moc"
