// SPDX-License-Identifier: Apache-2.0
// Files are read whole or not at all, and written whole or not at all.
#include "engine/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace lamina;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

class TestFile : public QObject {
  Q_OBJECT

  QTemporaryDir temporary_;
  fs::path folder_;

 private slots:
  void init() {
    folder_ = fs::path(temporary_.path().toStdString()) / QTest::currentTestFunction();
    fs::create_directory(folder_);
  }

  void writes_and_reads() {
    const std::string text("a\0b\nc", 5);
    QVERIFY(write_text_file(folder_ / "a", text).is_ok());
    QCOMPARE(*read_text_file(folder_ / "a"), text);
    QVERIFY(write_text_file(folder_ / "a", "shorter").is_ok());
    QCOMPARE(*read_text_file(folder_ / "a"), std::string("shorter"));
    QVERIFY(write_text_file(folder_ / "empty", "").is_ok());
    QCOMPARE(fs::file_size(folder_ / "empty"), std::uintmax_t{0});
    QCOMPARE(entries(folder_), std::size_t{2});  // no temporary file is left
  }

  void long_names_and_relative_paths() {
    const fs::path long_name = folder_ / std::string(255, 'n');
    QVERIFY(write_text_file(long_name, "x").is_ok());
    const fs::path old = fs::current_path();
    fs::current_path(folder_);
    QVERIFY(write_text_file("relative", "y").is_ok());
    fs::current_path(old);
    QCOMPARE(content(folder_ / "relative"), std::string("y"));
  }

  void permissions() {
    const mode_t mask = ::umask(027);
    QVERIFY(write_text_file(folder_ / "new", "x").is_ok());
    ::umask(mask);
    struct stat info {};
    ::stat((folder_ / "new").c_str(), &info);
    QCOMPARE(info.st_mode & 0777u, mode_t{0640});
    ::chmod((folder_ / "new").c_str(), 0600);
    QVERIFY(write_text_file(folder_ / "new", "y").is_ok());
    ::stat((folder_ / "new").c_str(), &info);
    QCOMPARE(info.st_mode & 0777u, mode_t{0600});
  }

  void links_stay() {
    QVERIFY(write_text_file(folder_ / "target", "old").is_ok());
    fs::create_symlink("target", folder_ / "link");
    QVERIFY(write_text_file(folder_ / "link", "new").is_ok());
    QVERIFY(fs::is_symlink(folder_ / "link"));
    QCOMPARE(content(folder_ / "target"), std::string("new"));
  }

  // Whoever reads while the file is replaced again and again sees one version, never a part.
  void replacing_is_atomic() {
    const std::string a(200'000, 'a');
    const std::string b(300'000, 'b');
    QVERIFY(write_text_file(folder_ / "f", a).is_ok());
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::thread reader([&] {
      while (!stop) {
        const std::string seen = content(folder_ / "f");
        if (seen != a && seen != b) ++torn;
      }
    });
    for (int i = 0; i < 50; ++i) QVERIFY(write_text_file(folder_ / "f", i % 2 ? a : b).is_ok());
    stop = true;
    reader.join();
    QCOMPARE(torn.load(), 0);
  }

  // Permission bits do not bind root, so these are places that nobody can write to.
  void unwritable_places() {
    QVERIFY(write_text_file(folder_ / "file", "x").is_ok());
    fs::create_directory(folder_ / "folder");
    for (const fs::path& path :
         {folder_ / "file" / "a", folder_ / "none" / "a", folder_ / "folder",
          fs::path("/proc/lamina"), folder_ / std::string(256, 'n'), fs::path("/dev/full")}) {
      Status status = write_text_file(path, "x");
      QVERIFY2(!status.is_ok(), path.c_str());
      QCOMPARE(status.kind(), ErrorKind::kRuntime);
      QVERIFY(status.message().find(path.string()) != std::string::npos);
    }
    QVERIFY(fs::is_character_file("/dev/full"));  // written to, not replaced
    QCOMPARE(content(folder_ / "file"), std::string("x"));
    QCOMPARE(entries(folder_), std::size_t{2});
  }

  void pipes_are_written_through() {
    const fs::path pipe = folder_ / "pipe";
    QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
    // Nobody reads: an error at once, not a wait for a reader.
    const Status unread = write_text_file(pipe, "lost");
    QCOMPARE(unread.kind(), ErrorKind::kRuntime);
    QVERIFY2(unread.message().find("that nobody reads") != std::string::npos,
             unread.message().c_str());
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    QVERIFY(reader >= 0);
    QVERIFY(write_text_file(pipe, "through").is_ok());
    char seen[16] = {};
    QCOMPARE(::read(reader, seen, sizeof seen), ssize_t{7});
    ::close(reader);
    QCOMPARE(std::string(seen), std::string("through"));
    QVERIFY(fs::is_fifo(pipe));
  }

  // An anonymous pipe as standard output is only reachable through /proc.
  void standard_output_as_a_pipe() {
    int ends[2];
    QCOMPARE(::pipe(ends), 0);
    const fs::path path = "/proc/self/fd/" + std::to_string(ends[1]);
    QVERIFY(write_text_file(path, "out").is_ok());
    char seen[4] = {};
    QCOMPARE(::read(ends[0], seen, 3), ssize_t{3});
    QCOMPARE(std::string(seen), std::string("out"));
    ::close(ends[0]);
    ::close(ends[1]);
  }

  void unreadable_paths_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("why");
    QTest::newRow("missing") << "missing"
                             << "No such file";
    QTest::newRow("folder") << "folder"
                            << "it is a folder";
    QTest::newRow("empty") << "empty"
                           << "it is empty";
    QTest::newRow("pipe") << "pipe"
                          << "not a regular file";
    QTest::newRow("below a file") << "file/x"
                                  << "Not a directory";
  }

  void unreadable_paths() {
    QFETCH(QString, name);
    QFETCH(QString, why);
    if (!fs::exists(folder_ / "folder")) {
      fs::create_directory(folder_ / "folder");
      std::ofstream(folder_ / "empty").flush();
      std::ofstream(folder_ / "file") << "x";
      ::mkfifo((folder_ / "pipe").c_str(), 0600);
    }
    const fs::path path = folder_ / name.toStdString();
    for (const Status& status : {read_text_file(path).status(), MappedFile::open(path).status()}) {
      QCOMPARE(status.kind(), ErrorKind::kBadInput);
      QVERIFY2(status.message().find(why.toStdString()) != std::string::npos,
               status.message().c_str());
      QVERIFY(status.message().find(path.string()) != std::string::npos);
    }
  }

  void reading_is_bounded() {
    QVERIFY(write_text_file(folder_ / "a", "12345").is_ok());
    QVERIFY(read_text_file(folder_ / "a", 5));
    Status status = read_text_file(folder_ / "a", 4).status();
    QCOMPARE(status.kind(), ErrorKind::kBadInput);
    QVERIFY(status.message().find("too large") != std::string::npos);
  }

  void maps() {
    std::string text(100'000, 'm');
    text[77'777] = 'x';
    QVERIFY(write_text_file(folder_ / "a", text).is_ok());
    auto file = MappedFile::open(folder_ / "a");
    QVERIFY(file);
    const auto bytes = (*file)->bytes();
    QCOMPARE(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
    // The map outlives the name, and a replaced file does not change it.
    QVERIFY(write_text_file(folder_ / "a", "other").is_ok());
    fs::remove(folder_ / "a");
    QCOMPARE(static_cast<char>(bytes[77'777]), 'x');
    QCOMPARE((*file)->path(), folder_ / "a");
  }
};

QTEST_GUILESS_MAIN(TestFile)
#include "tst_file.moc"
