#include "core/run/session.h"

#include <mutex>

#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::run;

class TestSession : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void endsWithOneLastEventWhateverHappens_data();
  void endsWithOneLastEventWhateverHappens();
  void stopsAndJoinsWhenDestroyed();
};

namespace {

class Collect : public EventSink {
 public:
  void post(Event event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  std::vector<Event> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
};

class NoBackend : public Backend {
 public:
  EndStatus train(const Job&, EventSink&, Control&) override { return EndStatus::completed; }
  int card_count() override { return 0; }
  void cache(const Job&, EventSink&, Control&) override {}
  void sample(const Job&, EventSink&, Control&) override {}
  void write_tiny_models(const std::filesystem::path&) override {}
};

// A job needs settings, and those the whole schema; the session only passes it on.
EndStatus run_session(Collect& events, const Work& work) {
  Session session(std::make_unique<NoBackend>(), Job{}, events, work);
  return session.wait();
}

}  // namespace

void TestSession::endsWithOneLastEventWhateverHappens_data() {
  QTest::addColumn<int>("thrown");
  QTest::addColumn<int>("status");
  QTest::newRow("fine") << 0 << static_cast<int>(EndStatus::completed);
  QTest::newRow("our error") << 1 << static_cast<int>(EndStatus::failed);
  QTest::newRow("another's error") << 2 << static_cast<int>(EndStatus::failed);
  QTest::newRow("stopped") << 3 << static_cast<int>(EndStatus::stopped);
}

void TestSession::endsWithOneLastEventWhateverHappens() {
  QFETCH(int, thrown);
  QFETCH(int, status);
  Collect events;
  const EndStatus ended = run_session(events, [&](Backend&, const Job&, EventSink& sink, Control&) {
    sink.post({1.0, Warning{config::Severity::warning, {}, 0, "odd"}});
    if (thrown == 1) throw Error(ErrorKind::file, "no such thing");
    if (thrown == 2) throw std::runtime_error("first line\nstack");
    if (thrown == 3) throw Error(ErrorKind::stopped, "stopped");
    return EndStatus::completed;
  });
  QCOMPARE(static_cast<int>(ended), status);
  const auto all = events.events();
  const auto& last = std::get<RunEnded>(all.back().body);
  QCOMPARE(static_cast<int>(last.status), status);
  QCOMPARE(last.counts.size(), std::size_t{1});
  const bool failed = status == static_cast<int>(EndStatus::failed);
  QCOMPARE(all.size(), std::size_t{failed ? 3u : 2u});
  if (thrown == 2) QCOMPARE(std::get<RunFailed>(all[1].body).message.english(), std::string("first line"));
}

void TestSession::stopsAndJoinsWhenDestroyed() {
  Collect events;
  {
    Session session(std::make_unique<NoBackend>(), Job{}, events,
                    [](Backend&, const Job&, EventSink&, Control& control) {
                      while (!control.stop_requested()) std::this_thread::yield();
                      return EndStatus::stopped;
                    });
  }
  QCOMPARE(events.events().size(), std::size_t{1});
}

LATHE_TEST(TestSession);
#include "session_test.moc"
