// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/budget_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <utility>

#include "widgets/edit/plan_editor.h"
#include "widgets/models/text.h"
#include "widgets/panels/budget_slider.h"
#include "widgets/panels/elided_label.h"
#include "widgets/panels/figure_label.h"
#include "widgets/plots/color_map.h"

namespace lamina::studio {

BudgetBar::BudgetBar(PlanEditor* editor, QWidget* parent)
    : QWidget(parent), editor_(editor), session_(editor->session()) {
  build();
  connectControls();
  showPlan(session_->plan());
}

void BudgetBar::connectControls() {
  connect(session_, &StudioSession::planChanged, this, &BudgetBar::showPlan);
  connect(slider_, &BudgetSlider::gestureBegan, editor_, &PlanEditor::beginGesture);
  connect(slider_, &BudgetSlider::gestureEnded, editor_, &PlanEditor::endGesture);
  connect(slider_, &BudgetSlider::bytesMoved, this, [this](std::int64_t bytes) {
    const Status status = editor_->setBudget(bytes);
    if (status.is_ok()) return;
    slider_->setBytes(session_->budget());
    showError(toQString(status.message()));
  });
  connect(snap_, &QCheckBox::toggled, slider_, &BudgetSlider::setSnapping);
  connect(entry_, &QLineEdit::returnPressed, this, &BudgetBar::applyTyped);
  connect(entry_, &QLineEdit::textEdited, this, &BudgetBar::showHint);
  connect(kind_, &QComboBox::activated, this, [this](int index) {
    const Status status =
        editor_->setBytesKind(static_cast<BytesKind>(kind_->itemData(index).toInt()));
    if (status.is_ok()) return;
    kind_->setCurrentIndex(kind_->findData(static_cast<int>(session_->bytesKind())));
    showError(toQString(status.message()));
  });
}

void BudgetBar::build() {
  readout_ = new FigureLabel(this);
  readout_->setObjectName(QStringLiteral("budgetReadout"));
  readout_->setCaption(tr("Budget"));
  QFont large = font();
  if (large.pointSizeF() > 0) large.setPointSizeF(large.pointSizeF() * 1.35);
  large.setBold(true);
  readout_->setFont(large);
  readout_->reserve(QStringLiteral("0000.0 MB · 00.0x"));
  ends_ = new QLabel(this);
  ends_->setObjectName(QStringLiteral("budgetKind"));
  slider_ = new BudgetSlider(this);
  slider_->setObjectName(QStringLiteral("budgetSlider"));
  scale_ = new BudgetScale(slider_, this);
  snap_ = new QCheckBox(tr("S&nap"), this);
  snap_->setObjectName(QStringLiteral("budgetSnap"));
  snap_->setToolTip(
      tr("Stop only at the corners of the frontier: budgets whose plan no cheaper one beats"));
  entry_ = new QLineEdit(this);
  entry_->setObjectName(QStringLiteral("budgetEntry"));
  entry_->setPlaceholderText(tr("14x, 136MB, 25%"));
  entry_->setAcceptDrops(false);  // a dropped file is for the window
  entry_->setAccessibleName(tr("Typed budget"));
  entry_->setToolTip(
      tr("A budget such as 136MB, 130MiB, 142606336, 14x or 25%, or with GPU memory 8 requests; "
         "Enter solves"));
  entry_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000000000 bytes")) + 16);
  kind_ = new QComboBox(this);
  kind_->setObjectName(QStringLiteral("bytesKind"));
  kind_->setAccessibleName(tr("Which bytes are counted"));
  kind_->setToolTip(
      tr("actual: what the cache holds, with metadata, positions and padding\n"
         "nominal: keep x tokens x bits, the formula of the paper"));
  for (const BytesKind kind : {BytesKind::kActual, BytesKind::kNominal}) {
    kind_->addItem(bytesKindText(kind), static_cast<int>(kind));
  }
  hint_ = new ElidedLabel(this);
  hint_->setObjectName(QStringLiteral("budgetHint"));

  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->setHorizontalSpacing(12);
  layout->setVerticalSpacing(0);
  layout->addWidget(readout_, 0, 0, Qt::AlignVCenter);
  layout->addWidget(slider_, 0, 1);
  layout->addWidget(snap_, 0, 2);
  layout->addWidget(entry_, 0, 3);
  layout->addWidget(kind_, 0, 4);
  layout->addWidget(ends_, 1, 0);
  layout->addWidget(scale_, 1, 1);
  layout->addWidget(hint_, 1, 2, 1, 3);
  layout->setColumnStretch(1, 1);
  showHint();
}

void BudgetBar::showPlan(const std::shared_ptr<const PlanState>& plan) {
  const bool ready = plan != nullptr;
  for (QWidget* widget : std::initializer_list<QWidget*>{slider_, scale_, snap_, entry_, kind_}) {
    widget->setEnabled(ready);
  }
  if (!ready) {
    readout_->setText(tr("Budget"));
    ends_->setText(tr("after calibration"));
    return;
  }
  if (plan->generation != std::exchange(generation_, plan->generation)) {
    slider_->setCorners(session_->problem()->corner_bytes());
    slider_->setByteRange(session_->smallestBudget(), session_->fullBudget());
    scale_->update();
  }
  slider_->setBytes(plan->budget);
  QString standing = budgetText(static_cast<double>(plan->budget), plan->full_bytes);
  if (plan->capacity) {
    standing += QStringLiteral(" · ") +
                requestsText(plan->capacity->requests, plan->capacity->request.context);
  }
  readout_->setText(standing);
  ends_->setText(tr("budget, %1").arg(bytesKindText(plan->kind)));
  const QSignalBlocker blocker(kind_);
  kind_->setCurrentIndex(kind_->findData(static_cast<int>(plan->kind)));
  showHint();
}

void BudgetBar::applyTyped() {
  const Status status = editor_->setBudgetText(entry_->text());
  if (!status.is_ok()) showError(toQString(status.message()));
}

void BudgetBar::showHint() {
  hint_is_error_ = false;
  const double full = static_cast<double>(session_->fullBudget());
  const double smallest = static_cast<double>(session_->smallestBudget());
  hint_->setText(full > 0 ? tr("%1 to %2").arg(mbText(smallest), mbText(full)) : QString());
  hint_->setToolTip({});
  hint_->setPalette(palette());
}

void BudgetBar::showError(const QString& message) {
  hint_is_error_ = true;
  hint_->setText(message);
  hint_->setToolTip(message);
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, errorTextColor(palette()));
  hint_->setPalette(colors);
}

void BudgetBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  if (hint_is_error_) {
    showError(hint_->text());
  } else {
    hint_->setPalette(palette());
  }
}

}  // namespace lamina::studio
