//! Places elements in larger buffers at any offset and stride, and boxes in any layout.

use bytemuck::Pod;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::wgpu::{Buffer, BufferUsages, Device};
use gpu_broad_phase::{Aabb, BoxLayout, BoxWords, Source};

use crate::generate::Random;

pub struct StridedBuffer {
    words: Vec<u32>,
    pub count: u32,
    offset: u64,
    /// Stride in bytes; `None` for packed elements.
    stride: Option<u32>,
    form: BoxLayout,
    box_words: BoxWords,
}

impl StridedBuffer {
    pub fn of<T: Pod>(elements: &[T], random: &mut Random) -> Self {
        let row = |element: &T| bytemuck::pod_collect_to_vec(bytemuck::bytes_of(element));
        let rows: Vec<Vec<u32>> = elements.iter().map(row).collect();
        Self::new(&rows, random)
    }

    /// Replaces `boxes` by those that a step will read. Centre and half extents may round to a larger box, and some
    /// layouts lack filter words.
    pub fn of_boxes(boxes: &mut [Aabb], random: &mut Random) -> Self {
        let form = [BoxLayout::MinMax, BoxLayout::CenterHalf][random.below(2) as usize];
        let box_words = [BoxWords::Filters, BoxWords::Padding, BoxWords::Tight][random.below(3) as usize];
        let rows: Vec<_> = boxes.iter_mut().map(|boxed| row(boxed, form, box_words)).collect();
        Self {
            form,
            box_words,
            ..Self::new(&rows, random)
        }
    }

    fn new(rows: &[Vec<u32>], random: &mut Random) -> Self {
        let element = rows.first().map_or(0, Vec::len);
        let stride = match random.below(3) {
            _ if rows.is_empty() => None,
            0 => None,
            1 => Some(element),
            _ => Some(element + random.below(12) as usize),
        };
        // Offset in words. Every device can bind a buffer at 0 and at 64 words.
        let first = [0, 64, 1, 4, 68, random.below(500)][random.below(6) as usize] as usize;
        let mut noise = |words: &mut Vec<u32>, length: usize| {
            words.resize_with(length, || random.below(u32::MAX));
        };
        let mut words = Vec::new();
        noise(&mut words, first);
        for (index, row) in rows.iter().enumerate() {
            noise(&mut words, first + index * stride.unwrap_or(element));
            words.extend_from_slice(row);
        }
        words.resize(words.len().max(4), 0);
        Self {
            words,
            count: rows.len() as u32,
            offset: 4 * first as u64,
            stride: stride.map(|words| 4 * words as u32),
            form: BoxLayout::default(),
            box_words: BoxWords::default(),
        }
    }

    pub fn buffer(&self, device: &Device) -> Buffer {
        device.create_buffer_init(&BufferInitDescriptor {
            label: Some("verify"),
            contents: bytemuck::cast_slice(&self.words),
            usage: BufferUsages::STORAGE,
        })
    }

    pub fn source<'a, T>(&self, buffer: &'a Buffer) -> Source<'a, T> {
        let source = Source::device(buffer, self.count).at(self.offset);
        match self.stride {
            Some(stride) => source.stride(stride),
            None => source,
        }
    }

    pub fn boxes<'a>(&self, buffer: &'a Buffer) -> Source<'a, Aabb> {
        self.source(buffer).layout(self.form, self.box_words)
    }
}

/// Replaces the box by the one that the words encode.
fn row(boxed: &mut Aabb, form: BoxLayout, box_words: BoxWords) -> Vec<u32> {
    let (mut first, mut second) = (boxed.min, boxed.max);
    let mut read = *boxed;
    if form == BoxLayout::CenterHalf {
        let center = |axis: usize| Some(0.5 * boxed.min[axis] + 0.5 * boxed.max[axis]).filter(|at| at.is_finite());
        first = [0, 1, 2].map(|axis| center(axis).unwrap_or_default());
        // Half extents are infinite, negative or NaN for bounds that are infinite, inverted or NaN.
        second = [0, 1, 2].map(|axis| 0.5 * boxed.max[axis] - 0.5 * boxed.min[axis]);
        read = Aabb::from_center_half(first, second);
    }
    let filters = match box_words {
        BoxWords::Filters => [boxed.layers, boxed.group],
        _ => [Aabb::ALL_LAYERS, 0],
    };
    let behind = |word: u32| match box_words {
        BoxWords::Filters => Some(word),
        // Noise that readers must ignore.
        BoxWords::Padding => Some(!word),
        _ => None,
    };
    let mut row = first.map(f32::to_bits).to_vec();
    row.extend(behind(filters[0]));
    row.extend(second.map(f32::to_bits));
    row.extend(behind(filters[1]));
    [read.layers, read.group] = filters;
    *boxed = read;
    row
}

#[cfg(test)]
pub mod tests {
    use super::*;

    impl StridedBuffer {
        pub fn vectors(&self) -> Vec<[[f32; 3]; 2]> {
            let (element, second) = match self.box_words {
                BoxWords::Tight => (6, 3),
                _ => (8, 4),
            };
            let stride = self.stride.map_or(element, |bytes| bytes as usize / 4);
            let vector = |place: usize| [0, 1, 2].map(|axis| f32::from_bits(self.words[place + axis]));
            (0..self.count as usize)
                .map(|index| self.offset as usize / 4 + index * stride)
                .map(|place| [vector(place), vector(place + second)])
                .collect()
        }
    }

    #[test]
    fn buffers_hold_the_boxes_that_steps_are_to_read() {
        let random = &mut Random::new(3);
        let mut forms = [0; 2];
        for _ in 0..60 {
            let mut boxes: Vec<_> = (0..random.below(9))
                .map(|at| Aabb::new([at as f32, -1.0, 0.3], [at as f32 + 0.1, f32::INFINITY, 0.7]).with_group(at))
                .collect();
            let before = boxes.clone();
            let strided = StridedBuffer::of_boxes(&mut boxes, random);
            forms[usize::from(strided.form == BoxLayout::CenterHalf)] += 1;
            let read = strided.vectors().into_iter().map(|[first, second]| match strided.form {
                BoxLayout::CenterHalf => Aabb::from_center_half(first, second),
                _ => Aabb::new(first, second),
            });
            for ((read, plain), before) in read.zip(&boxes).zip(&before) {
                assert_eq!((read.min, read.max), (plain.min, plain.max));
                let has_filters = strided.box_words == BoxWords::Filters;
                assert_eq!(plain.group, if has_filters { before.group } else { 0 });
                let slack = |a: f32, b: f32| (a - b).abs() < 1e-5;
                assert!(slack(plain.min[0], before.min[0]) && slack(plain.max[2], before.max[2]));
                assert_eq!(plain.max[1], f32::INFINITY);
            }
        }
        assert!(forms.iter().all(|&count| count > 10));
    }
}
