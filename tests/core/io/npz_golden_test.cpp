#include <cstring>

#include <QRegularExpression>

#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::io;
using namespace lathe::testing;

namespace {

template <class T>
std::vector<T> values_of(const NpzArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

}  // namespace

// Caches that NumPy wrote, found in the golden folder.
class TestGoldenNpz : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rewritesEveryArrayAsNumPyWroteIt_data();
  void rewritesEveryArrayAsNumPyWroteIt();
  void holdsLatentsAsTheNamesSay_data() { rewritesEveryArrayAsNumPyWroteIt_data(); }
  void holdsLatentsAsTheNamesSay();
  void holdsTextOutputs_data() { rewritesEveryArrayAsNumPyWroteIt_data(); }
  void holdsTextOutputs();
};

void TestGoldenNpz::rewritesEveryArrayAsNumPyWroteIt_data() {
  LATHE_NEEDS_GOLDEN("npz");
  QTest::addColumn<QString>("path");
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder() / "npz")) {
    if (entry.path().extension() != ".npz") continue;
    QTest::newRow(to_utf8(entry.path().filename()).c_str()) << QString::fromStdString(to_utf8(entry.path()));
  }
}

void TestGoldenNpz::rewritesEveryArrayAsNumPyWroteIt() {
  QFETCH(QString, path);
  const NpzFile original(from_utf8(path.toStdString()));
  QVERIFY(!original.entries().empty());
  std::vector<NpzArray> arrays;
  std::vector<TensorToWrite> to_write;
  for (const NpzEntry& entry : original.entries()) arrays.push_back(original.read(entry.name));
  for (const NpzArray& array : arrays) to_write.push_back({array.name, array.dtype, array.shape, array.bytes});
  const TemporaryFolder folder;
  write_npz(folder.path() / "again.npz", to_write);

  const NpzFile again(folder.path() / "again.npz");
  const QByteArray original_bytes = QByteArray::fromStdString(read_text(from_utf8(path.toStdString())));
  QCOMPARE(again.entries().size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NpzArray array = again.read(arrays[i].name);
    QCOMPARE(again.entries()[i].name, arrays[i].name);
    QVERIFY(array.dtype == arrays[i].dtype);
    QCOMPARE(array.shape, arrays[i].shape);
    QVERIFY(array.bytes == arrays[i].bytes);
    // Entries are stored, so NumPy's own header and data stand in the file as they are.
    std::string npy = npy_header(array.dtype, array.shape);
    npy.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    QVERIFY2(original_bytes.contains(QByteArray::fromStdString(npy)), array.name.c_str());
  }
}

void TestGoldenNpz::holdsLatentsAsTheNamesSay() {
  QFETCH(QString, path);
  const QRegularExpression size_in_name("_(\\d+)x(\\d+)_anima\\.npz$");
  const QRegularExpressionMatch image = size_in_name.match(path);
  if (!image.hasMatch()) return;  // a file of text outputs
  const NpzFile file(from_utf8(path.toStdString()));
  int latents = 0;
  for (const NpzEntry& entry : file.entries()) {
    const QRegularExpressionMatch name =
        QRegularExpression("^(\\w+?)_(\\d+)x(\\d+)$").match(QString::fromStdString(entry.name));
    QVERIFY2(name.hasMatch(), entry.name.c_str());
    const std::int64_t h = name.captured(2).toLongLong();
    const std::int64_t w = name.captured(3).toLongLong();
    const QString kind = name.captured(1);
    if (kind == "latents" || kind == "latents_flipped") {
      QVERIFY(entry.dtype == DType::F32);
      QCOMPARE(entry.shape, (std::vector<std::int64_t>{16, h, w}));
      ++latents;
    } else if (kind == "alpha_mask") {
      QVERIFY(entry.dtype == DType::F32);
      QCOMPARE(entry.shape, (std::vector<std::int64_t>{8 * h, 8 * w}));
      for (const float alpha : values_of<float>(file.read(entry.name))) QVERIFY(alpha >= 0.0f && alpha <= 1.0f);
    } else if (kind == "original_size") {
      QVERIFY(entry.dtype == DType::I64);
      QCOMPARE(values_of<std::int64_t>(file.read(entry.name)),
               (std::vector<std::int64_t>{image.captured(1).toLongLong(), image.captured(2).toLongLong()}));
    } else {
      QCOMPARE(kind, QString("crop_ltrb"));
      QVERIFY(entry.dtype == DType::F64);
      QCOMPARE(entry.shape, (std::vector<std::int64_t>{4}));
    }
  }
  QVERIFY(latents > 0);
}

void TestGoldenNpz::holdsTextOutputs() {
  QFETCH(QString, path);
  if (!path.endsWith("_anima_te.npz")) return;
  const NpzFile file(from_utf8(path.toStdString()));
  for (const auto& [name, dtype, dimensions] :
       {std::tuple<const char*, DType, std::size_t>{"prompt_embeds", DType::F32, 2},
        {"attn_mask", DType::I64, 1},
        {"t5_input_ids", DType::I32, 1},
        {"t5_attn_mask", DType::I32, 1},
        {"caption_dropout_rate", DType::F32, 0}}) {
    const NpzEntry* entry = file.find(name);
    QVERIFY2(entry != nullptr, name);
    QVERIFY2(entry->dtype == dtype && entry->shape.size() == dimensions, name);
  }
}

LATHE_TEST(TestGoldenNpz);
#include "npz_golden_test.moc"
