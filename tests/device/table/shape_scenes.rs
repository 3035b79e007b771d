//! Triangles, spheres and turned boxes against brute force. `GPU_BROAD_PHASE_WILD` selects scenes.

use super::shapes::shape_hits;
use super::*;
use crate::common::daily_or_full;
use glam::{DMat3, DQuat, DVec3, dvec3};
use gpu_broad_phase::ALL_WORLDS;
use gpu_broad_phase::cpu::CpuBroadPhase;

const SHAPES: &str = "
    struct Shape {
        place: vec3<f32>,
        kind: u32,
        size: vec3<f32>,
        turn: vec4<f32>,
    }

    fn row(object: u32, index: u32) -> vec4<f32> {
        let first = output(data[0]) + 12u * object + 4u * index;
        return bitcast<vec4<f32>>(vec4<u32>(data[first], data[first + 1u], data[first + 2u], data[first + 3u]));
    }

    fn shape_of(object: u32) -> Shape {
        let head = row(object, 0u);
        return Shape(head.xyz, u32(head.w), row(object, 1u).xyz, row(object, 2u));
    }

    fn turned_back(shape: Shape, way: vec3<f32>) -> vec3<f32> {
        return way + 2.0 * cross(cross(way, shape.turn.xyz) + shape.turn.w * way, shape.turn.xyz);
    }

    fn own_hit_shape(object: u32, origin: vec3<f32>, direction: vec3<f32>, t_max: f32) -> f32 {
        let shape = shape_of(object);
        let way = origin - shape.place;
        if (shape.kind == 0u) {
            let p = cross(direction, shape.turn.xyz);
            let det = dot(shape.size, p);
            let q = cross(way, shape.size);
            let u = dot(way, p) / det;
            let v = dot(direction, q) / det;
            let t = dot(shape.turn.xyz, q) / det;
            return select(t_max, t, det != 0.0 && u >= 0.0 && v >= 0.0 && u + v <= 1.0);
        }
        var near = 0.0;
        var far = 0.0;
        if (shape.kind == 1u) {
            let middle = -dot(way, direction) / dot(direction, direction);
            let aside = way + middle * direction;
            let left = shape.size.x * shape.size.x - dot(aside, aside);
            if (left < 0.0) {
                return t_max;
            }
            let half = sqrt(left / dot(direction, direction));
            near = middle - half;
            far = middle + half;
        } else {
            let begin = turned_back(shape, way);
            let along = turned_back(shape, direction);
            near = -LARGEST;
            far = LARGEST;
            for (var axis = 0u; axis < 3u; axis += 1u) {
                if (abs(along[axis]) > 1e-20) {
                    let a = (-shape.size[axis] - begin[axis]) / along[axis];
                    let b = (shape.size[axis] - begin[axis]) / along[axis];
                    near = max(near, min(a, b));
                    far = min(far, max(a, b));
                } else if (abs(begin[axis]) > shape.size[axis]) {
                    return t_max;
                }
            }
        }
        return select(t_max, max(near, 0.0), near <= far && far >= 0.0);
    }

    fn to_segment(point: vec3<f32>, end: vec3<f32>) -> f32 {
        return length(point - clamp(dot(point, end) / dot(end, end), 0.0, 1.0) * end);
    }

    fn own_shape_distance(object: u32, point: vec3<f32>) -> f32 {
        let shape = shape_of(object);
        let way = point - shape.place;
        if (shape.kind == 1u) {
            return length(way) - shape.size.x;
        }
        if (shape.kind == 2u) {
            let out = abs(turned_back(shape, way)) - shape.size;
            return length(max(out, vec3<f32>(0.0))) + min(max(max(out.x, out.y), out.z), 0.0);
        }
        let first = shape.size;
        let second = shape.turn.xyz;
        let normal = cross(first, second);
        let u = dot(cross(way, second), normal);
        let v = dot(cross(first, way), normal);
        let whole = dot(normal, normal);
        if (u >= 0.0 && v >= 0.0 && u + v <= whole) {
            return abs(dot(way, normal)) / length(normal);
        }
        let across = to_segment(way - first, second - first);
        return min(min(to_segment(way, first), to_segment(way, second)), across);
    }

    const LARGEST = 0x1.fffffep+127;

    fn visit(id: u32) {
        let ray = own_ray_of(input(id, 0u), input(id, 1u), input(id, 2u), input(id, 3u).x);
        let closest = own_closest_shape(ray);
        let any = own_any_shape(ray);
        let rest = input(id, 6u);
        let nearest = own_nearest_shape(own_query_of(input(id, 4u), input(id, 5u), rest.x, rest.y));
        let out = output(id);
        data[out] = closest.object;
        data[out + 1u] = bitcast<u32>(closest.t);
        data[out + 2u] = nearest.object;
        data[out + 3u] = bitcast<u32>(nearest.distance);
        data[out + 4u] = any.object;
        data[out + 5u] = u32(closest.is_complete && any.is_complete);
        data[out + 6u] = u32(nearest.is_complete);
    }
";

/// Relative errors of `f32` are some 2^-20 here.
const SLACK: f64 = 1e-5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Triangle,
    Sphere,
    Turned,
}

/// The words of `Shape` in [`SHAPES`]. A triangle's edges from `place` are `size` and `turn`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    kind: Kind,
    place: DVec3,
    size: DVec3,
    turn: DQuat,
}

fn to_segment(point: DVec3, end: DVec3) -> f64 {
    (point - (point.dot(end) / end.length_squared()).clamp(0.0, 1.0) * end).length()
}

impl Shape {
    fn words(&self) -> [u32; 12] {
        let (place, size, turn) = (self.place, self.size, self.turn);
        let (place, size) = (place.extend(self.kind as u32 as f64), size.extend(0.0));
        let turn: [f64; 4] = turn.into();
        let all = [place.to_array(), size.to_array(), turn].concat();
        std::array::from_fn(|word| (all[word] as f32).to_bits())
    }

    fn edges(&self) -> [DVec3; 2] {
        [self.size, self.turn.xyz()]
    }

    fn bounds(&self) -> Aabb {
        let ends = match self.kind {
            Kind::Triangle => {
                let corners = [DVec3::ZERO, self.size, self.turn.xyz()];
                let [a, b, c] = corners.map(|corner| corner + self.place);
                [a.min(b).min(c), a.max(b).max(c)]
            }
            Kind::Sphere => [self.place - self.size.x, self.place + self.size.x],
            Kind::Turned => {
                let half = DMat3::from_quat(self.turn).abs() * self.size * (1.0 + 1e-6);
                [self.place - half, self.place + half]
            }
        };
        let outward = |exact: f64, sign: f64| match exact as f32 {
            rounded if sign * (f64::from(rounded) - exact) >= 0.0 => rounded,
            rounded if sign < 0.0 => rounded.next_down(),
            rounded => rounded.next_up(),
        };
        let [min, max] = [(ends[0], -1.0), (ends[1], 1.0)].map(|(end, sign)| end.to_array().map(|x| outward(x, sign)));
        Aabb::new(min, max)
    }

    fn slack(&self, from: DVec3) -> f64 {
        let edge = if self.kind == Kind::Triangle {
            self.turn.xyz()
        } else {
            DVec3::ZERO
        };
        SLACK * (from.length() + self.place.length() + self.size.length() + edge.length())
    }

    /// Entry and exit, with the shape larger by `grown`.
    fn span(&self, origin: DVec3, direction: DVec3, grown: f64) -> Option<[f64; 2]> {
        let way = origin - self.place;
        let shift = grown / direction.length();
        let [near, far] = match self.kind {
            Kind::Triangle => {
                let [first, second] = self.edges();
                let (p, q) = (direction.cross(second), way.cross(first));
                let det = first.dot(p);
                let sides = first.length() * second.length();
                if det == 0.0 || det.abs() < 1e-4 * sides * direction.length() && grown != 0.0 {
                    return (grown > 0.0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
                }
                let [u, v, t] = [way.dot(p), direction.dot(q), second.dot(q)].map(|part| part / det);
                let more = grown * direction.length() / det.abs();
                let [du, dv] = [second, first].map(|edge| more * edge.length());
                let shift = 2.0 * grown * sides / det.abs();
                return (u >= -du && v >= -dv && u + v <= 1.0 + du + dv).then_some([t - shift, t + shift]);
            }
            Kind::Sphere => {
                let middle = -way.dot(direction) / direction.length_squared();
                let aside = way + middle * direction;
                let radius = self.size.x + grown;
                let left = radius * radius - aside.length_squared();
                if radius < 0.0 || left < 0.0 {
                    return None;
                }
                let half = (left / direction.length_squared()).sqrt();
                [middle - half, middle + half]
            }
            Kind::Turned => {
                let [begin, along] = [way, direction].map(|of| self.turn.inverse() * of);
                let mut span = [f64::NEG_INFINITY, f64::INFINITY];
                for axis in 0..3 {
                    let half = self.size[axis] + grown;
                    if half < 0.0 || (along[axis] == 0.0 && begin[axis].abs() > half) {
                        return None;
                    }
                    if along[axis] != 0.0 {
                        let [a, b] = [-half, half].map(|bound| (bound - begin[axis]) / along[axis]);
                        span = [span[0].max(a.min(b)), span[1].min(a.max(b))];
                    }
                }
                span
            }
        };
        (near <= far).then_some([near - shift, far + shift])
    }

    fn hit(&self, origin: [f32; 3], direction: [f32; 3], t_max: f32) -> f32 {
        let [origin, direction] = [origin, direction].map(double);
        match self.span(origin, direction, 0.0) {
            Some([near, far]) if far >= 0.0 => near.max(0.0) as f32,
            _ => t_max,
        }
    }

    fn distance(&self, point: DVec3) -> f64 {
        let way = point - self.place;
        match self.kind {
            Kind::Sphere => way.length() - self.size.x,
            Kind::Turned => {
                let out = (self.turn.inverse() * way).abs() - self.size;
                out.max(DVec3::ZERO).length() + out.max_element().min(0.0)
            }
            Kind::Triangle => {
                let [first, second] = self.edges();
                let normal = first.cross(second);
                let [u, v] = [way.cross(second), first.cross(way)].map(|part| part.dot(normal));
                if u >= 0.0 && v >= 0.0 && u + v <= normal.length_squared() {
                    return way.dot(normal).abs() / normal.length();
                }
                let across = to_segment(way - first, second - first);
                to_segment(way, first).min(to_segment(way, second)).min(across)
            }
        }
    }
}

fn double(of: [f32; 3]) -> DVec3 {
    let [x, y, z] = of.map(f64::from);
    dvec3(x, y, z)
}

fn single(of: DVec3) -> [f32; 3] {
    of.to_array().map(|x| x as f32)
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    object: u32,
    low: f64,
    high: f64,
    is_sure: bool,
}

struct ShapeScene {
    descriptor: BroadPhaseDescriptor<'static>,
    shapes: Vec<Shape>,
    boxes: Vec<Aabb>,
    worlds: Vec<u32>,
    statics: usize,
    rays: Vec<SweptRay>,
    queries: Vec<Query>,
    /// First object of the same table with the same box and shape.
    first_equal: Vec<u32>,
}

fn direction(rng: &mut Rng) -> DVec3 {
    let mut part = || rng.between(-1.0, 1.0);
    let way = dvec3(part(), part(), part());
    way.try_normalize().unwrap_or(DVec3::X)
}

fn shape(unit: f64, middle: DVec3, rng: &mut Rng) -> Shape {
    let place = double(single(middle + unit * rng.between(0.0, 8.0) * direction(rng)));
    let length = unit
        * if rng.once_in(12) {
            rng.between(3.0, 16.0)
        } else {
            rng.magnitude(-1.5, 0.3)
        };
    let kind = rng.one_of(&[Kind::Triangle, Kind::Triangle, Kind::Sphere, Kind::Turned]);
    let is_straight = rng.once_in(4);
    let (size, turn) = match kind {
        Kind::Triangle => loop {
            let mut edge = || length * rng.between(0.3, 1.0) * direction(rng);
            let [mut first, mut second] = [edge(), edge()];
            if is_straight {
                (first.z, second.z) = (0.0, 0.0);
            }
            let [first, second] = [first, second].map(|edge| double(single(edge)));
            if first.cross(second).length() > 0.3 * first.length() * second.length() {
                break (first, second.extend(0.0).to_array());
            }
        },
        Kind::Sphere => (DVec3::splat(length), [0.0; 4]),
        Kind::Turned => {
            let mut side = || length * rng.between(0.05, 1.0);
            let size = dvec3(side(), side(), side());
            let turn = DQuat::from_axis_angle(direction(rng), rng.between(0.0, 6.0));
            (size, if is_straight { DQuat::IDENTITY } else { turn }.to_array())
        }
    };
    let turn = turn.map(|part| f64::from(part as f32));
    Shape {
        kind,
        place,
        size: double(single(size)),
        turn: DQuat::from_array(turn),
    }
}

impl ShapeScene {
    fn new(number: u64) -> Self {
        let mut rng = Rng(number.wrapping_mul(0x2127_5b1f_9c4d_83a5) ^ 0x71);
        let rng = &mut rng;
        let unit = rng.one_of(&[1.0, 1.0, 1.0, 2f64.powi(-20), 2f64.powi(20)]);
        let length = (unit * rng.one_of(&[0.5, 1.5, 4.0])) as f32;
        let worlds = rng.one_of(&[1, 1, 1, 3]);
        let descriptor = descriptor(|all| {
            all.scheme = match number % 3 {
                0 => Scheme::Hierarchical,
                1 => Scheme::Uniform { cell_size: length },
                _ => Scheme::Adaptive { min_scale: length },
            };
            (all.pairs, all.filters, all.worlds) = (false, !rng.once_in(4), worlds);
            all.margin = rng.one_of(&[0.0, 0.0, 0.1 * unit as f32]);
        });
        let middle = if rng.once_in(3) {
            30.0 * unit * direction(rng)
        } else {
            DVec3::ZERO
        };
        let count = if rng.once_in(12) { 300 } else { 1 + rng.below(60) };
        let mut shapes: Vec<_> = (0..count).map(|_| shape(unit, middle, rng)).collect();
        let are_apart = number % 4 == 3;
        let mut boxes: Vec<_> = shapes.iter().map(Shape::bounds).collect();
        for object in boxes.iter_mut().filter(|_| are_apart) {
            let [min, max] = [object.min, object.max].map(double);
            let (center, half) = ((min + max) / 2.0, (max - min) / 2.0);
            let (center, half) = match rng.below(4) {
                0..2 => (center + half.length() * direction(rng), half),
                2 => (center, 2.0 * half),
                _ => (center, 0.3 * half),
            };
            *object = Aabb::new(single(center - half), single(center + half));
        }
        for object in 0..count {
            if rng.once_in(5) {
                let other = rng.below(count);
                (shapes[object], boxes[object]) = (shapes[other], boxes[other]);
            }
        }
        let statics = if rng.once_in(2) { rng.below(count + 1) } else { 0 };
        let equal = |object: usize| {
            let is_equal = |&other: &usize| {
                (other < statics) == (object < statics)
                    && shapes[other] == shapes[object]
                    && (boxes[other].min, boxes[other].max) == (boxes[object].min, boxes[object].max)
            };
            (0..=object).find(is_equal).unwrap() as u32
        };
        let first_equal = (0..count).map(equal).collect();
        let is_filtered = rng.once_in(2);
        for object in &mut boxes {
            match rng.below(24) {
                0 => object.max[rng.below(3)] = f32::NAN,
                1 if is_filtered => object.group |= Aabb::EXCLUDED,
                2..9 if is_filtered => *object = object.with_layers(rng.below(4) as u16, rng.below(4) as u16),
                _ => {}
            }
        }
        let mut world = || match rng.once_in(12) {
            true => ALL_WORLDS,
            false => rng.below(worlds as usize) as u32,
        };
        let world_ids = if worlds > 1 {
            (0..count).map(|_| world()).collect()
        } else {
            Vec::new()
        };
        let mut scene = Self {
            descriptor,
            shapes,
            boxes,
            worlds: world_ids,
            statics,
            rays: Vec::new(),
            queries: Vec::new(),
            first_equal,
        };
        for _ in 0..60 {
            let ray = scene.ray(unit, middle, rng);
            scene.rays.push(ray);
            let point = single(middle + unit * rng.between(0.0, 14.0) * direction(rng));
            let radius = match rng.below(4) {
                _ if are_apart => -1.0,
                0 => (unit * rng.magnitude(-2.0, 1.0)) as f32,
                1 => f32::NAN,
                _ => f32::INFINITY,
            };
            let query = Query::sphere(point, radius);
            scene.queries.push(query.in_world(rng.below(worlds as usize) as u32));
        }
        scene
    }

    fn ray(&self, unit: f64, middle: DVec3, rng: &mut Rng) -> SweptRay {
        let target = self.shapes[rng.below(self.shapes.len())];
        let at = target.place
            + match target.kind {
                Kind::Triangle => {
                    let [u, v] = if rng.once_in(8) {
                        rng.one_of(&[[0.0, 0.4], [0.5, 0.5], [1.0, 0.0]])
                    } else {
                        rng.one_of(&[[0.3, 0.3], [0.6, 0.2]])
                    };
                    let [first, second] = target.edges();
                    u * first + v * second
                }
                _ => target.size.min_element() * rng.between(0.0, 1.0) * direction(rng),
            };
        let way = match rng.below(4) {
            0 => rng.one_of(&DVec3::AXES) * rng.sign(),
            _ => direction(rng),
        };
        let inside = if target.kind == Kind::Triangle { 1.0 } else { 0.0 };
        let origin = at - unit * rng.one_of(&[inside, 2.0, 10.0, 20.0]) * rng.between(0.0, 1.0) * way;
        let way = if rng.once_in(4) { direction(rng) } else { way } * unit * rng.magnitude(-1.0, 1.0);
        let origin = if rng.once_in(12) { middle } else { origin };
        let mut ray = Ray::new(single(origin), single(way), f32::INFINITY);
        let t = target.hit(ray.origin, ray.direction, 3.0);
        ray.t_max = match rng.below(24) {
            0 => t,
            1 => t.next_down().max(0.0),
            2 => t * 0.9,
            3 => t * 1.1,
            4 => t * 3.0,
            5 if rng.once_in(4) => rng.one_of(&[-1.0, f32::NAN, 0.0]),
            _ => f32::INFINITY,
        };
        if rng.once_in(4) {
            ray = ray.with_layers(rng.below(4) as u16, rng.below(4) as u16);
        }
        let t_min = match rng.below(32) {
            0 => t,
            1 => t.next_up().max(f32::MIN_POSITIVE),
            2 => t * 0.5,
            3 => t * 1.1,
            _ => 0.0,
        };
        let world = rng.below(self.descriptor.worlds as usize) as u32;
        SweptRay::new(ray).with_t_min(t_min).with_world(world)
    }

    fn scene(&self, generation: u64) -> Scene<'_> {
        wild::scene_of(&self.boxes, &self.worlds, self.statics, generation)
    }

    fn hits(&self, ray: &SweptRay, boxes: &[RayHit]) -> Vec<Candidate> {
        let [origin, direction] = [ray.ray.origin, ray.ray.direction].map(double);
        let [t_min, t_max] = [ray.t_min, ray.ray.t_max].map(f64::from);
        let candidate = |&RayHit { object, t: entry }: &RayHit| {
            let shape = &self.shapes[object as usize];
            let slack = shape.slack(origin);
            let span = |grown: f64| {
                let span = shape.span(origin, direction, grown);
                span.filter(|span| span[1] >= 0.0)
                    .map(|[near, far]| [near.max(0.0), far])
            };
            let wide = span(slack)?;
            let narrow = span(-slack).map(|span| span[0]);
            let most = narrow.unwrap_or(wide[1]);
            let [low, high] = [wide[0], most].map(|t| t.max(f64::from(entry)));
            let is_sure = narrow.is_some() && wide[0] >= t_min && high <= t_max;
            (most >= t_min && low <= t_max).then_some(Candidate {
                object,
                low,
                high,
                is_sure,
            })
        };
        boxes.iter().filter_map(candidate).collect()
    }

    fn distances(&self, query: &Query, admitted: &[(u32, f64)]) -> Vec<Candidate> {
        let point = double(query.bounds.min);
        let candidate = |&(object, _): &(u32, f64)| {
            let shape = &self.shapes[object as usize];
            let (distance, slack) = (shape.distance(point), shape.slack(point));
            let (low, high) = (distance - slack, distance + slack);
            let radius = f64::from(query.radius);
            (radius >= 0.0 && low <= radius).then_some(Candidate {
                object,
                low,
                high,
                is_sure: high <= radius,
            })
        };
        admitted.iter().filter_map(candidate).collect()
    }

    /// Counts hits before their boxes, hits behind them, and shapes whose boxes the ray misses.
    fn count_outside(&self, ray: &SweptRay, boxes: &[RayHit], hits: &[Candidate], counts: &mut [usize; 3]) {
        let [origin, direction] = [ray.ray.origin, ray.ray.direction].map(double);
        for hit in hits.iter().filter(|hit| hit.is_sure) {
            let (shape, object) = (&self.shapes[hit.object as usize], &self.boxes[hit.object as usize]);
            let slack = 10.0 * shape.slack(origin) + f64::from(self.descriptor.margin);
            let [min, max] = [object.min, object.max].map(double);
            let entry = boxes.iter().find(|entry| entry.object == hit.object).unwrap();
            let is_before = hit.low == hit.high && hit.low == f64::from(entry.t) && entry.t > 0.0;
            let at = origin + hit.low * direction;
            let gap = (min - at).max(at - max).max_element();
            counts[0] += usize::from(is_before);
            counts[1] += usize::from(gap > slack);
        }
        if ray.ray.layers == Aabb::ALL_LAYERS && self.descriptor.worlds == 1 {
            let is_plain = |object: &Aabb| *object == Aabb::new(object.min, object.max);
            let all: Vec<_> = (0..)
                .zip(&self.boxes)
                .filter(|(_, object)| is_plain(object))
                .map(|(object, _)| RayHit { object, t: 0.0 })
                .collect();
            let is_missed = |hit: &&Candidate| hit.is_sure && boxes.iter().all(|entry| entry.object != hit.object);
            counts[2] += self.hits(ray, &all).iter().filter(is_missed).count();
        }
    }

    fn is_first(&self, all: &[Candidate], low: f64, object: u32) -> bool {
        let first_equal = |object: u32| self.first_equal[object as usize];
        let mut others = all.iter().filter(|other| other.object != object);
        others.all(|other| {
            let is_equal = first_equal(other.object) == first_equal(object) && other.object < object;
            let is_nearer = low < other.high || (low == other.high && object < other.object);
            !is_equal && (!other.is_sure || is_nearer)
        })
    }

    fn check(&self, all: &[Candidate], found: Option<(u32, f32)>, what: &str) {
        let is_right = match found {
            None => !all.iter().any(|one| one.is_sure),
            Some((object, t)) => {
                let t = f64::from(t);
                let is_found = |one: &Candidate| one.object == object && (one.low..=one.high).contains(&t);
                all.iter().any(is_found) && self.is_first(all, t, object)
            }
        };
        assert!(is_right, "{what}: {found:?} of {all:?}");
    }

    fn count(&self, all: &[Candidate], tally: &mut Tally) {
        let is_allowed = |one: &&Candidate| self.is_first(all, one.low, one.object);
        match all.iter().filter(is_allowed).collect::<Vec<_>>()[..] {
            [] => tally.misses += 1,
            [one] if one.is_sure => {
                let is_tie = |other: &Candidate| (other.low, other.high, other.is_sure) == (one.low, one.high, true);
                tally.ties += usize::from(all.iter().filter(|other| is_tie(other)).count() > 1);
                tally.results += 1;
            }
            _ => tally.open += 1,
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    results: usize,
    ties: usize,
    misses: usize,
    /// Slack allows several results.
    open: usize,
}

#[test]
fn shape_scenes_have_the_results_of_brute_force() {
    let runs_all = wild::is_selected() || crate::common::is_full();
    let adapters = if runs_all { adapters() } else { daily_adapters() };
    let numbers = wild::selected(daily_or_full(130, 1_000));
    let are_many = numbers.end - numbers.start >= 100;
    let mut tallies = [Tally::default(), Tally::default()];
    let mut outside = [0; 3];
    // Mesa's software drivers end long loops.
    let mut cut = 0;
    let mut passes: Vec<_> = adapters.iter().map(|_| [Passes::new(), Passes::new()]).collect();
    for number in numbers {
        let shapes = ShapeScene::new(number);
        let descriptor = &shapes.descriptor;
        let has_statics = shapes.statics > 0;
        let is_daily = has_statics && wild::is_daily(descriptor);
        if !runs_all && !is_daily {
            continue;
        }
        let mut scene = shapes.scene(number);
        let everywhere: Vec<_> = shapes
            .queries
            .iter()
            .map(|query| Query {
                radius: f32::INFINITY,
                ..*query
            })
            .collect();
        scene.query.rays = Rays::Swept(shapes.rays[..].into());
        scene.query.queries = everywhere[..].into();
        let boxes = brute_force::scene_rays(descriptor, &scene).unwrap();
        let admitted = brute_force::scene_queries(descriptor, &scene).unwrap();
        scene.query = QueryInput::default();

        let mut on_cpu = CpuBroadPhase::new(descriptor).unwrap();
        on_cpu.step_scene(&scene).unwrap();
        let rays = || Rays::Swept(shapes.rays[..].into());
        let hit_shape = |object: u32, origin: [f32; 3], direction: [f32; 3], t_max: f32| {
            shapes.shapes[object as usize].hit(origin, direction, t_max)
        };
        let distance = |object: u32, point: [f32; 3]| shapes.shapes[object as usize].distance(double(point)) as f32;
        let closest = on_cpu.closest_shapes(rays(), &hit_shape).unwrap();
        let any = on_cpu.any_shapes(rays(), &hit_shape).unwrap();
        let nearest = on_cpu.nearest_shapes(&shapes.queries, &distance).unwrap();

        let inputs: Vec<[u32; 28]> = (shapes.rays.iter().zip(&shapes.queries))
            .map(|(ray, query)| {
                let words = [bytemuck::cast_slice(&[*ray]), bytemuck::cast_slice(&[*query])].concat();
                words.try_into().unwrap()
            })
            .collect();
        let extra: Vec<_> = shapes.shapes.iter().flat_map(Shape::words).collect();
        let outputs: Vec<_> = (adapters.iter().zip(&mut passes))
            .map(|(adapter, passes)| {
                let make = || {
                    let first = TableShader::with_rays(descriptor, "own_", 1).unwrap();
                    let second = has_statics.then(|| first.second_table("static_", 2).unwrap());
                    let text = first.shape_rays(second.as_ref()) + &first.shape_queries(second.as_ref()) + SHAPES;
                    let tables = [Some(first), second].into_iter().flatten().collect();
                    OwnPass::new::<[u32; 28]>(adapter, tables, &text, 7)
                };
                let passes = &mut passes[usize::from(has_statics)];
                run_alike(adapter, passes, descriptor, scene, &inputs, &extra, make)
            })
            .collect();

        for (index, (ray, query)) in shapes.rays.iter().zip(&shapes.queries).enumerate() {
            let what = |of: &str| format!("{of}: {ray:?} and {query:?} of scene {number}, {descriptor:?}");
            let entries: Vec<_> = boxes[index].iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
            let expected = shape_hits(ray, &entries, hit_shape);
            assert_eq!(closest[index], brute_force::closest(&expected), "{}", what("CPU"));
            let is_one = expected.iter().any(|hit| hit.object == any[index].object);
            assert_eq!(is_one, !expected.is_empty(), "{}", what("CPU"));
            let rows = &admitted[index].surely;
            let distances = rows.iter().map(|row| (distance(row.0, query.bounds.min), row.0));
            let best = distances
                .filter(|shape| query.radius >= 0.0 && shape.0 <= query.radius)
                .min_by(|a, b| a.partial_cmp(b).unwrap());
            let best = best.map(|(distance, object)| (object, distance));
            assert_eq!(nearest[index], best, "{}", what("CPU"));

            let hits = shapes.hits(ray, &boxes[index]);
            let distances = shapes.distances(query, rows);
            shapes.count_outside(ray, &boxes[index], &hits, &mut outside);
            shapes.count(&hits, &mut tallies[0]);
            shapes.count(&distances, &mut tallies[1]);
            let check = |hit: Option<(u32, f32)>, some: Option<u32>, nearest: Option<Option<_>>, what: &str| {
                shapes.check(&hits, hit, what);
                let is_right = match some {
                    None => !hits.iter().any(|one| one.is_sure),
                    Some(some) => hits.iter().any(|one| one.object == some),
                };
                assert!(is_right, "{what}: any {some:?} of {hits:?}");
                nearest.inspect(|&nearest| shapes.check(&distances, nearest, what));
            };
            let [hit, some] = [closest[index], any[index]].map(|hit| (hit != RayHit::MISS).then_some(hit));
            let (hit, some) = (hit.map(|hit| (hit.object, hit.t)), some.map(|some| some.object));
            check(hit, some, Some(nearest[index]), &what("CPU"));
            for (adapter, outputs) in adapters.iter().zip(&outputs) {
                let words = &outputs[index];
                let found =
                    |word: usize| (words[word] != u32::MAX).then(|| (words[word], f32::from_bits(words[word + 1])));
                let what = what(&adapter.name);
                assert_eq!(words[5], 1, "{what}");
                let is_whole = words[6] == 1;
                check(found(0), found(4).map(|some| some.0), is_whole.then(|| found(2)), &what);
                cut += usize::from(!is_whole);
            }
        }
    }
    println!(
        "closest {:?}, nearest {:?}, outside {outside:?}, cut {cut}",
        tallies[0], tallies[1]
    );
    if are_many {
        for tally in &tallies {
            let least = tally.results.min(tally.misses);
            assert!(
                least > 4 * tally.open && tally.ties > 50,
                "{tally:?}: few results are certain"
            );
        }
        assert!(cut < tallies[1].results / 100, "{cut} searches were cut");
        assert!(
            outside.iter().all(|&count| count > 8),
            "{outside:?}: few shapes end outside of their boxes"
        );
    }
}
