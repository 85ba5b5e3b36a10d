// SPDX-License-Identifier: GPL-3.0-or-later
// The lamina-studio program from outside: words without a display, pictures, refusals.
#include <QImage>
#include <QProcess>
#include <QTest>

#include "studio_testing.h"

namespace lamina::studio {

struct Ran {
  int code = -1;
  QString out, err;
};

class TestStudioCommand : public QObject {
  Q_OBJECT
 private slots:
  void wordsNeedNoDisplay();
  void wrongWords_data();
  void wrongWords();
  void pictureOfATable();
  void missingFileIsOneLine();
  void refusalsHaveTheEnginesCode_data();
  void refusalsHaveTheEnginesCode();
  void namesThatAreNoText();

 private:
  Ran run(const QStringList& arguments, const QString& platform = {},
          const QString& program = QStringLiteral(LAMINA_STUDIO_PROGRAM)) const {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("QT_QPA_PLATFORM"));
    environment.remove(QStringLiteral("DISPLAY"));
    environment.insert(QStringLiteral("XDG_RUNTIME_DIR"), runtime_dir_.path());
    environment.remove(QStringLiteral("WAYLAND_DISPLAY"));
    if (!platform.isEmpty()) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), platform);
    process.setProcessEnvironment(environment);
    process.start(program, arguments);
    if (!process.waitForFinished(60000)) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
  }

  QTemporaryDir runtime_dir_;  // private, as Qt wants it
};

void TestStudioCommand::wordsNeedNoDisplay() {
  const Ran help = run({QStringLiteral("--help")});
  QCOMPARE(help.code, 0);
  for (const char* word : {"--screenshot", "--size", "--budget", "FILE"}) {
    QVERIFY2(help.out.contains(QLatin1String(word)), word);
  }
  const Ran version = run({QStringLiteral("--version")});
  QCOMPARE(version.code, 0);
  QCOMPARE(version.out, QStringLiteral("lamina-studio " LAMINA_VERSION "\n"));
}

void TestStudioCommand::wrongWords_data() {
  QTest::addColumn<QStringList>("arguments");
  const QString shot = QStringLiteral("--screenshot");
  QTest::newRow("option") << QStringList{QStringLiteral("--nonsense")};
  QTest::newRow("two files") << QStringList{QStringLiteral("a"), QStringLiteral("b")};
  QTest::newRow("theme") << QStringList{QStringLiteral("--theme"), QStringLiteral("pink")};
  QTest::newRow("size") << QStringList{shot, QStringLiteral("o.png"), QStringLiteral("--size"),
                                       QStringLiteral("big")};
}

void TestStudioCommand::wrongWords() {
  QFETCH(QStringList, arguments);
  const Ran ran = run(arguments);
  QCOMPARE(ran.code, 2);
  QVERIFY2(ran.err.startsWith(QStringLiteral("lamina-studio: error: ")), qPrintable(ran.err));
  QCOMPARE(ran.err.count(QLatin1Char('\n')), 1);
}

void TestStudioCommand::pictureOfATable() {
  QTemporaryDir dir;
  const QString table =
      testing::writeTable(dir, QStringLiteral("t.json"), testing::syntheticTable(12));
  const QString picture = dir.filePath(QStringLiteral("out.png"));
  const Ran ran =
      run({table, QStringLiteral("--screenshot"), picture, QStringLiteral("--size"),
           QStringLiteral("1400x900"), QStringLiteral("--budget"), QStringLiteral("6x")});
  QVERIFY2(ran.code == 0, qPrintable(ran.err));
  QCOMPARE(QImage(picture).size(), QSize(1400, 900));
  const Ran bad = run({table, QStringLiteral("--screenshot"), picture, QStringLiteral("--budget"),
                       QStringLiteral("lots")});
  QCOMPARE(bad.code, 2);
}

void TestStudioCommand::missingFileIsOneLine() {
  QTemporaryDir dir;
  const Ran ran = run({dir.filePath(QStringLiteral("none.gguf")), QStringLiteral("--screenshot"),
                       dir.filePath(QStringLiteral("out.png"))});
  QCOMPARE(ran.code, 3);
  QVERIFY(ran.err.contains(QStringLiteral("none.gguf")));
  QCOMPARE(ran.err.count(QLatin1Char('\n')), 1);
}

void TestStudioCommand::refusalsHaveTheEnginesCode_data() {
  QTest::addColumn<QString>("input");
  QTest::addColumn<QString>("output");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("says");
  const QString table = QStringLiteral("table.json"), picture = QStringLiteral("out.png");
  QTest::newRow("list") << "list.json" << picture << 3 << "a JSON object was expected";
  QTest::newRow("cut model") << "cut.gguf" << picture << 3 << "the file is truncated";
  QTest::newRow("no project") << "text.lamina" << picture << 3 << "not a Lamina project";
  QTest::newRow("full disk") << table << "/dev/full" << 4 << "No space left on device";
  QTest::newRow("no folder") << table << "none/out.png" << 4 << "none/out.png";
  QTest::newRow("a folder") << table << "." << 4 << "Is a directory";
}

void TestStudioCommand::refusalsHaveTheEnginesCode() {
  QFETCH(QString, input);
  QFETCH(QString, output);
  QFETCH(int, code);
  QFETCH(QString, says);
  QTemporaryDir dir;
  testing::writeTable(dir, QStringLiteral("table.json"), testing::syntheticTable(2));
  const auto write = [&](const char* name, const QByteArray& bytes) {
    QFile file(dir.filePath(QLatin1String(name)));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  };
  write("list.json", " [1, 2]");
  write("cut.gguf", QByteArray("GGUF\3\0\0\0", 8));
  write("text.lamina", QByteArray(4096, 'x'));
  const Ran ran = run({dir.filePath(input), QStringLiteral("--screenshot"),
                       output.startsWith(QLatin1Char('/')) ? output : dir.filePath(output)});
  QCOMPARE(ran.code, code);
  QVERIFY2(ran.err.contains(says), qPrintable(ran.err));
  QVERIFY2(ran.err.startsWith(QStringLiteral("lamina-studio: error: ")), qPrintable(ran.err));
  QCOMPARE(ran.err.count(QLatin1Char('\n')), 1);
}

// A file whose name is no UTF-8 can be pictured; QProcess could not even name it.
void TestStudioCommand::namesThatAreNoText() {
  QTemporaryDir dir;
  const QString table =
      testing::writeTable(dir, QStringLiteral("t.json"), testing::syntheticTable(2));
  const QString picture = dir.filePath(QStringLiteral("out.png"));
  const Ran ran = run({QStringLiteral("-c"),
                       QStringLiteral("mv \"$1\" \"$2/$(printf 'n\\377.json')\" && exec \"$0\" "
                                      "\"$2/$(printf 'n\\377.json')\" --screenshot \"$3\""),
                       QStringLiteral(LAMINA_STUDIO_PROGRAM), table, dir.path(), picture},
                      {}, QStringLiteral("/bin/sh"));
  QVERIFY2(ran.code == 0, qPrintable(ran.err));
  QCOMPARE(QImage(picture).size(), QSize(1280, 800));
}

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestStudioCommand)
#include "tst_studio_command.moc"
