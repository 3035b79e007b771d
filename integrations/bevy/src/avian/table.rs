use gpu_broad_phase::Aabb;

use super::avian::collider_tree::{ColliderTree, ColliderTreeProxy, ColliderTreeProxyKey, ColliderTreeType};
use super::avian::collider_tree::{ColliderTrees, ProxyId};

/// Boxes of all colliders, in the order of the engine's indices: static ones first.
#[derive(Default)]
pub(super) struct Table {
    pub statics: Vec<Aabb>,
    pub moving: Vec<Aabb>,
    /// Proxy of each box.
    pub keys: Vec<ColliderTreeProxyKey>,
    /// Index of each collider's entity.
    pub entities: Vec<u32>,
}

impl Table {
    /// Fills the table with all proxies.
    pub fn fill(&mut self, trees: &ColliderTrees) {
        self.clear();
        let layers = Layers::of(trees);
        for (key, proxy) in proxies(trees, ColliderTreeType::Static) {
            if !proxy.is_sensor() {
                self.statics.push(boxed(trees, key, proxy, layers));
                self.name(key, proxy);
            }
        }
        // Kinds that seldom grow come first: the engine reuses work for boxes that keep their index.
        for kind in [ColliderTreeType::Kinematic, ColliderTreeType::Standalone] {
            self.fill_moving(trees, kind, layers);
        }
        for (key, proxy) in proxies(trees, ColliderTreeType::Static) {
            if proxy.is_sensor() {
                self.moving.push(boxed(trees, key, proxy, layers));
                self.name(key, proxy);
            }
        }
        self.fill_moving(trees, ColliderTreeType::Dynamic, layers);
    }

    /// Proxies keep their distance from the first one, so removed ones leave a hole.
    fn fill_moving(&mut self, trees: &ColliderTrees, kind: ColliderTreeType, layers: Layers) {
        let first = self.moving.len();
        for (key, proxy) in proxies(trees, kind) {
            while self.moving.len() < first + key.id().index() {
                self.push_hole();
            }
            self.moving.push(boxed(trees, key, proxy, layers));
            self.name(key, proxy);
        }
    }

    fn name(&mut self, key: ColliderTreeProxyKey, proxy: &ColliderTreeProxy) {
        self.keys.push(key);
        self.entities.push(proxy.collider.index_u32());
    }

    fn push_hole(&mut self) {
        self.moving.push(Aabb::point([0.0; 3]).with_group(Aabb::EXCLUDED));
        self.keys.push(ColliderTreeProxyKey::PLACEHOLDER);
        self.entities.push(u32::MAX);
    }

    fn clear(&mut self) {
        self.statics.clear();
        self.moving.clear();
        self.keys.clear();
        self.entities.clear();
    }
}

/// Layers of boxes. Avian has 32, the engine 16, so two of Avian's share a bit. Its own are tested for each new pair.
#[derive(Clone, Copy)]
struct Layers {
    are_used: bool,
}

impl Layers {
    /// Layers are used if they keep any two proxies apart.
    fn of(trees: &ColliderTrees) -> Self {
        let all = || trees.iter_trees().flat_map(|tree| tree.proxies.iter());
        let used = all().fold(0, |used, (_, proxy)| used | proxy.layers.memberships.0);
        let admits_all = |proxy: &ColliderTreeProxy| {
            let layers = proxy.layers;
            layers.memberships.0 != 0 && layers.filters.0 & used == used
        };
        Self {
            are_used: all().any(|(_, proxy)| !admits_all(proxy)),
        }
    }

    fn word(self, proxy: &ColliderTreeProxy) -> u32 {
        let fold = |bits: u32| (bits | bits >> 16) & 0xffff;
        match self.are_used {
            true => fold(proxy.layers.memberships.0) | fold(proxy.layers.filters.0) << 16,
            false => Aabb::ALL_LAYERS,
        }
    }
}

/// Returns the box of a proxy. It is static if it finds no static boxes.
fn boxed(trees: &ColliderTrees, key: ColliderTreeProxyKey, proxy: &ColliderTreeProxy, layers: Layers) -> Aabb {
    let bounds = trees.tree_for_type(key.tree_type()).get_proxy_aabb(key.id());
    let Some(bounds) = bounds else {
        return Aabb::point([0.0; 3]).with_group(Aabb::EXCLUDED);
    };
    let is_static = key.is_static() && !proxy.is_sensor();
    Aabb {
        layers: layers.word(proxy),
        group: if is_static { Aabb::STATIC } else { 0 },
        ..Aabb::new(bounds.min.to_array(), bounds.max.to_array())
    }
}

fn proxies(
    trees: &ColliderTrees,
    kind: ColliderTreeType,
) -> impl Iterator<Item = (ColliderTreeProxyKey, &ColliderTreeProxy)> {
    let tree: &ColliderTree = trees.tree_for_type(kind);
    tree.proxies.iter().map(move |(index, proxy)| {
        let id = ProxyId::new(index as u32);
        (ColliderTreeProxyKey::new(id, kind), proxy)
    })
}
