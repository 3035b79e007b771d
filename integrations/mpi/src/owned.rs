use std::collections::BTreeMap;

use bytemuck::{NoUninit, Pod};
use gpu_broad_phase::Aabb;

/// Boxes with ids that are unique across ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// Bounds of each box.
    pub boxes: Vec<Aabb>,
    /// Id of each box: any number that no other box on any rank has.
    pub ids: Vec<u64>,
    /// World of each box, or [`ALL_WORLDS`](gpu_broad_phase::ALL_WORLDS). Empty with one world.
    pub worlds: Vec<u32>,
    /// User data that moves with its box, [`user_bytes`](crate::RanksDescriptor::user_bytes) for each. Data of box `i`
    /// starts at byte `i * user_bytes`.
    pub user: Vec<u8>,
}

/// A rank's share of the world. Any share gives correct results. Less is sent if boxes are near the rank's region, to
/// which [`Ranks::balance`](crate::Ranks::balance) moves them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owned {
    /// Moving boxes.
    pub moving: Objects,
    /// Boxes that seldom change. They never pair with each other; see [`Statics`](gpu_broad_phase::Statics).
    pub statics: Objects,
    /// Version of the static boxes. If they change on any rank, change it on at least one. All ranks then send theirs.
    pub generation: u64,
    /// Pairs of ids to exclude, in either order. List a pair once, on a rank that holds one of its boxes.
    /// [`balance`](crate::Ranks::balance) moves it along with the box.
    pub excluded_pairs: Vec<[u64; 2]>,
}

pub(crate) type Members = BTreeMap<usize, Vec<u32>>;

pub(crate) fn put<T: NoUninit>(message: &mut Vec<u8>, rows: impl IntoIterator<Item = T>) {
    for row in rows {
        message.extend_from_slice(bytemuck::bytes_of(&row));
    }
}

/// # Panics
/// If the message is too short, which never happens.
pub(crate) fn take<T: Pod>(message: &mut &[u8], count: usize) -> Vec<T> {
    let (rows, rest) = message.split_at(count * size_of::<T>());
    *message = rest;
    bytemuck::pod_collect_to_vec(rows)
}

impl Objects {
    pub(crate) const EMPTY: Self = Self {
        boxes: Vec::new(),
        ids: Vec::new(),
        worlds: Vec::new(),
        user: Vec::new(),
    };

    /// Number of boxes.
    pub const fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Returns `true` if there are no boxes.
    pub const fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    pub(crate) fn check(&self, what: &str, worlds: u32, user_bytes: usize) -> Result<(), String> {
        let boxes = self.len();
        let wanted = [
            ("ids", self.ids.len(), boxes),
            ("worlds", self.worlds.len(), if worlds > 1 { boxes } else { 0 }),
            ("bytes of the user's", self.user.len(), boxes * user_bytes),
        ];
        match wanted.into_iter().find(|(_, given, wanted)| given != wanted) {
            Some((name, given, wanted)) => Err(format!("{boxes} {what} have {given} {name}, not {wanted}")),
            None => Ok(()),
        }
    }

    pub(crate) fn put(&self, members: &[u32], user_bytes: usize, message: &mut Vec<u8>) {
        let each = || members.iter().map(|&member| member as usize);
        put(message, [members.len() as u64]);
        put(message, each().map(|member| self.boxes[member]));
        put(message, each().map(|member| self.ids[member]));
        if !self.worlds.is_empty() {
            put(message, each().map(|member| self.worlds[member]));
        }
        for member in each() {
            message.extend_from_slice(&self.user[member * user_bytes..][..user_bytes]);
        }
    }

    pub(crate) fn take(&mut self, has_worlds: bool, user_bytes: usize, message: &mut &[u8]) {
        let count = take::<u64>(message, 1)[0] as usize;
        self.boxes.extend(take::<Aabb>(message, count));
        self.ids.extend(take::<u64>(message, count));
        if has_worlds {
            self.worlds.extend(take::<u32>(message, count));
        }
        self.user.extend(take::<u8>(message, count * user_bytes));
    }

    pub(crate) fn gathered(&self, members: &[u32], user_bytes: usize) -> Self {
        let mut message = Vec::new();
        let mut gathered = Self::default();
        self.put(members, user_bytes, &mut message);
        gathered.take(!self.worlds.is_empty(), user_bytes, &mut &message[..]);
        gathered
    }

    pub(crate) fn by_id(&self) -> Vec<u32> {
        let mut places: Vec<_> = (0..self.len() as u32).collect();
        if !self.ids.is_sorted() {
            places.sort_unstable_by_key(|&place| self.ids[place as usize]);
        }
        places
    }
}
