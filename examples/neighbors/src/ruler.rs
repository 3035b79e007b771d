//! Shortens gaps wider than the radius, across which no points are neighbours, so that a stray point does not make f32
//! coarse for all others.

use rayon::prelude::*;

/// Points without such a gap.
struct Segment {
    first: f64,
    /// Place of `first`.
    start: f64,
    /// True if all ends overlap: points get one place, since rounding may have made them wide.
    is_point: bool,
}

pub struct Ruler {
    segments: Vec<Segment>,
    extent: f64,
}

impl Ruler {
    /// `ends` are points grown by half the radius.
    pub fn new(mut ends: Vec<[f64; 2]>, radius: f64) -> Self {
        ends.par_sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
        let mut segments: Vec<Segment> = Vec::new();
        let mut widths = Vec::new();
        let mut rest = &ends[..];
        while let Some(&[first, mut last]) = rest.first() {
            let mut innermost = last;
            let mut meets = |&[low, high]: &[f64; 2]| {
                let is_in = low <= last;
                if is_in {
                    last = last.max(high);
                    innermost = innermost.min(high);
                }
                is_in
            };
            let end = rest.iter().position(|ends| !meets(ends)).unwrap_or(rest.len());
            let (segment, others) = rest.split_at(end);
            let is_point = segment[segment.len() - 1][0] <= innermost;
            widths.push(if is_point { 0.0 } else { last - first });
            segments.push(Segment {
                first,
                start: 0.0,
                is_point,
            });
            rest = others;
        }
        let total: f64 = widths.iter().sum();
        // About as wide as segments.
        let gap = match (radius / 4.0).max(total / widths.len() as f64) {
            gap if gap > 0.0 => gap,
            _ => 1.0,
        };
        let extent = total + gap * (widths.len() as f64 - 1.0);
        let mut start = -extent / 2.0;
        for (segment, width) in segments.iter_mut().zip(widths) {
            segment.start = start;
            start += width + gap;
        }
        Self { segments, extent }
    }

    pub fn extent(&self) -> f64 {
        self.extent
    }

    pub fn place(&self, position: f64) -> f64 {
        let after = self.segments.partition_point(|segment| segment.first <= position);
        let segment = &self.segments[after.max(1) - 1];
        segment.start
            + if segment.is_point {
                0.0
            } else {
                position - segment.first
            }
    }
}
