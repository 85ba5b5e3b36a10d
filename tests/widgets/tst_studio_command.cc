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

 private:
  Ran run(const QStringList& arguments, const QString& platform = {}) const {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("QT_QPA_PLATFORM"));
    environment.remove(QStringLiteral("DISPLAY"));
    environment.insert(QStringLiteral("XDG_RUNTIME_DIR"), runtime_dir_.path());
    environment.remove(QStringLiteral("WAYLAND_DISPLAY"));
    if (!platform.isEmpty()) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), platform);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(LAMINA_STUDIO_PROGRAM), arguments);
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

}  // namespace lamina::studio

QTEST_GUILESS_MAIN(lamina::studio::TestStudioCommand)
#include "tst_studio_command.moc"
