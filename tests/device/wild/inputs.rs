use crate::common::steps::upload;
use gpu_broad_phase::{Aabb, DeviceCount, Queries, Ray, Rays, Scene, SweptRay, wgpu};
use wild::{Rng, Strided, Wild, WildQueries};

/// Places of the inputs in buffers.
pub struct Inputs {
    objects: Strided,
    worlds: Strided,
    statics: Strided,
    static_worlds: Strided,
    rays: Strided,
    queries: Strided,
    /// Numbers of objects, rays and queries, where the device has them.
    counts: [Option<u32>; 3],
}

impl Inputs {
    /// Also changes `wild` to the inputs that passes read.
    pub fn new(number: u64, wild: &mut Wild) -> Self {
        let rng = &mut Rng(number + 900);
        let words =
            |rows: &[u8], element, rng: &mut Rng| Strided::new(&bytemuck::pod_collect_to_vec(rows), element, rng);
        let (statics, mut read) = Strided::boxes(&wild.objects[..wild.statics], rng);
        let (objects, moving) = Strided::boxes(&wild.objects[wild.statics..], rng);
        read.extend(moving);
        wild.objects = read;
        let (static_ids, ids) = wild.worlds.split_at(wild.statics.min(wild.worlds.len()));
        let queries = match &mut wild.queries {
            WildQueries::Boxes(boxes) => {
                let (strided, read) = Strided::boxes(boxes, rng);
                *boxes = read;
                strided
            }
            WildQueries::General(queries) => words(bytemuck::cast_slice(queries), 12, rng),
            _ => Strided::new(&[], 1, rng),
        };
        let mut inputs = Self {
            objects,
            worlds: Strided::new(ids, 1, rng),
            statics,
            static_worlds: Strided::new(static_ids, 1, rng),
            rays: match wild.is_swept {
                true => words(bytemuck::cast_slice(&wild.rays), 16, rng),
                false => words(bytemuck::cast_slice(&wild.plain), 8, rng),
            },
            queries,
            counts: [None; 3],
        };
        let mut count = |all: usize| rng.once_in(2).then(|| rng.below(all + 2) as u32);
        let has_list = matches!(wild.queries, WildQueries::Boxes(_) | WildQueries::General(_));
        inputs.counts = [
            count(wild.objects.len() - wild.statics),
            count(wild.rays.len()),
            count(wild.queries.count(0)).filter(|_| has_list),
        ];
        inputs.exclude_past_counts(wild);
        inputs
    }

    /// Makes everything in `wild` past a count find nothing, and valid.
    fn exclude_past_counts(&self, wild: &mut Wild) {
        let [objects, rays, queries] = self
            .counts
            .map(|count| count.map_or(usize::MAX, |count| count as usize));
        let no_ray = Ray::new([0.0; 3], [1.0, 0.0, 0.0], -1.0);
        let no_box = Aabb::point([0.0; 3]).with_group(Aabb::EXCLUDED);
        let moving = &mut wild.objects[wild.statics..];
        moving.iter_mut().skip(objects).for_each(|object| *object = no_box);
        wild.plain.iter_mut().skip(rays).for_each(|ray| *ray = no_ray);
        wild.rays
            .iter_mut()
            .skip(rays)
            .for_each(|ray| *ray = SweptRay::new(no_ray));
        match &mut wild.queries {
            WildQueries::Boxes(boxes) => boxes.iter_mut().skip(queries).for_each(|query| *query = no_box),
            WildQueries::General(all) => all.iter_mut().skip(queries).for_each(|query| *query = no_box.into()),
            _ => {}
        }
    }

    pub fn upload(&self, device: &wgpu::Device) -> [wgpu::Buffer; 7] {
        let counts = self.counts.map(|count| count.unwrap_or_default());
        [
            &self.objects,
            &self.worlds,
            &self.statics,
            &self.static_worlds,
            &self.rays,
            &self.queries,
        ]
        .map(|strided| &strided.words[..])
        .into_iter()
        .chain([&counts[..]])
        .map(|words| upload(device, words, wgpu::BufferUsages::STORAGE))
        .collect::<Vec<_>>()
        .try_into()
        .expect("seven buffers")
    }

    pub fn scene<'b>(&self, scene: Scene<'b>, buffers: &'b [wgpu::Buffer; 7]) -> Scene<'b> {
        let [objects, worlds, statics, static_worlds, rays, queries, counts] = buffers;
        let count = |word: usize| {
            self.counts[word].map(|_| DeviceCount {
                buffer: counts,
                word: word as u32,
            })
        };
        let mut placed = scene;
        placed.objects = self.objects.boxes_source(objects);
        placed.worlds = self.worlds.source(worlds);
        placed.statics.objects = self.statics.boxes_source(statics);
        placed.statics.worlds = self.static_worlds.source(static_worlds);
        placed.object_count = count(0);
        placed.query.ray_count = count(1);
        placed.query.query_count = count(2);
        placed.query.rays = match scene.query.rays {
            Rays::Plain(_) => Rays::Plain(self.rays.source(rays)),
            _ => Rays::Swept(self.rays.source(rays)),
        };
        placed.query.queries = match scene.query.queries {
            Queries::Boxes(_) => Queries::Boxes(self.queries.boxes_source(queries)),
            Queries::General(_) => Queries::General(self.queries.source(queries)),
            others => others,
        };
        placed
    }
}
