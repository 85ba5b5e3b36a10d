// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/panels/model_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <algorithm>

#include "widgets/models/text.h"
#include "widgets/panels/elided_label.h"

namespace lamina::studio {

QString modelFacts(const ModelSummary& model) {
  QStringList facts;
  if (!model.id.architecture.empty()) facts << toQString(model.id.architecture);
  if (model.layers > 0)
    facts << (model.layers == 1 ? ModelBar::tr("1 layer")
                                : ModelBar::tr("%1 layers").arg(model.layers));
  if (!model.kv.empty()) {
    const LayerGeometry& first = model.kv.front();
    const bool same =
        std::all_of(model.kv.begin(), model.kv.end(), [&](const LayerGeometry& layer) {
          return layer.kv_heads == first.kv_heads && layer.head_dim == first.head_dim;
        });
    facts << (same ? ModelBar::tr("%1 KV heads x %2").arg(first.kv_heads).arg(first.head_dim)
                   : ModelBar::tr("KV heads differ by layer"));
  }
  if (model.kv_bytes_per_token > 0) {
    facts << ModelBar::tr("%1 of K and V per token")
                 .arg(mbText(static_cast<double>(model.kv_bytes_per_token)));
  }
  if (model.context_length > 0)
    facts << ModelBar::tr("context of %1 tokens").arg(model.context_length);
  return facts.join(QStringLiteral(" · "));
}

ModelBar::ModelBar(StudioSession* session, QWidget* parent) : QWidget(parent), session_(session) {
  name_ = new QLabel(this);
  name_->setObjectName(QStringLiteral("modelName"));
  name_->setTextFormat(Qt::PlainText);
  QFont bold = font();
  bold.setBold(true);
  if (bold.pointSizeF() > 0) bold.setPointSizeF(bold.pointSizeF() * 1.15);
  name_->setFont(bold);
  facts_ = new ElidedLabel(this);
  facts_->setObjectName(QStringLiteral("modelFacts"));
  scorer_ = new QComboBox(this);
  scorer_->setObjectName(QStringLiteral("scorer"));
  scorer_->setAccessibleName(tr("Eviction scorer used by the calibration"));
  scorer_->setToolTip(tr("How the tokens that stay are chosen"));
  scorer_->addItem(tr("TriAttention"), QStringLiteral("triattention"));
  scorer_->addItem(tr("KeyDiff"), QStringLiteral("keydiff"));
  scorer_->addItem(tr("Streaming"), QStringLiteral("streaming"));
  calibrate_ = new QPushButton(tr("Calibrate"), this);
  calibrate_->setObjectName(QStringLiteral("calibrate"));
  auto* caption = new QLabel(tr("&Scorer"), this);
  caption->setBuddy(scorer_);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 4);
  layout->setSpacing(10);
  layout->addWidget(name_);
  layout->addWidget(facts_, 1);
  layout->addWidget(caption);
  layout->addWidget(scorer_);
  layout->addWidget(calibrate_);
  connect(calibrate_, &QPushButton::clicked, this, &ModelBar::startCalibration);
  connect(session_, &StudioSession::documentChanged, this, &ModelBar::refresh);
  connect(session_, &StudioSession::tableChanged, this, &ModelBar::refresh);
  connect(&session_->jobs(), &JobRunner::started, this, &ModelBar::refresh);
  connect(&session_->jobs(), &JobRunner::finished, this, &ModelBar::refresh);
  refresh();
}

QString ModelBar::scorer() const { return scorer_->currentData().toString(); }

void ModelBar::setScorer(const QString& scorer) {
  const int index = scorer_->findData(scorer);
  if (index >= 0) scorer_->setCurrentIndex(index);
}

void ModelBar::startCalibration() { session_->calibrate(scorer()); }

void ModelBar::refresh() {
  const auto& document = session_->document();
  name_->setText(document ? document->displayName() : QString());
  const QString facts = document && document->model ? modelFacts(*document->model) : QString();
  facts_->setText(facts);
  facts_->setToolTip(facts);
  const QString obstacle = session_->calibrationObstacle();
  calibrate_->setEnabled(obstacle.isEmpty() && !session_->jobs().isRunning());
  calibrate_->setText(document && document->table ? tr("Calibrate again") : tr("Calibrate"));
  calibrate_->setToolTip(obstacle.isEmpty() ? tr("Measure how much every recipe hurts every layer")
                                            : obstacle);
  scorer_->setEnabled(calibrate_->isEnabled());
}

}  // namespace lamina::studio
