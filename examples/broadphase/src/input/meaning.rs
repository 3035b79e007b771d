//! Meaning of a header: the columns of boxes, rays or points among the names, or an error if the names can mean several
//! things or contradict the order.

use anyhow::{Result, bail};

use super::columns::{Choice, Column, Content};
use super::names::{Axis, Part};
use super::shortened;
use crate::args::Form;

/// Columns in the order of the table: indices into the list of columns.
pub struct Reading {
    pub order: Vec<usize>,
    pub form: Form,
    /// Axis whose edges are named top and bottom.
    pub turned: Option<usize>,
}

impl Reading {
    pub fn new(order: Vec<usize>) -> Self {
        Self {
            order,
            form: Form::MinMax,
            turned: None,
        }
    }
}

pub struct Names<'a> {
    pub choice: &'a Choice<'a>,
    pub columns: &'a [Column],
    /// An option lists the columns: all are needed, in this order.
    pub are_picked: bool,
}

/// Axes with their columns, sorted by axis.
type Axes = Vec<(Axis, usize)>;

fn column_of(axes: &Axes, axis: &Axis) -> Option<usize> {
    axes.iter().find(|(other, _)| other == axis).map(|&(_, index)| index)
}

/// Columns of `second` in the order of axes of `first`, if both have the same axes.
fn matched(first: &Axes, second: &Axes) -> Option<Vec<usize>> {
    if first.len() != second.len() || !is_space(first) {
        return None;
    }
    let firsts = first.iter().map(|&(_, index)| Some(index));
    let seconds = first.iter().map(|(axis, _)| column_of(second, axis));
    firsts.chain(seconds).collect()
}

/// Two or three axes: of x, y and z, or of others, as in `min_row`.
fn is_space(axes: &Axes) -> bool {
    let known = axes.iter().filter(|(axis, _)| axis.is_known()).count();
    matches!(axes.len(), 2 | 3) && (known == axes.len() || known == 0)
}

fn known(axes: &Axes) -> Axes {
    axes.iter().filter(|(axis, _)| axis.is_known()).cloned().collect()
}

fn others(axes: &Axes) -> Axes {
    axes.iter().filter(|(axis, _)| !axis.is_known()).cloned().collect()
}

/// Place of a column in rows without names.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Point,
    Low,
    High,
    Direction,
    End,
}

impl Slot {
    fn takes(self, part: Part) -> bool {
        let is_point = matches!(
            part,
            Part::Plain | Part::Position | Part::Center | Part::Start | Part::Origin
        );
        match self {
            Self::Point => is_point,
            Self::Low => {
                matches!(
                    part,
                    Part::Plain | Part::Position | Part::Min | Part::Corner(_) | Part::Start
                ) || matches!(part, Part::Top | Part::Bottom)
            }
            // Repeated names, as in x,y,x,y.
            Self::High => {
                matches!(part, Part::Plain | Part::Max | Part::Corner(_) | Part::End)
                    || matches!(part, Part::Top | Part::Bottom)
            }
            Self::Direction => matches!(part, Part::Direction | Part::Delta | Part::Vector),
            Self::End => part == Part::TMax,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Point => "a position",
            Self::Low => "a min",
            Self::High => "a max",
            Self::Direction => "a direction",
            Self::End => "t_max",
        }
    }
}

impl Names<'_> {
    fn parts(&self) -> impl Iterator<Item = (usize, Part, &Axis)> {
        self.columns.iter().enumerate().filter_map(|(index, column)| {
            let (part, axis) = column.name.part.as_ref()?;
            Some((index, *part, axis))
        })
    }

    fn axes(&self, wanted: Part) -> Axes {
        let mut axes = Axes::new();
        for (index, part, axis) in self.parts() {
            if part == wanted && column_of(&axes, axis).is_none() {
                axes.push((axis.clone(), index));
            }
        }
        axes.sort_by_key(|(axis, _)| axis.rank());
        axes
    }

    fn has(&self, wanted: Part) -> bool {
        self.parts().any(|(_, part, _)| part == wanted)
    }

    /// Union of parts; of two columns with one axis the earlier part's counts.
    fn union(&self, parts: &[Part]) -> Axes {
        let mut union = Axes::new();
        for &part in parts {
            for (axis, index) in self.axes(part) {
                if column_of(&union, &axis).is_none() {
                    union.push((axis, index));
                }
            }
        }
        union.sort_by_key(|(axis, _)| axis.rank());
        union
    }

    fn listed(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| column.text.as_str()).collect();
        shortened(&names.join(","))
    }

    /// Advice to use the columns in their order.
    fn in_this_order(&self) -> String {
        let places: Vec<_> = self.columns.iter().map(|column| column.place.to_string()).collect();
        format!(
            "{} {} uses them in this order",
            self.choice.option(),
            shortened(&places.join(","))
        )
    }

    /// Mins and maxes by axis.
    fn corners(&self) -> (Axes, Axes) {
        let numbers: Vec<u8> = (0..=2).filter(|&number| self.has(Part::Corner(number))).collect();
        let (low, high) = match numbers[..] {
            [low, high] => (Some(Part::Corner(low)), Some(Part::Corner(high))),
            // As in x,y,x2,y2, and x,y,x.1,y.1 by pandas.
            [high] if high > 0 && self.has(Part::Plain) => (Some(Part::Plain), Some(Part::Corner(high))),
            [low] => (Some(Part::Corner(low)), None),
            _ => (None, None),
        };
        let mut lows = vec![Part::Min];
        let mut highs = vec![Part::Max];
        lows.extend(low);
        highs.extend(high);
        lows.push(Part::Top);
        if self.has(Part::Top) {
            highs.push(Part::Bottom);
        } else {
            lows.push(Part::Bottom);
        }
        if self.has(Part::End) {
            lows.extend([Part::Start, Part::Plain]);
            highs.push(Part::End);
        }
        (self.union(&lows), self.union(&highs))
    }

    pub fn reading(&self) -> Result<Option<Reading>> {
        let reading = match self.choice.content {
            Content::Boxes => self.boxes()?,
            Content::Rays => self.rays()?,
            Content::Points => self.points()?,
            Content::Queries => self.queries()?,
            Content::Bodies => self.bodies(),
            Content::Pairs => self.pairs(),
        };
        let is_in_order = |reading: &Reading| reading.order.iter().copied().eq(0..self.columns.len());
        match reading {
            Some(reading) if !self.are_picked || is_in_order(&reading) => Ok(Some(reading)),
            _ if self.are_picked => self.refuse_picked_order().map(|()| None),
            _ => self.refuse_other_order().map(|()| None),
        }
    }

    /// Columns of a form that the user gives, if names tell its two parts.
    pub fn of_form(&self, form: Form) -> Option<Reading> {
        let (low, high) = self.corners();
        let first = [
            self.axes(Part::Plain),
            self.axes(Part::Position),
            self.axes(Part::Center),
            low,
        ];
        let second = [self.sizes(), self.axes(Part::Half), high];
        let order = first
            .iter()
            .find_map(|first| second.iter().find_map(|second| matched(first, second)))?;
        Some(Reading {
            form,
            ..Reading::new(order)
        })
    }

    /// Sizes along known axes. Width, depth and height in another order may be meant for other axes.
    fn sizes(&self) -> Axes {
        let sides = self.axes(Part::Side);
        let are_in_order = sides.is_sorted_by_key(|&(_, index)| index);
        let has_unknown = self
            .parts()
            .any(|(_, part, axis)| part == Part::LooseSize && !axis.is_known());
        match are_in_order && !has_unknown {
            true => self.union(&[Part::Size, Part::Side, Part::LooseSize, Part::Delta]),
            false => self.union(&[Part::Size, Part::LooseSize, Part::Delta]),
        }
    }

    fn boxes(&self) -> Result<Option<Reading>> {
        let (low, high) = self.corners();
        for (low, high) in [(known(&low), known(&high)), (others(&low), others(&high))] {
            if let Some(order) = matched(&low, &high) {
                self.refuse_left_over(&low)?;
                let has_edges = self.has(Part::Top) && self.has(Part::Bottom);
                let turned = low.iter().position(|&(_, index)| self.is_part(index, Part::Top));
                return Ok(Some(Reading {
                    turned: turned.filter(|_| has_edges),
                    ..Reading::new(order)
                }));
            }
        }
        self.refuse_rays()?;
        let plain = self.axes(Part::Plain);
        let center = self.axes(Part::Center);
        let (side, size) = (self.axes(Part::Side), self.union(&[Part::Size, Part::Side]));
        let half = self.axes(Part::Half);
        let spread = self.union(&[Part::Size, Part::Side, Part::Delta]);
        let sides_in_order = side.is_sorted_by_key(|&(_, index)| index) && !self.has(Part::LooseSize);
        let sized = [
            (&low, &spread, Form::MinSize),
            (&center, &size, Form::CenterSize),
            (&center, &half, Form::CenterHalf),
            (&plain, &half, Form::CenterHalf),
            (&plain, &side, Form::MinSize),
        ];
        for (first, second, form) in sized {
            let Some(order) = matched(first, second) else { continue };
            let has_sides = second.iter().any(|&(_, index)| self.is_part(index, Part::Side));
            if has_sides && !sides_in_order {
                break;
            }
            self.refuse_left_over(first)?;
            return Ok(Some(Reading {
                form,
                ..Reading::new(order)
            }));
        }
        // Sizes of unknown meaning.
        let sizes = [Part::Size, Part::Side, Part::LooseSize, Part::Delta];
        let count = self.parts().filter(|(_, part, _)| sizes.contains(part)).count();
        if count >= 2 && [&low, &plain, &center].into_iter().any(|axes| is_space(axes)) {
            let option = self.choice.form_option();
            bail!(
                "columns {} can be a corner and sizes, a center and sizes, or something else; choose {option} min-size, \
                 center-size, center-half or min-max",
                self.listed()
            );
        }
        Ok(None)
    }

    fn is_part(&self, index: usize, wanted: Part) -> bool {
        self.columns[index]
            .name
            .part
            .as_ref()
            .is_some_and(|&(part, _)| part == wanted)
    }

    /// Fails if a coordinate of another axis remains, as z in xmin,ymin,xmax,ymax,z.
    fn refuse_left_over(&self, used: &Axes) -> Result<()> {
        let is_coordinate = |part| {
            matches!(
                part,
                Part::Plain | Part::Position | Part::Center | Part::Min | Part::Max | Part::Corner(_)
            )
        };
        let left = self.parts().find(|&(_, part, axis)| {
            let is_axis = axis.is_known() || matches!(axis, Axis::Other(name) if name.len() == 1);
            let is_of_space = used.iter().all(|(used, _)| used.is_known());
            is_coordinate(part) && is_axis && is_of_space && column_of(used, axis).is_none()
        });
        let Some((index, ..)) = left else { return Ok(()) };
        bail!(
            "columns {}: {} has no min and max of its own; pick the columns with {}",
            self.listed(),
            shortened(&self.columns[index].text),
            self.choice.option()
        )
    }

    fn refuse_rays(&self) -> Result<()> {
        let origin = self.union(&[Part::Origin, Part::Start, Part::Position, Part::Plain]);
        let is_directed = matched(&origin, &self.axes(Part::Direction)).is_some();
        let has_origin = is_space(&self.axes(Part::Origin)) || self.has(Part::TMax);
        if is_directed || (has_origin && matched(&origin, &self.axes(Part::Delta)).is_some()) {
            bail!(
                "columns {} are those of rays, not of {}; {}",
                self.listed(),
                self.choice.what(),
                self.in_this_order()
            );
        }
        Ok(())
    }

    fn rays(&self) -> Result<Option<Reading>> {
        if let Some((index, ..)) = self.parts().find(|&(_, part, _)| part == Part::TMin) {
            bail!(
                "column {}: rays start at t = 0; move the origins, or pick the other columns with {}",
                shortened(&self.columns[index].text),
                self.choice.option()
            );
        }
        for direction in [Part::Direction, Part::Delta, Part::Vector] {
            for origin in [Part::Origin, Part::Start, Part::Position, Part::Plain] {
                let Some(mut order) = matched(&self.axes(origin), &self.axes(direction)) else {
                    continue;
                };
                match self.axes(Part::TMax)[..] {
                    [] => self.refuse_unknown_last(&order, "t_max")?,
                    [(_, t_max), ..] => order.push(t_max),
                }
                return Ok(Some(Reading::new(order)));
            }
        }
        Ok(None)
    }

    fn points(&self) -> Result<Option<Reading>> {
        let (low, high) = self.corners();
        let has_sides = is_space(&self.axes(Part::Side)) && !has_height_alone(&self.axes(Part::Side));
        for part in [Part::Plain, Part::Position, Part::Center] {
            let mut axes = self.axes(part);
            let is_flat = axes.len() == 2 && column_of(&axes, &Axis::Z).is_none();
            let height = ["height", "depth", "h", "d"]
                .iter()
                .find_map(|word| self.columns.iter().position(|column| column.name.word == *word));
            if let Some(height) = height.filter(|_| is_flat && !has_sides) {
                axes.push((Axis::Z, height));
            }
            if !is_space(&axes) {
                continue;
            }
            if has_sides || (part != Part::Plain && matched(&low, &high).is_some()) {
                bail!(
                    "columns {} are those of boxes, not of {}; pick positions with {}",
                    self.listed(),
                    self.choice.what(),
                    self.choice.option()
                );
            }
            let order: Vec<_> = axes.iter().map(|&(_, index)| index).collect();
            if order.len() == 2 {
                self.refuse_unknown_last(&order, "z")?;
            }
            return Ok(Some(Reading::new(order)));
        }
        Ok(None)
    }

    fn queries(&self) -> Result<Option<Reading>> {
        if let Some(reading) = self.boxes()? {
            return Ok(Some(reading));
        }
        let is_known = |column: &Column| {
            let part = column.name.part.as_ref();
            column.name.is_attribute || part.is_some_and(|&(part, _)| part != Part::Color || self.has_colors())
        };
        let mut behind = self.columns.iter().skip(self.columns.len() / 2);
        let may_be_boxes = matches!(self.columns.len(), 4 | 6) && !behind.any(is_known);
        if may_be_boxes && self.fault_of_order().is_none() {
            return Ok(None);
        }
        self.points()
    }

    /// A single unknown column behind the named ones may be the missing one.
    fn refuse_unknown_last(&self, order: &[usize], missing: &str) -> Result<()> {
        let last = self.columns.len() - 1;
        let Column { name, text, .. } = &self.columns[last];
        let is_unknown = name.part.is_none() && !name.is_attribute && !name.is_index;
        if self.are_picked || last != order.len() || order.contains(&last) || !is_unknown {
            return Ok(());
        }
        let all = order.iter().map(|&index| self.columns[index].text.as_str());
        let without: Vec<_> = all.collect();
        let without = shortened(&without.join(","));
        bail!(
            "column {text} may be {missing} or not; pass {option} {without} or {option} {without},{text}",
            text = shortened(text),
            option = self.choice.option()
        )
    }

    fn bodies(&self) -> Option<Reading> {
        const WORDS: [&str; 8] = [
            "body", "bodies", "bodyid", "group", "groups", "groupid", "owner", "cluster",
        ];
        let place = |word: &str| self.columns.iter().position(|column| column.name.word == word);
        let found = WORDS.into_iter().find_map(place).filter(|_| self.columns.len() > 1)?;
        Some(Reading::new(vec![found]))
    }

    fn pairs(&self) -> Option<Reading> {
        const COUPLES: [[&str; 2]; 7] = [
            ["a", "b"],
            ["i", "j"],
            ["ida", "idb"],
            ["id1", "id2"],
            ["first", "second"],
            ["source", "target"],
            ["from", "to"],
        ];
        let place = |word: &str| self.columns.iter().position(|column| column.name.word == word);
        let couple = |words: [&str; 2]| words.into_iter().map(place).collect::<Option<Vec<_>>>();
        let found = COUPLES
            .into_iter()
            .find_map(couple)
            .filter(|_| self.columns.len() > 2)?;
        Some(Reading::new(found))
    }

    /// Slots of the columns in rows without names, and the number of axes.
    fn slots(&self) -> Option<(Vec<Slot>, usize)> {
        let count = self.columns.len();
        let (first, second, rest) = match (self.choice.content, count) {
            (Content::Points | Content::Queries, 2 | 3) => return Some((vec![Slot::Point; count], count)),
            (Content::Boxes | Content::Queries, 4 | 6) => (Slot::Low, Slot::High, None),
            (Content::Rays, 4 | 6) => (Slot::Point, Slot::Direction, None),
            (Content::Rays, 5 | 7) => (Slot::Point, Slot::Direction, Some(Slot::End)),
            _ => return None,
        };
        let axes = count / 2;
        let both = [first, second]
            .into_iter()
            .flat_map(|slot| std::iter::repeat_n(slot, axes));
        Some((both.chain(rest).collect(), axes))
    }

    /// First contradiction between a name and its place. Parts of a single axis, such as `hz` alone, are taken for other
    /// words.
    fn fault_of_order(&self) -> Option<String> {
        let (slots, axes) = self.slots()?;
        let placed = || {
            self.parts()
                .filter(|&(index, part, _)| index < slots.len() && !self.is_alone(part))
        };
        let text = |index: usize| shortened(&self.columns[index].text);
        if let Some((index, ..)) = placed().find(|&(index, part, _)| !slots[index].takes(part)) {
            return Some(format!("{} would be {}", text(index), slots[index].name()));
        }
        let known = || placed().filter(|(index, _, axis)| axis.is_known() && slots[*index] != Slot::End);
        if !self.are_picked {
            let (index, ..) = known().find(|(index, _, axis)| axis.rank() != index % axes)?;
            let axis = ["x", "y", "z"][index % axes];
            return Some(format!("{} would be {} in {axis}", text(index), slots[index].name()));
        }
        // The user chooses the order of axes, but not two of them.
        let other = |index: usize| known().find(|&(other, ..)| other == index + axes);
        let (first, second) = known().find_map(|(first, _, axis)| {
            let (second, ..) = other(first).filter(|(_, _, other)| *other != axis)?;
            Some((first, second))
        })?;
        Some(format!("{} and {} name two axes", text(first), text(second)))
    }

    fn is_alone(&self, part: Part) -> bool {
        let corners = |(_, part, _): &(usize, Part, &Axis)| matches!(part, Part::Corner(_));
        match part {
            Part::Color => !self.has_colors(),
            Part::Corner(_) => self.parts().filter(corners).count() < 2,
            Part::TMax => false,
            _ => self.axes(part).len() < 2,
        }
    }

    fn has_colors(&self) -> bool {
        self.axes(Part::Color).len() == 3
    }

    fn refuse_other_order(&self) -> Result<()> {
        let Some(fault) = self.fault_of_order() else {
            return Ok(());
        };
        bail!(
            "columns {} do not name {}: by order, {fault}; {}",
            self.listed(),
            self.choice.what(),
            self.in_this_order()
        )
    }

    fn refuse_picked_order(&self) -> Result<()> {
        let Some(fault) = self.fault_of_order() else {
            return Ok(());
        };
        let order = match self.choice.content {
            Content::Rays => "origin, direction, t_max",
            _ => "mins, then maxes",
        };
        bail!(
            "{}: {fault}; give {order}, or numbers from 0 to ignore the names",
            self.choice.option()
        )
    }
}

/// True for a lone height or depth, which points may have as z.
fn has_height_alone(sides: &Axes) -> bool {
    column_of(sides, &Axis::X).is_none()
}
