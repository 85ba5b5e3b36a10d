// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/progress_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>

#include "widgets/models/text.h"

namespace lamina::studio {
namespace {
constexpr int kDelayMs = 150;
}

QString progressText(const Progress& progress) {
  const bool bytes = progress.unit == "bytes";
  const QString unit = toQString(progress.unit);
  QStringList parts;
  if (progress.total > 0 && bytes) {
    parts << ProgressStrip::tr("%1 of %2")
                 .arg(mbText(static_cast<double>(progress.done)),
                      mbText(static_cast<double>(progress.total)));
  } else if (progress.total > 0) {
    parts << ProgressStrip::tr("%1 of %2 %3").arg(progress.done).arg(progress.total).arg(unit);
  }
  if (progress.rate > 0) {
    parts << QStringLiteral("%1/s").arg(
        bytes ? mbText(progress.rate)
              : QStringLiteral("%1 %2").arg(QString::number(progress.rate, 'g', 3), unit));
  }
  if (progress.remaining_s >= 0) {
    parts << ProgressStrip::tr("%1 left").arg(durationText(progress.remaining_s));
  }
  return parts.join(QStringLiteral(" · "));
}

ProgressStrip::ProgressStrip(JobRunner* jobs, QWidget* parent) : QFrame(parent) {
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(tr("Running job"));
  title_ = new QLabel(this);
  title_->setObjectName(QStringLiteral("jobTitle"));
  title_->setTextFormat(Qt::PlainText);
  bar_ = new QProgressBar(this);
  bar_->setObjectName(QStringLiteral("jobBar"));
  bar_->setAccessibleName(tr("Progress"));
  bar_->setTextVisible(true);
  detail_ = new QLabel(this);
  detail_->setObjectName(QStringLiteral("jobDetail"));
  detail_->setTextFormat(Qt::PlainText);
  detail_->setMinimumWidth(fontMetrics().horizontalAdvance(
      QStringLiteral("000 of 000 layers · 00.00 layers/s · 00:00 left")));
  cancel_ = new QPushButton(tr("Cancel"), this);
  cancel_->setObjectName(QStringLiteral("jobCancel"));
  cancel_->setAccessibleName(tr("Cancel the running job"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addWidget(title_);
  layout->addWidget(bar_, 1);
  layout->addWidget(detail_);
  layout->addWidget(cancel_);
  hide();
  delay_ = new QTimer(this);
  delay_->setSingleShot(true);
  delay_->setInterval(kDelayMs);
  connect(delay_, &QTimer::timeout, this, &QWidget::show);
  connect(jobs, &JobRunner::started, this, &ProgressStrip::start);
  connect(jobs, &JobRunner::progressed, this, &ProgressStrip::report);
  connect(jobs, &JobRunner::stopping, this, [this] {
    detail_->setText(tr("Stopping…"));
    cancel_->setEnabled(false);
  });
  connect(jobs, &JobRunner::finished, this, [this] {
    delay_->stop();
    hide();
  });
  connect(cancel_, &QPushButton::clicked, jobs, &JobRunner::cancel);
}

void ProgressStrip::start(const QString& title) {
  title_->setText(title);
  detail_->clear();
  cancel_->setEnabled(true);
  bar_->setRange(0, 0);
  if (!isVisible()) delay_->start();
}

void ProgressStrip::report(const Progress& progress) {
  if (!cancel_->isEnabled()) return;  // stopping: the text says so
  // Qt's progress bars count in int; permille do for any total.
  if (progress.total > 0) {
    bar_->setRange(0, 1000);
    bar_->setValue(static_cast<int>(1000.0 * static_cast<double>(progress.done) /
                                    static_cast<double>(progress.total)));
  } else {
    bar_->setRange(0, 0);
  }
  detail_->setText(progressText(progress));
  // A job has several stages, each counted anew.
  bar_->setFormat(toQString(progress.stage) + QStringLiteral(" · %p %"));
}

}  // namespace lamina::studio
