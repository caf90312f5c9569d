#include "app/batch/inspect.h"

#include "core/base/error.h"
#include "core/run/event_files.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestInspect : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void tellsKindsApart_data();
  void tellsKindsApart();
  void tellsHowARunWent();
  void refusesWhatItDoesNotKnow();
};

void TestInspect::tellsKindsApart_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("said");
  QTest::newRow("adapter") << "anima/tiny_lora.safetensors"
                           << "adapter (LoRA)";
  QTest::newRow("adapter modules") << "anima/tiny_lora.safetensors"
                                   << "modules: 30 (30 transformer, 0 text encoder), rank 4";
  QTest::newRow("transformer") << "anima/tiny_dit.safetensors"
                               << "Anima diffusion transformer";
  QTest::newRow("text encoder") << "anima/qwen3_tiny_model.safetensors"
                                << "Qwen3 text encoder";
  QTest::newRow("cache") << "npz/sample_0100x0070_anima.npz"
                         << "latents_4x6: F32 [16, 4, 6]";
  QTest::newRow("image") << "npz/flip_alpha.png"
                         << "PNG image, 100x70, rgba";
}

void TestInspect::tellsKindsApart() {
  QFETCH(QString, file);
  QFETCH(QString, said);
  LATHE_NEEDS_GOLDEN(file.toStdString().c_str());
  const QString text = QString::fromStdString(batch::inspect_file(testing::golden_folder() / file.toStdString()));
  QVERIFY2(text.contains(said, Qt::CaseInsensitive), qPrintable(text));
}

void TestInspect::tellsHowARunWent() {
  const testing::TemporaryFolder folder;
  run::StepDone step;
  step.step = 7;
  step.steps = 9;
  run::EventFile(folder.path() / "events.jsonl").post({0.0, step});
  const QString text = QString::fromStdString(batch::inspect_file(folder.path()));
  QVERIFY2(text.contains("last step: 7 of 9") && text.contains("not ended"), qPrintable(text));
}

void TestInspect::refusesWhatItDoesNotKnow() {
  const testing::TemporaryFolder folder;
  QVERIFY_EXCEPTION_THROWN(batch::inspect_file(folder.write("a.docx", "x")), Error);
  QVERIFY_EXCEPTION_THROWN(batch::inspect_file(folder.path()), Error);
}

LATHE_TEST(TestInspect);
#include "inspect_test.moc"
