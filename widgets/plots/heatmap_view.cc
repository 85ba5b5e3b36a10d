// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/heatmap_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "widgets/panels/elided_label.h"
#include "widgets/plots/heatmap_overlay.h"

namespace lamina::studio {

// Swatches of what the colour bar does not say.
class HeatmapLegend : public QWidget {
 public:
  explicit HeatmapLegend(HeatmapPlot* plot, QWidget* parent) : QWidget(parent), plot_(plot) {
    setAccessibleName(HeatmapView::tr("Heatmap legend"));
    setAccessibleDescription(entries().join(QStringLiteral(", ")));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  }

  QSize sizeHint() const override {
    int width = 0;
    for (const QString& text : entries()) {
      width += kSwatch + kGap + fontMetrics().horizontalAdvance(text) + 3 * kGap;
    }
    return {width, std::max(kSwatch, fontMetrics().height()) + 4};
  }
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    int x = 0;
    for (int i = 0; i < entries().size(); ++i) {
      const QRectF swatch(x + 0.5, (height() - kSwatch) / 2 + 0.5, kSwatch, kSwatch);
      paintSwatch(&painter, i, swatch);
      const QString text = entries().at(i);
      x += kSwatch + kGap;
      painter.setPen(palette().color(QPalette::WindowText));
      painter.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, text);
      x += fontMetrics().horizontalAdvance(text) + 3 * kGap;
    }
  }

 private:
  static constexpr int kSwatch = 13;
  static constexpr int kGap = 6;

  static QStringList entries() {
    return {HeatmapView::tr("chosen by the plan"), HeatmapView::tr("exactly 0 (no loss)"),
            HeatmapView::tr("not measured yet")};
  }

  void paintSwatch(QPainter* painter, int entry, const QRectF& swatch) const {
    const QColor fills[] = {colorAt(plot_->colorMap(), 0.5), zeroColor(), missingColor(palette())};
    painter->fillRect(swatch, fills[entry]);
    if (entry == 2) drawMissing(painter, swatch, palette());
    if (entry == 0) {
      drawChosenOutline(painter, swatch);
    } else {
      painter->setBrush(Qt::NoBrush);
      painter->setPen(mutedTextColor(palette()));
      painter->drawRect(swatch);
    }
  }

  HeatmapPlot* plot_;
};

HeatmapView::HeatmapView(HeatmapModel* model, QWidget* parent)
    : QWidget(parent), model_(model), plot_(new HeatmapPlot(model, this)) {
  auto* title = new QLabel(tr("<b>Sensitivity</b>"), this);
  origin_ = new ElidedLabel(this);
  origin_->setObjectName(QStringLiteral("heatmapOrigin"));
  readout_ = new ElidedLabel(this);
  readout_->setObjectName(QStringLiteral("heatmapReadout"));
  readout_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* head = new QHBoxLayout;
  head->addWidget(title);
  head->addWidget(origin_, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 4, 4);
  layout->setSpacing(4);
  layout->addLayout(head);
  layout->addWidget(plot_, 1);
  layout->addWidget(new HeatmapLegend(plot_, this));
  layout->addWidget(readout_);
  connect(plot_, &HeatmapPlot::cursorChanged, this, &HeatmapView::updateReadout);
  connect(model_, &QAbstractItemModel::modelReset, this, &HeatmapView::updateReadout);
  connect(model_, &QAbstractItemModel::dataChanged, this, &HeatmapView::updateReadout);
  updateReadout();
}

void HeatmapView::setOrigin(const QString& text) {
  origin_->setText(text);
  origin_->setToolTip(text);
}

void HeatmapView::updateReadout() {
  const Cell cell = plot_->cursor();
  readout_->setText(cell.isValid()
                        ? model_->cellText(cell.layer, cell.config)
                        : tr("Click a cell, or move with the arrow keys, to read its value."));
}

}  // namespace lamina::studio
