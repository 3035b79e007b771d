//! What [`why`](super::why()) is asked and what it says.

use crate::api::descriptor::Dimensions;
use crate::api::types::RayHit;
use crate::reference::look::Look;

/// What [`why`](super::why()) is asked about a scene. Objects are numbered as in results: static ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Question {
    /// Are these two objects a pair? They may come in either order.
    Pair(u32, u32),
    /// Does a ray hit an object?
    Ray {
        /// The place of the ray among the rays of the scene.
        ray: u32,
        /// The object.
        object: u32,
    },
    /// Does a query find an object?
    Query {
        /// The place of the query among those of the scene. With [`Neighbors`](crate::Neighbors) or
        /// [`Partners`](crate::Partners): the object that asks.
        query: u32,
        /// The object.
        object: u32,
    },
}

/// One of the two that a [`Question`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Party {
    /// An object. Static ones come first in the numbering.
    Object(u32),
    /// A ray.
    Ray(u32),
    /// A query of the caller's.
    Query(u32),
}

/// In what way an object, a ray or a query is invalid. `what` names the number, as in `min.x` or `t_max`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not a number.
    NotANumber {
        /// Which number.
        what: &'static str,
    },
    /// The lower bound is above the upper one.
    Inverted {
        /// 0 for x, 1 for y, 2 for z.
        axis: usize,
        /// The lower bound.
        min: f32,
        /// The upper bound.
        max: f32,
    },
    /// It is infinite and must not be.
    Infinite {
        /// Which number.
        what: &'static str,
    },
    /// It is a component of a direction, and larger than 2^126.
    TooLarge {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f32,
    },
    /// It is negative and must not be.
    Negative {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f32,
    },
    /// Its world does not exist.
    NoSuchWorld {
        /// The world that it names.
        world: u32,
        /// How many worlds there are.
        worlds: u32,
    },
}

/// Why two do not meet, or why an answer does not name two that meet. Axes are 0 for x, 1 for y, 2 for z.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Both are the same object. No object meets itself.
    Same,
    /// One of them is invalid, and so takes no part in anything.
    Invalid {
        /// The one.
        who: Party,
        /// In what way.
        fault: Fault,
    },
    /// One of them has the flag [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED).
    Excluded {
        /// The one.
        who: Party,
    },
    /// They are in two worlds.
    Worlds {
        /// The world of the first one.
        first: u32,
        /// The world of the second one.
        second: u32,
    },
    /// Both are static.
    BothStatic,
    /// The list of excluded pairs names them: see [`Scene::excluded_pairs`](crate::Scene::excluded_pairs).
    Listed,
    /// Both have this owner.
    SameOwner {
        /// The number of the owner.
        owner: u32,
    },
    /// One of them meets none of the layers that the other is a member of.
    Layers {
        /// The member.
        of: Party,
        /// The layers that it is a member of, a bit each.
        members: u16,
        /// The one that looks for other layers.
        by: Party,
        /// The layers that it meets, a bit each.
        mask: u16,
    },
    /// The boxes are apart along an axis. The boxes are those that are compared: the margin has grown them already.
    Apart {
        /// The axis.
        axis: usize,
        /// How far they are apart.
        gap: f64,
        /// Whose box comes first along the axis.
        below: Party,
    },
    /// They are farther apart than the radius.
    TooFar {
        /// How far they are apart.
        distance: f64,
        /// The radius.
        radius: f32,
    },
    /// The object has an infinite bound, so that it is no neighbour of anyone.
    NoPosition {
        /// The object.
        who: Party,
    },
    /// Each object is asked for those after it alone (`once`), and this one comes before.
    Once,
    /// No part of the ray counts: it ends before it starts.
    EmptyRay {
        /// Where it starts.
        t_min: f32,
        /// Where it ends.
        t_max: f32,
    },
    /// The ray ends before it reaches the box.
    PastEnd {
        /// Where it would enter the box.
        t: f32,
        /// Where it ends.
        t_max: f32,
    },
    /// The ray starts where it has left the box already.
    BeforeStart {
        /// Where it leaves the box.
        leaves: f64,
        /// Where it starts.
        t_min: f32,
    },
    /// The ray does not move along an axis, and the box does not reach to where it is there.
    Beside {
        /// The axis.
        axis: usize,
        /// How far the box is away along the axis.
        gap: f64,
    },
    /// The ray moves away from the box along an axis.
    Behind {
        /// The axis.
        axis: usize,
        /// How far behind its origin the box ends along the axis.
        gap: f64,
    },
    /// The ray passes the box by: along one axis it has left the box before it reaches it along another.
    PassesBy {
        /// The axis along which it reaches the box last.
        enters_axis: usize,
        /// At which parameter.
        enters: f64,
        /// The axis along which it leaves the box first.
        leaves_axis: usize,
        /// At which parameter.
        leaves: f64,
    },
    /// The box is so far away that the ray would reach it past the largest float.
    Unreachable,
    /// The descriptor asks for no pairs.
    NotAsked,
    /// The ray's answer is its closest hit, and that is another one.
    NotClosest {
        /// The closest hit.
        closest: RayHit,
    },
    /// The ray's answer is only whether it hits anything. It names no object.
    OnlyWhether,
    /// The query's answer is some of the nearest objects, and so many are nearer than this one.
    Ranked {
        /// How many come before it.
        rank: u32,
        /// How many are asked for.
        wanted: u32,
    },
    /// The list has a fixed capacity, and its place lies past it.
    NoRoom {
        /// What the list holds: `pairs`, `hits` or `results`.
        what: &'static str,
        /// Its place in the list, before the list is sorted.
        place: u64,
        /// How many rows the list holds.
        capacity: u32,
    },
    /// The uniform scheme has a fixed number of entries, and needs more. Objects without entries are not found.
    NoEntries {
        /// How many entries are needed.
        needed: u64,
        /// How many there is room for.
        capacity: u32,
    },
}

impl Reason {
    /// Whether the two do not meet because of this. If not, they meet, and only the answer leaves them out.
    pub const fn parts(&self) -> bool {
        !matches!(
            self,
            Self::NotAsked
                | Self::NotClosest { .. }
                | Self::OnlyWhether
                | Self::Ranked { .. }
                | Self::NoRoom { .. }
                | Self::NoEntries { .. }
        )
    }
}

/// Where the table has an object. Cells along x are whole ones, of the same side as those of y and z.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Seat {
    /// Nowhere: the object takes no part, or its entries have no room.
    Nowhere,
    /// In the large list, whose objects everything is tested against.
    LargeList,
    /// In one cell of a level: that of its lower corner.
    Cell {
        /// The level: the finest is 0.
        level: u32,
        /// The cell.
        cell: [i32; 3],
        /// The side of the cells of the level.
        side: f32,
        /// The slot of the table that the cell has.
        slot: u32,
    },
    /// In every cell that it covers.
    Cells {
        /// The first cell along each axis.
        first: [i32; 3],
        /// The last cell along each axis.
        last: [i32; 3],
        /// The side of the cells.
        side: f32,
    },
}

/// An object of a [`Question`], and where the table has it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Placed {
    /// The object.
    pub object: u32,
    /// Whether it lies in the table of the static objects.
    pub is_static: bool,
    /// Where it lies there.
    pub seat: Seat,
}

/// Where a walk of the passes tests one of the two against the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meeting {
    /// Whose walk it is.
    pub walker: Party,
    /// The other one, which the walk comes upon.
    pub met: Party,
    /// Whether the walk goes through the table of the static objects.
    pub in_static_table: bool,
    /// Where it looks at that moment.
    pub look: Look,
    /// Whether the test lets the two meet.
    pub is_accepted: bool,
}

/// Why two are in an answer or not: what [`why`](super::why()) says. [`Display`](std::fmt::Display) gives a paragraph
/// of plain English.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Why {
    /// What was asked.
    pub question: Question,
    /// Who asks: the first object of a pair, the ray, the query, or the object that asks for others.
    pub first: Party,
    /// The second one.
    pub second: Party,
    /// Whether the two meet, by the definition.
    pub meets: bool,
    /// Whether the answer of the step names them.
    pub is_found: bool,
    /// All that parts them and, if nothing does, what keeps them out of the answer. Empty where they are found.
    pub reasons: Vec<Reason>,
    /// How far the boxes reach into each other along each axis, where both are valid. Negative where they are apart.
    /// Only for pairs, and for queries with a box.
    pub overlap: Option<[f64; 3]>,
    /// How far the two are apart, where a query asks by distance and both are valid.
    pub distance: Option<f64>,
    /// Whether the distance is so close to the radius that devices may differ.
    pub is_on_border: bool,
    /// Where the ray hits the object.
    pub t: Option<f32>,
    /// Whether the ray starts inside the box.
    pub starts_inside: bool,
    /// How many objects are nearer to a query that asks for the nearest ones.
    pub rank: Option<u32>,
    /// How many axes count.
    pub dimensions: Dimensions,
    /// The margin that has grown the boxes of the objects on every side.
    pub margin: f32,
    /// The objects of the question, and where the table has them.
    pub placed: Vec<Placed>,
    /// Where the passes test the two. `None` where no walk brings them together.
    pub meeting: Option<Meeting>,
    /// Their place in the list of pairs, in the ray's hits or in the query's results, before the list is sorted.
    pub place: Option<u64>,
    /// Whether the passes and the definition disagree. That is a fault of this crate: please report it with a snapshot.
    pub is_fault: bool,
}
