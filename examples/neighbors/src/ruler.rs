//! Coordinates along an axis with short gaps.
//!
//! Points on both sides of a gap wider than the radius cannot be neighbours. Shortening such gaps keeps all distances
//! within the segments between them, and bounds the extent by the radius times the number of points.

use rayon::prelude::*;

/// Points that overlap, one by one along the axis, once each is grown to half the radius on both sides.
struct Segment {
    /// Lower end of the first point.
    first: f64,
    /// Place of the lower end.
    start: f64,
    /// True if all points overlap each other. They get the same place, since their width may be far above the radius.
    is_point: bool,
}

pub struct Ruler {
    /// In ascending order.
    segments: Vec<Segment>,
    extent: f64,
}

impl Ruler {
    /// `ends` are lower and upper ends of points.
    pub fn new(mut ends: Vec<[f64; 2]>, radius: f64) -> Self {
        ends.par_sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
        let mut segments: Vec<Segment> = Vec::new();
        // Widths, until gaps are known.
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
        // In the same order as the segments' widths, so that gaps at most double the extent.
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
