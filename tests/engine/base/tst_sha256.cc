// SPDX-License-Identifier: Apache-2.0
// The vectors of FIPS 180-4 and its examples.
#include "engine/base/sha256.h"

#include <QCryptographicHash>
#include <QTest>
#include <string>

using namespace lamina;

class TestSha256 : public QObject {
  Q_OBJECT

 private slots:
  void known_vectors() {
    QCOMPARE(sha256_hex(""),
             std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    QCOMPARE(sha256_hex("abc"),
             std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    QCOMPARE(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
             std::string("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    QCOMPARE(sha256_hex(std::string(1000000, 'a')),
             std::string("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
  }

  void pieces_give_the_whole() {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += static_cast<char>(i * 7);
    Sha256 hash;
    for (std::size_t at = 0, n = 0; at < text.size(); at += n) {
      n = std::min<std::size_t>(text.size() - at, at % 130);
      n = std::max<std::size_t>(n, 1);
      hash.update(std::string_view(text).substr(at, n));
    }
    const QByteArray expected =
        QCryptographicHash::hash(QByteArray::fromStdString(text), QCryptographicHash::Sha256)
            .toHex();
    QCOMPARE(QByteArray::fromStdString(hash.hex_digest()), expected);
  }

  void bytes_and_text_agree() {
    const std::string text("a\0b", 3);
    Sha256 hash;
    hash.update(std::as_bytes(std::span(text)));
    QCOMPARE(hash.hex_digest(), sha256_hex(text));
  }
};

QTEST_GUILESS_MAIN(TestSha256)
#include "tst_sha256.moc"
