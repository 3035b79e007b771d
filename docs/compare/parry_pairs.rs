use parry3d::bounding_volume::Aabb;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

fn main() {
    let boxes: Vec<_> = (0..1000)
        .map(|place| place as f32)
        .map(|x| Aabb::new([x, 0.0, 0.0].into(), [x + 1.0, 1.0, 1.0].into()))
        .collect();
    let tree = Bvh::from_leaves(BvhBuildStrategy::default(), &boxes);
    let mut pairs = Vec::new();
    tree.traverse_bvtt_single_tree::<false>(&mut BvhWorkspace::default(), &mut |a, b| pairs.push((a, b)));
    println!("{}", pairs.len());
}
