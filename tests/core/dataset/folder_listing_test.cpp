#include "core/dataset/folder_listing.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;
using lathe::testing::TemporaryFolder;

namespace {

using Names = std::vector<std::string>;

}  // namespace

class TestFolderListing : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void findsImagesInAnyCaseAndSaysWhichTheReferenceMisses();
  void ignoresWhatSystemsAndArchivesLeave();
  void namesFormatsThatCannotBeRead();
  void sortsByCodePoint();
  void countsImagesOfSubfolders();
  void namesThatAreNotUtf8AreListedApart();
  void aMissingFolderIsAnError();
  void longListsAreCut();
};

void TestFolderListing::findsImagesInAnyCaseAndSaysWhichTheReferenceMisses() {
  const TemporaryFolder folder;
  for (const char* name : {"A.JPG", "b.Jpeg", "c.WEBP", "d.jfif", "e.png", "f.bmp", "e.txt", "e.weird", "e.npz"}) {
    folder.write(name, "x");
  }
  const FolderListing listing = list_folder(folder.path(), ".weird");
  QVERIFY(listing.images == Names({"A.JPG", "b.Jpeg", "c.WEBP", "d.jfif", "e.png", "f.bmp"}));
  QVERIFY(listing.unseen_by_reference == Names({"b.Jpeg", "d.jfif"}));
  QVERIFY(listing.unknown.empty());
  QVERIFY(list_folder(folder.path(), ".txt").unknown == Names({"e.weird"}));
}

void TestFolderListing::ignoresWhatSystemsAndArchivesLeave() {
  const TemporaryFolder folder;
  for (const char* name : {"__MACOSX/._a.jpeg", ".DS_Store", "Thumbs.db", "._a.png", "a.png", "desktop.ini"}) {
    folder.write(name, "x");
  }
  const FolderListing listing = list_folder(folder.path(), ".txt");
  QVERIFY(listing.images == Names({"a.png"}));
  QVERIFY(listing.leftovers == Names({".DS_Store", "._a.png", "Thumbs.db", "__MACOSX", "desktop.ini"}));
  QVERIFY(listing.subfolders.empty() && listing.unknown.empty());
}

void TestFolderListing::namesFormatsThatCannotBeRead() {
  const TemporaryFolder folder;
  for (const char* name : {"a.avif", "b.JXL", "c.gif", "d.png", "e.tiff"}) folder.write(name, "x");
  const FolderListing listing = list_folder(folder.path(), ".txt");
  QVERIFY(listing.unsupported == Names({"a.avif", "b.JXL", "c.gif", "e.tiff"}));
}

void TestFolderListing::sortsByCodePoint() {
  const TemporaryFolder folder;
  for (const char* name : {"b.png", "B.png", "img10.png", "img2.png", "ü.png", "日.png", "😀.png"}) {
    folder.write(name, "x");
  }
  QVERIFY(list_folder(folder.path(), ".txt").images ==
          Names({"B.png", "b.png", "img10.png", "img2.png", "ü.png", "日.png", "😀.png"}));
}

void TestFolderListing::countsImagesOfSubfolders() {
  const TemporaryFolder folder;
  for (const char* name : {"10_cat/a.png", "10_cat/b.png", "10_cat/b.txt", "notes/readme.txt", "z/.hidden.png"}) {
    folder.write(name, "x");
  }
  const FolderListing listing = list_folder(folder.path(), ".txt");
  QCOMPARE(listing.subfolders.size(), std::size_t{1});
  QCOMPARE(listing.subfolders[0].first, std::string("10_cat"));
  QCOMPARE(listing.subfolders[0].second, std::size_t{2});
}

void TestFolderListing::namesThatAreNotUtf8AreListedApart() {
#ifdef _WIN32
  QSKIP("file names are UTF-16 there");
#else
  const TemporaryFolder folder;
  folder.write("a\xFF.png", "x");
  const FolderListing listing = list_folder(folder.path(), ".txt");
  QVERIFY(listing.images.empty());
  QVERIFY(listing.not_utf8 == Names({"a\\xff.png"}));
#endif
}

void TestFolderListing::aMissingFolderIsAnError() {
  const TemporaryFolder folder;
  QVERIFY_EXCEPTION_THROWN(list_folder(folder.path() / "no", ".txt"), Error);
}

void TestFolderListing::longListsAreCut() {
  QCOMPARE(some_names({"a", "b"}), std::string("a, b"));
  QCOMPARE(some_names({"a", "b", "c", "d"}, 2), std::string("a, b and 2 more"));
}

LATHE_TEST(TestFolderListing);
#include "folder_listing_test.moc"
