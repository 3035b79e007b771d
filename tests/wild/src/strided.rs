use gpu_broad_phase::{Aabb, BoxLayout, BoxWords, Source, wgpu};

use crate::Rng;

const LAYOUTS: [BoxLayout; 2] = [BoxLayout::MinMax, BoxLayout::CenterHalf];
const WORDS: [BoxWords; 3] = [BoxWords::Filters, BoxWords::Padding, BoxWords::Tight];
/// Words between offsets that all devices bind in place.
const ALIGNMENT: usize = 64;

/// Elements at a random offset and stride, between random words. The last one ends the buffer.
pub struct Strided {
    pub words: Vec<u32>,
    count: u32,
    offset: u64,
    stride: Option<u32>,
    layout: Option<(BoxLayout, BoxWords)>,
}

impl Strided {
    /// `element` is the length of an element in words.
    pub fn new(elements: &[u32], element: usize, rng: &mut Rng) -> Self {
        let count = elements.len() / element;
        let stride = rng.one_of(&[None, Some(0), Some(1), Some(11)]);
        let stride = stride.filter(|_| count > 0).map(|gap| element + gap);
        let first = rng.one_of(&[0, 1, 4, ALIGNMENT, 3 * ALIGNMENT, ALIGNMENT + 4, 333]);
        let mut words: Vec<u32> = (0..first).map(|_| rng.bits() as u32).collect();
        for (index, row) in elements.chunks(element).enumerate() {
            words.extend_from_slice(row);
            let gap = if index + 1 < count {
                stride.unwrap_or(element) - element
            } else {
                0
            };
            words.extend((0..gap).map(|_| rng.bits() as u32));
        }
        words.resize(words.len().max(4), 0);
        Self {
            words,
            count: count as u32,
            offset: 4 * first as u64,
            stride: stride.map(|words| 4 * words as u32),
            layout: None,
        }
    }

    /// Boxes in a random layout. Also returns the boxes that a step reads from it.
    pub fn boxes(boxes: &[Aabb], rng: &mut Rng) -> (Self, Vec<Aabb>) {
        let (layout, words) = (rng.one_of(&LAYOUTS), rng.one_of(&WORDS));
        let mut read = Vec::new();
        let mut rows = Vec::new();
        for object in boxes {
            let (first, second, bounds) = match layout {
                BoxLayout::CenterHalf => {
                    let half = [0, 1, 2].map(|axis| 0.5 * object.max[axis] - 0.5 * object.min[axis]);
                    let centre = object
                        .min
                        .map(|low| if low.is_finite() { low * 1.1 } else { rng.unit() });
                    (centre, half, Aabb::from_center_half(centre, half))
                }
                _ => (object.min, object.max, Aabb::new(object.min, object.max)),
            };
            let mut further = |filter: u32| match words {
                BoxWords::Filters => Some(filter),
                BoxWords::Padding => Some(rng.bits() as u32),
                _ => None,
            };
            rows.extend(first.map(f32::to_bits));
            rows.extend(further(object.layers));
            rows.extend(second.map(f32::to_bits));
            rows.extend(further(object.group));
            let (layers, group) = match words {
                BoxWords::Filters => (object.layers, object.group),
                _ => (Aabb::ALL_LAYERS, 0),
            };
            read.push(Aabb {
                layers,
                group,
                ..bounds
            });
        }
        let element = if matches!(words, BoxWords::Tight) { 6 } else { 8 };
        let strided = Self {
            layout: Some((layout, words)),
            ..Self::new(&rows, element, rng)
        };
        (strided, read)
    }

    /// `buffer` holds the words.
    pub fn source<'b, T>(&self, buffer: &'b wgpu::Buffer) -> Source<'b, T> {
        let source = Source::device(buffer, self.count).at(self.offset);
        match self.stride {
            Some(stride) => source.stride(stride),
            None => source,
        }
    }

    pub fn boxes_source<'b>(&self, buffer: &'b wgpu::Buffer) -> Source<'b, Aabb> {
        let (layout, words) = self.layout.expect("boxes");
        self.source(buffer).layout(layout, words)
    }
}
