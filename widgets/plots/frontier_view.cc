// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/frontier_view.h"

#include <QCheckBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/text.h"

namespace lamina::studio {

FrontierView::FrontierView(PlanEditor* editor, QWidget* parent)
    : QWidget(parent), editor_(editor), session_(editor->session()), plot_(new FrontierPlot(this)) {
  auto* side = new QVBoxLayout;
  side->setSpacing(1);
  side->addWidget(new QLabel(tr("<b>Frontier</b>"), this));
  const auto& series = frontierSeries();
  for (std::size_t i = 0; i < series.size(); ++i) {
    auto* box = new QCheckBox(seriesName(series[i]), this);
    box->setObjectName(QStringLiteral("series:") + seriesName(series[i]));
    box->setChecked(true);
    box->setIconSize({30, 11});
    box->setToolTip(series[i].is_bound
                        ? tr("No plan within the limits is predicted below this line")
                        : toQString(describe(series[i].method)));
    connect(box, &QCheckBox::toggled, plot_,
            [this, i](bool on) { plot_->setSeriesVisible(static_cast<int>(i), on); });
    legend_.push_back(box);
    side->addWidget(box);
  }
  side->addStretch(1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 4, 4, 4);
  layout->setSpacing(6);
  layout->addWidget(plot_, 1);
  layout->addLayout(side);
  connect(&session_->frontier(), &FrontierJob::changed, this, &FrontierView::showCurves);
  connect(session_, &StudioSession::planChanged, this,
          [this](const std::shared_ptr<const PlanState>& plan) {
            plot_->setPlan(plan);
            if (!plan) showCurves();
          });
  connect(plot_, &FrontierPlot::budgetPicked, this, [this](std::int64_t bytes) {
    const Status status = editor_->setBudget(bytes);
    if (!status.is_ok()) {
      emit session_->failed(tr("Cannot use this budget"), toQString(status.message()));
    }
  });
  paintLegend();
  plot_->setPlan(session_->plan());
  showCurves();
}

void FrontierView::showCurves() {
  FrontierJob& job = session_->frontier();
  const auto curves = job.curves();
  QString status;
  if (!job.error().isEmpty()) {
    status = job.error();
  } else if (job.isComputing()) {
    status = tr("computing the frontiers… %1 of %2")
                 .arg(curves ? curves->curves.size() : 0)
                 .arg(frontierMethods().size());
  } else if (!curves) {
    status = tr("Error against bytes appears here as soon as the model is calibrated.");
  }
  plot_->setCurves(curves, status);
}

void FrontierView::paintLegend() {
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    legend_[i]->setIcon(
        seriesIcon(frontierSeries()[i], palette(), legend_[i]->iconSize(), devicePixelRatioF()));
  }
}

QStringList FrontierView::hiddenSeries() const {
  QStringList hidden;
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    if (!legend_[i]->isChecked()) hidden << seriesName(frontierSeries()[i]);
  }
  return hidden;
}

void FrontierView::setHiddenSeries(const QStringList& names) {
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    legend_[i]->setChecked(!names.contains(seriesName(frontierSeries()[i])));
  }
}

void FrontierView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paintLegend();
}

}  // namespace lamina::studio
