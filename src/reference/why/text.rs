//! What [`why`](super::why()) says, as a paragraph of plain English.

use std::fmt::{self, Display, Formatter};

use super::answer::{Fault, Meeting, Party, Placed, Question, Reason, Seat, Why};
use crate::api::descriptor::Dimensions;
use crate::reference::look::Spot;

const AXES: [&str; 3] = ["x", "y", "z"];

impl Display for Why {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.told(&|party| party.to_string()))
    }
}

impl Display for Party {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => write!(formatter, "object {object}"),
            Self::Ray(ray) => write!(formatter, "ray {ray}"),
            Self::Query(query) => write!(formatter, "query {query}"),
        }
    }
}

impl Why {
    /// The paragraph that [`Display`] gives, with names of the caller's: `name` says what each of the two is called, as
    /// in `object 3`.
    pub fn told(&self, name: &dyn Fn(Party) -> String) -> String {
        let mut sentences = vec![self.verdict(name)];
        let reasons = self.reasons.iter().map(|reason| self.reason(reason, name));
        sentences.extend(reasons);
        sentences.extend(self.measures());
        sentences.extend(self.placed.iter().map(|placed| placed_text(placed, name)));
        sentences.push(self.meeting_text(name));
        if let (Some(place), true) = (self.place, self.is_found) {
            let list = match self.question {
                Question::Pair(..) => "the list of pairs",
                Question::Ray { .. } => "the list of hits",
                Question::Query { .. } => "the list of results",
            };
            sentences.push(format!("Before it is sorted, {list} has it at place {place}."));
        }
        if self.is_fault {
            sentences.push(self.fault_text());
        }
        sentences.retain(|sentence| !sentence.is_empty());
        sentences
            .iter()
            .map(|sentence| capitalized(sentence))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn verdict(&self, name: &dyn Fn(Party) -> String) -> String {
        let [first, second] = [self.first, self.second].map(name);
        let left_out = self.meets && !self.is_found;
        let asks_only_whether = self.reasons.contains(&Reason::OnlyWhether);
        match self.question {
            Question::Pair(..) if left_out => {
                format!("{first} and {second} overlap and may pair, but the answer does not name them.")
            }
            Question::Pair(..) if self.meets => format!("{first} and {second} are a pair."),
            Question::Pair(..) => format!("{first} and {second} are not a pair."),
            Question::Ray { .. } if left_out && !asks_only_whether => {
                format!("{first} hits {second}{}, but its answer does not name it.", self.at())
            }
            Question::Ray { .. } if self.meets => format!("{first} hits {second}{}.", self.at()),
            Question::Ray { .. } => format!("{first} does not hit {second}."),
            Question::Query { .. } if left_out => {
                format!("{second} is what {first} asks for, but the answer does not name it.")
            }
            Question::Query { .. } if self.meets => format!("{first} finds {second}."),
            Question::Query { .. } => format!("{first} does not find {second}."),
        }
    }

    fn at(&self) -> String {
        match self.t {
            Some(t) if self.starts_inside => format!(" at t = {} (the ray starts inside the box)", number(t.into())),
            Some(t) => format!(" at t = {}", number(t.into())),
            None => String::new(),
        }
    }

    fn reason(&self, reason: &Reason, name: &dyn Fn(Party) -> String) -> String {
        let margin = if self.margin > 0.0 {
            format!(", after the margin of {} on every side", number(self.margin.into()))
        } else {
            String::new()
        };
        let other = |who: Party| if who == self.first { self.second } else { self.first };
        match *reason {
            Reason::Same => "It is the same object, and no object meets itself.".to_owned(),
            Reason::Invalid { who, ref fault } => {
                format!("{} is invalid and takes no part: {}.", name(who), fault_of(fault))
            }
            Reason::Excluded { who } => format!("{} has the flag EXCLUDED and takes no part.", name(who)),
            Reason::Worlds { first, second } => format!(
                "They are in different worlds: {} in world {first}, {} in world {second}.",
                name(self.first),
                name(self.second)
            ),
            Reason::Listed => "The list of excluded pairs names them.".to_owned(),
            Reason::BothStatic => "Both are static, and static objects do not meet each other.".to_owned(),
            Reason::SameOwner { owner } => format!("Both have the owner {owner}, and parts of one owner do not meet."),
            Reason::Layers { of, members, by, mask } => format!(
                "The layers part them: {} is a member of {} ({members:#06x}), and {} meets {} ({mask:#06x}).",
                name(of),
                layers(members),
                name(by),
                layers(mask)
            ),
            Reason::Apart { axis, gap, below } => format!(
                "On {} the boxes are {} apart{margin}: {} ends before {} begins.",
                AXES[axis],
                number(gap),
                name(below),
                name(other(below))
            ),
            Reason::TooFar { distance, radius } => format!(
                "The distance is {}, and the radius is {}.",
                number(distance),
                number(radius.into())
            ),
            Reason::NoPosition { who } => format!("{} has an infinite bound, and so no neighbours.", name(who)),
            Reason::Once => format!(
                "Each object is asked for those after it alone, and {} comes before {}.",
                name(self.second),
                name(self.first)
            ),
            Reason::EmptyRay { t_min, t_max } if t_max < 0.0 && t_min <= 0.0 => {
                format!("The ray ends before it starts: t_max is {}.", number(t_max.into()))
            }
            Reason::EmptyRay { t_min, t_max } => format!(
                "The ray ends before it starts: t_min is {}, and t_max is {}.",
                number(t_min.into()),
                number(t_max.into())
            ),
            Reason::PastEnd { t, t_max } => format!(
                "The ray ends too early: it would enter the box at t = {}, and t_max is {}.",
                number(t.into()),
                number(t_max.into())
            ),
            Reason::BeforeStart { leaves, t_min } => format!(
                "The ray starts too late: it leaves the box at t = {}, and t_min is {}.",
                number(leaves),
                number(t_min.into())
            ),
            Reason::Beside { axis, gap } => format!(
                "The ray does not move along {0}, and the box is {1} away from it on {0}.",
                AXES[axis],
                number(gap)
            ),
            Reason::Behind { axis, gap } => format!(
                "The ray points elsewhere: on {} the box lies behind its origin, {} away.",
                AXES[axis],
                number(gap)
            ),
            Reason::PassesBy {
                enters_axis,
                enters,
                leaves_axis,
                leaves,
            } => format!(
                "The ray passes the box by: it leaves its bounds of {} at t = {}, and reaches those of {} at t = {}.",
                AXES[leaves_axis],
                number(leaves),
                AXES[enters_axis],
                number(enters)
            ),
            Reason::Unreachable => {
                "The box lies so far out that the ray would reach it past the largest float.".to_owned()
            }
            Reason::NotAsked => "The descriptor asks for no pairs.".to_owned(),
            Reason::NotClosest { closest } => format!(
                "Only the closest hit is asked for, and that is {} at t = {}.",
                name(Party::Object(closest.object)),
                number(closest.t.into())
            ),
            Reason::OnlyWhether => "The answer says only that the ray hits something, and names no object.".to_owned(),
            Reason::Ranked { rank, wanted } => format!(
                "Only the {wanted} nearest objects are asked for, and {rank} come before it by distance and index."
            ),
            Reason::NoRoom { what, place, capacity } => {
                format!("Its place in the list of {what} is {place}, and the list has a fixed room of {capacity}.")
            }
            Reason::NoEntries { needed, capacity } => format!(
                "The table needs {needed} entries and has a fixed room of {capacity}, so that objects are not found."
            ),
        }
    }

    /// What is measured, where that is no reason.
    fn measures(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let is_apart = |reason: &Reason| matches!(reason, Reason::Apart { .. } | Reason::TooFar { .. });
        let is_told = self.reasons.iter().any(is_apart);
        if let (Some(distance), false) = (self.distance, is_told) {
            sentences.push(format!("The distance is {}.", number(distance)));
        } else if let (Some(overlap), false, None) = (self.overlap, is_told, self.distance) {
            let margin = if self.margin > 0.0 { ", margin included" } else { "" };
            let on = |axis: usize| format!("{} on {}", number(overlap[axis]), AXES[axis]);
            let axes = match self.dimensions {
                Dimensions::Two => format!("{} and {}", on(0), on(1)),
                Dimensions::Three => format!("{}, {} and {}", on(0), on(1), on(2)),
            };
            let overlap = format!("The boxes overlap by {axes}{margin}.");
            sentences.push(overlap);
        }
        if self.is_on_border {
            sentences.push("That is so close to the radius that devices may differ.".to_owned());
        }
        if let (Some(rank), true) = (self.rank, self.is_found) {
            sentences.push(match rank {
                0 => "No object comes before it.".to_owned(),
                1 => "One object comes before it.".to_owned(),
                rank => format!("{rank} objects come before it."),
            });
        }
        sentences
    }

    fn meeting_text(&self, name: &dyn Fn(Party) -> String) -> String {
        let is_pair = matches!(self.question, Question::Pair(..));
        let takes_part = |placed: &Placed| placed.seat != Seat::Nowhere;
        let Some(meeting) = &self.meeting else {
            let both_there = self.placed.iter().filter(|placed| takes_part(placed)).count() == 2;
            return if is_pair && both_there {
                "No walk tests the one against the other.".to_owned()
            } else {
                String::new()
            };
        };
        let Meeting { walker, met, look, .. } = meeting;
        let spot = match look.spot {
            Spot::LargeList => "in the large list".to_owned(),
            Spot::CoverCell { cell } => format!("in the cell {} of the cover table", cell_text(cell)),
            Spot::Row { level, first, last } if first == last => {
                format!("in the cell {} of level {level}", cell_text(first))
            }
            Spot::Row { level, first, last } => format!(
                "in the row of cells {} to {} of level {level}",
                cell_text(first),
                cell_text(last)
            ),
            Spot::WholeLevel { level } => format!("among all objects of level {level}"),
        };
        let table = match meeting.in_static_table {
            true => "the table of static objects",
            false => "the table",
        };
        let verb = if meeting.is_accepted {
            "comes upon"
        } else {
            "tests and refuses"
        };
        format!(
            "The walk of {} {verb} {} {spot}: {} of {table}, {}.",
            name(*walker),
            name(*met),
            range_text("slot", look.slots.start, look.slots.end),
            range_text("sorted entry", look.entries.start, look.entries.end)
        )
    }

    fn fault_text(&self) -> String {
        let [by_definition, by_passes] = [
            self.meets,
            self.meeting.as_ref().is_some_and(|meeting| meeting.is_accepted),
        ]
        .map(|meets| if meets { "meet" } else { "do not meet" });
        let named = if self.is_found { "names" } else { "does not name" };
        format!(
            "THIS IS A FAULT OF gpu-broad-phase: by the definition the two {by_definition}, the walks say that they \
             {by_passes}, and the answer {named} them. Please report it with a snapshot of the step."
        )
    }
}

fn fault_of(fault: &Fault) -> String {
    match *fault {
        Fault::NotANumber { what } => format!("{what} is not a number"),
        Fault::Inverted { axis, min, max } => {
            let axis = AXES[axis];
            format!(
                "min.{axis} ({}) is above max.{axis} ({})",
                number(min.into()),
                number(max.into())
            )
        }
        Fault::Infinite { what } => format!("{what} is infinite"),
        Fault::TooLarge { what, value } => format!("{what} ({}) is beyond 2^126", number(value.into())),
        Fault::Negative { what, value } => format!("{what} ({}) is negative", number(value.into())),
        Fault::NoSuchWorld { world, worlds } => match worlds {
            1 => format!("its world is {world}, and there is world 0 alone"),
            worlds => format!("its world is {world}, and worlds are 0 to {}", worlds - 1),
        },
    }
}

fn placed_text(placed: &Placed, name: &dyn Fn(Party) -> String) -> String {
    let name = name(Party::Object(placed.object));
    let table = match placed.is_static {
        true => " of the table of static objects",
        false => "",
    };
    match placed.seat {
        Seat::Nowhere => String::new(),
        Seat::LargeList => format!("{name} is in the large list{table}, which everything is tested against."),
        Seat::Cell {
            level,
            cell,
            side,
            slot,
        } => format!(
            "{name} is in the cell {} of level {level}{table} (cells of {}, slot {slot}).",
            cell_text(cell),
            number(side.into())
        ),
        Seat::Cells { first, last, side } if first == last => {
            format!(
                "{name} is in the cell {}{table} (cells of {}).",
                cell_text(first),
                number(side.into())
            )
        }
        Seat::Cells { first, last, side } => format!(
            "{name} is in the cells {} to {}{table} (cells of {}).",
            cell_text(first),
            cell_text(last),
            number(side.into())
        ),
    }
}

fn cell_text([x, y, z]: [i32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

fn range_text(what: &str, start: u32, end: u32) -> String {
    let many = match what {
        "sorted entry" => "sorted entries",
        _ => "slots",
    };
    match end.saturating_sub(start) {
        0 => format!("no {what}"),
        1 => format!("{what} {start}"),
        _ => format!("{many} {start} to {}", end - 1),
    }
}

/// The bits of layers in words.
fn layers(bits: u16) -> String {
    let set: Vec<_> = (0..16)
        .filter(|bit| bits >> bit & 1 != 0)
        .map(|bit| bit.to_string())
        .collect();
    match &set[..] {
        [] => "no layer".to_owned(),
        [layer] => format!("layer {layer} alone"),
        _ if bits == u16::MAX => "all layers".to_owned(),
        [most @ .., last] => format!("layers {} and {last}", most.join(", ")),
    }
}

/// A number with as many digits as a float has.
fn number(value: f64) -> String {
    let value = value as f32;
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-4..1e7 => format!("{value}"),
        size if size.is_finite() => format!("{value:e}"),
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value > 0.0 => "infinity".to_owned(),
        _ => "-infinity".to_owned(),
    }
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
