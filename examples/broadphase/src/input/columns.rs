//! Columns of a table: those that names identify, else all in order. An option picks them first.

use anyhow::{Result, bail};

use super::{Table, shortened};
use crate::args::Form;

const FILTERS: [&str; 2] = ["layers", "group"];

/// Row numbers and ids, if first.
const INDEX: [&str; 4] = ["", "id", "index", "unnamed: 0"];

#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// A bare axis.
    Position,
    Center,
    Min,
    Max,
    /// `x0` and `x1`, or top and bottom: see [`columns`].
    Edge,
    /// Width, height or depth.
    Side,
    Size,
    Half,
    /// `dx`, a size or a direction, or an extent, a size or half of it.
    Delta,
    Origin,
    Direction,
}

use Role::{Center, Delta, Direction, Edge, Half, Max, Min, Origin, Position, Side, Size};

const AXES: [&str; 3] = [
    "x lon longitude easting",
    "y lat latitude northing",
    "z elevation altitude",
];

/// Words before or after an axis.
const WORDS: [(Role, &str); 10] = [
    // A bare axis.
    (Position, " pos position"),
    (Center, "c center centre centroid"),
    (Min, "min lower low lo from"),
    (Max, "max upper high hi to"),
    (Edge, "0 1 2"),
    (Size, "size width length"),
    (Half, "h half halfsize halfextent halfextents"),
    (Delta, "d delta extent"),
    (Origin, "o origin start"),
    (Direction, "dir direction n normal v"),
];

/// Words with an axis of their own.
const WHOLE: [(Role, usize, &str); 10] = [
    (Half, 0, "halfwidth halfw"),
    (Half, 1, "halfheight halfh"),
    (Side, 0, "width w"),
    (Side, 1, "height h"),
    (Side, 2, "depth"),
    (Min, 0, "left west"),
    (Max, 0, "right east"),
    (Min, 1, "south"),
    (Max, 1, "north"),
    (Edge, 1, "top bottom"),
];

/// Unambiguous names of boxes, by preference.
const FORMS: [(Role, Role, Form); 10] = [
    (Min, Max, Form::MinMax),
    (Position, Max, Form::MinMax),
    (Min, Side, Form::MinSize),
    (Min, Size, Form::MinSize),
    (Min, Delta, Form::MinSize),
    (Position, Side, Form::MinSize),
    (Center, Side, Form::CenterSize),
    (Center, Size, Form::CenterSize),
    (Center, Half, Form::CenterHalf),
    (Position, Half, Form::CenterHalf),
];

#[derive(Clone, Copy, PartialEq)]
pub enum Content {
    Boxes,
    Rays,
    /// Boxes or points.
    Queries,
    Points,
    /// Bodies or pairs, which are read in order.
    Ids,
}

impl Content {
    fn option(self) -> &'static str {
        match self {
            Self::Rays => "--ray-columns",
            Self::Queries => "--query-columns",
            _ => "--columns",
        }
    }

    /// Numbers of columns that can be read in order.
    fn widths(self) -> &'static [usize] {
        match self {
            Self::Boxes => &[4, 6],
            Self::Rays => &[4, 5, 6, 7],
            Self::Queries => &[2, 3, 4, 6],
            Self::Points => &[2, 3],
            Self::Ids => &[],
        }
    }
}

/// Use of a table, with the user's options.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    pub content: Content,
    /// Names, or numbers from 0; empty for all columns.
    pub columns: &'a [String],
    pub form: Option<Form>,
}

pub struct Plan {
    pub columns: Vec<usize>,
    pub filters: Option<[usize; 2]>,
    form: Form,
    /// Names in the order of `columns`, if order alone would give another result.
    names: Option<String>,
}

struct Column {
    place: usize,
    /// Empty if unnamed or picked by number.
    name: String,
    meaning: Option<(Role, usize)>,
}

impl<'a> Choice<'a> {
    pub fn of(content: Content, columns: &'a [String]) -> Self {
        Self {
            content,
            columns,
            form: None,
        }
    }

    /// `names` are the header's, or `None` for a table of `width` columns without one.
    pub fn plan(&self, names: Option<&[String]>, width: usize) -> Result<Plan> {
        let mut all: Vec<(usize, &str)> = match names {
            _ if !self.columns.is_empty() => self.picked(names.unwrap_or_default(), width)?,
            Some(names) => (0..).zip(names.iter().map(String::as_str)).collect(),
            None => (0..width).map(|place| (place, "")).collect(),
        };
        let filter = |filter: &str| all.iter().find(|(_, name)| name.eq_ignore_ascii_case(filter));
        let filters = match FILTERS.map(filter) {
            [Some(layers), Some(group)] if all.len() > 2 => Some([layers.0, group.0]),
            _ => None,
        };
        all.retain(|(place, _)| filters.is_none_or(|filters| !filters.contains(place)));
        let may_have_index = names.is_some() && self.columns.is_empty();
        let is_one_more = self.content.widths().iter().any(|width| width + 1 == all.len());
        if may_have_index && is_one_more && INDEX.contains(&all[0].1.to_lowercase().as_str()) {
            all.remove(0);
        }
        let header = Header {
            choice: self,
            columns: columns(&all),
        };
        let named = header.reading()?;
        let is_named = named.is_some();
        let (order, form) = named.unwrap_or_else(|| ((0..all.len()).collect(), self.form.unwrap_or_default()));
        let columns: Vec<_> = order.iter().map(|&index| all[index].0).collect();
        let is_plain = form == Form::MinMax && columns.iter().copied().eq(0..width);
        Ok(Plan {
            columns,
            filters,
            form,
            names: (is_named && !is_plain).then(|| header.listed(&order)),
        })
    }

    /// The plan for names in a comment above the rows, if these say one thing. Other comments are ignored.
    pub fn plan_of_comment(&self, names: &[String]) -> Result<Option<Plan>> {
        match self.plan(Some(names), names.len()) {
            Err(error) if names.iter().all(|name| meaning(name).is_some()) => Err(error),
            plan => Ok(plan
                .ok()
                .filter(|plan| plan.names.is_some() || !self.columns.is_empty())),
        }
    }

    /// Picks columns of an array, which has no names.
    pub fn apply(&self, mut table: Table) -> Result<Table> {
        let plan = self.plan(None, table.columns)?;
        if !self.columns.is_empty() {
            let values = table
                .rows()
                .flat_map(|row| plan.columns.iter().map(|&place| row[place]));
            table.values = values.collect();
            table.columns = plan.columns.len();
        }
        Ok(plan.finish(table))
    }

    fn picked<'n>(&self, names: &'n [String], width: usize) -> Result<Vec<(usize, &'n str)>> {
        let pick = |asked: &String| {
            if let Some(place) = names.iter().position(|name| name.eq_ignore_ascii_case(asked.trim())) {
                return Ok((place, names[place].as_str()));
            }
            match asked.trim().parse() {
                Ok(place) if place < width => Ok((place, "")),
                _ => bail!(
                    "{}: no column {:?} among {width}, numbered from 0{}{}",
                    self.content.option(),
                    shortened(asked),
                    if names.is_empty() { "" } else { ": " },
                    shortened(&names.join(","))
                ),
            }
        };
        self.columns.iter().map(pick).collect()
    }
}

/// Columns with their meanings. Of the edges of an axis without another min, the one with the smallest digit is the
/// min, else the first one.
fn columns(all: &[(usize, &str)]) -> Vec<Column> {
    let column = |&(place, name): &(usize, &str)| Column {
        place,
        name: name.to_owned(),
        meaning: meaning(name),
    };
    let mut columns: Vec<_> = all.iter().map(column).collect();
    for axis in 0..3 {
        let is_min = |column: &Column| [Some((Min, axis)), Some((Position, axis))].contains(&column.meaning);
        let has_min = columns.iter().any(is_min);
        let is_edge = |&index: &usize| columns[index].meaning == Some((Edge, axis));
        let edges: Vec<_> = (0..columns.len()).filter(is_edge).collect();
        let digit = |&&index: &&usize| columns[index].name.chars().find(char::is_ascii_digit);
        let min = edges.iter().filter(|_| !has_min).min_by_key(digit).copied();
        for index in edges {
            let role = if min == Some(index) { Min } else { Max };
            columns[index].meaning = Some((role, axis));
        }
    }
    columns
}

/// Role and axis of a name such as `min_x`, `bbox.xmin`, `X (m)` or `width`.
fn meaning(name: &str) -> Option<(Role, usize)> {
    let word = word(name);
    let word = word.strip_prefix("bbox").or(word.strip_prefix("bb")).unwrap_or(&word);
    let has = |words: &str, word: &str| words.split(' ').any(|known| known == word);
    if let Some(&(role, axis, _)) = WHOLE.iter().find(|whole| has(whole.2, word)) {
        return Some((role, axis));
    }
    let names = (0..)
        .zip(AXES)
        .flat_map(|(axis, names)| names.split(' ').map(move |name| (axis, name)));
    names.into_iter().find_map(|(axis, name)| {
        let around = [word.strip_suffix(name), word.strip_prefix(name)];
        let role = |rest: &str| WORDS.iter().find(|known| has(known.1, rest)).map(|known| known.0);
        Some((around.into_iter().flatten().find_map(role)?, axis))
    })
}

/// Lower-case letters and digits before a unit in brackets.
fn word(name: &str) -> String {
    let start = name.split(['(', '[']).next().unwrap_or_default();
    let chars = start.chars().filter(|c| c.is_alphanumeric());
    chars.flat_map(char::to_lowercase).collect()
}

struct Header<'a> {
    choice: &'a Choice<'a>,
    columns: Vec<Column>,
}

impl Header<'_> {
    /// Columns by name, and the form of boxes; `None` reads all in order. Fails if names contradict the order, or if
    /// names and order can both be meant.
    fn reading(&self) -> Result<Option<(Vec<usize>, Form)>> {
        let content = self.choice.content;
        let min_max = |order| Some((order, Form::MinMax));
        if let Some(form) = self.choice.form {
            return Ok(self.of_form(form).map(|order| (order, form)));
        }
        let mut named = match content {
            Content::Boxes => self.boxes(),
            Content::Rays => self.rays()?.and_then(min_max),
            Content::Queries => self.boxes().or_else(|| self.points().and_then(min_max)),
            Content::Points => self.points().and_then(min_max),
            Content::Ids => None,
        };
        let count = self.columns.len();
        // Picked columns are all used.
        named = named.filter(|(order, _)| self.choice.columns.is_empty() || order.len() == count);
        if !content.widths().contains(&count) {
            return Ok(named);
        }
        let in_order: Vec<_> = (0..count).collect();
        match (&named, self.contradiction()) {
            (None, Some(fault)) => bail!("columns {}: {fault}; {}", self.listed(&in_order), self.advice()),
            (Some((order, _)), None) if *order != in_order => bail!(
                "columns {all}: not all have known names; choose {option} {} or {option} {all}",
                self.listed(order),
                all = self.listed(&in_order),
                option = content.option()
            ),
            _ => Ok(named),
        }
    }

    /// Axes and columns of a role, sorted by axis, if it has two or three axes, each once.
    fn axes(&self, wanted: Role) -> Option<(Vec<usize>, Vec<usize>)> {
        let meant = (0..).zip(&self.columns).filter_map(|(index, column)| {
            let (role, axis) = column.meaning?;
            (role == wanted).then_some((axis, index))
        });
        let in_file: Vec<_> = meant.collect();
        let mut axes = in_file.clone();
        axes.sort_unstable();
        let are_distinct = axes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        // Width, depth, height may be meant along x, y, z.
        let is_in_order = wanted != Side || axes.len() == 2 || axes == in_file;
        (matches!(axes.len(), 2 | 3) && are_distinct && is_in_order).then(|| axes.into_iter().unzip())
    }

    /// Columns of two roles with the same axes.
    fn matched(&self, first: Role, second: Role) -> Option<Vec<usize>> {
        let ((axes, first), (same, second)) = (self.axes(first)?, self.axes(second)?);
        (axes == same).then(|| [first, second].concat())
    }

    fn boxes(&self) -> Option<(Vec<usize>, Form)> {
        let form = |&(first, second, form): &_| Some((self.matched(first, second)?, form));
        FORMS.iter().find_map(form)
    }

    /// Columns for the user's form: of names that suit it, else of names that distinguish positions from sizes.
    fn of_form(&self, form: Form) -> Option<Vec<usize>> {
        let suited = FORMS.iter().filter(|suited| suited.2 == form);
        let all = [Position, Center, Min].map(|first| [Delta, Size, Side, Half, Max].map(|second| (first, second)));
        let mut roles = suited.map(|suited| (suited.0, suited.1)).chain(all.concat());
        roles.find_map(|(first, second)| self.matched(first, second))
    }

    fn rays(&self) -> Result<Option<Vec<usize>>> {
        let place = |wanted: &str| self.columns.iter().position(|column| word(&column.name) == wanted);
        let roles = [
            (Origin, Direction),
            (Origin, Delta),
            (Position, Delta),
            (Position, Direction),
        ];
        let Some(order) = roles.iter().find_map(|&(first, second)| self.matched(first, second)) else {
            return Ok(None);
        };
        if place("tmin").is_some() {
            bail!("column tmin: rays start at t = 0; pick the other columns with --ray-columns");
        }
        Ok(Some(order.into_iter().chain(place("tmax")).collect()))
    }

    fn points(&self) -> Option<Vec<usize>> {
        // A second position or size of boxes.
        let is_of_box = |column: &Column| matches!(column.meaning, Some((Min | Max | Side | Size | Half | Delta, _)));
        if self.choice.content == Content::Queries && self.columns.iter().any(is_of_box) {
            return None;
        }
        let (_, order) = self.axes(Position).or_else(|| self.axes(Center))?;
        Some(order)
    }

    /// First name that contradicts the order.
    fn contradiction(&self) -> Option<String> {
        let count = self.columns.len();
        let content = self.choice.content;
        let are_points = count < 4;
        let axes = if are_points { count } else { count / 2 };
        // Unknown words at axes, as in `sx,sy`, may be sizes or ends; in another order, as in `x_a,x_b`, anything.
        let has_axis = |(index, axis): (usize, usize)| {
            let word = word(&self.columns[index].name);
            word.len() > 1 && (word.starts_with(["x", "y", "z"][axis]) || word.ends_with(["x", "y", "z"][axis]))
        };
        let are_at_axes = || (axes..2 * axes).zip(0..).all(has_axis);
        let are_in_pairs = || (0..2 * axes).map(|index| (index, index / 2)).all(has_axis);
        if !are_points && (are_at_axes() || are_in_pairs()) {
            let mut behind = self.columns[axes..2 * axes].iter();
            if let Some(column) = behind.find(|column| column.meaning.is_none()) {
                return Some(format!("the meaning of {} is unknown", shortened(&column.name)));
            }
        }
        (0..).zip(&self.columns).find_map(|(index, column)| {
            let (role, axis) = column.meaning?;
            let (slot, fits) = match (content, index / axes) {
                // Other roles say nothing of points: x,y,height.
                _ if are_points => ("position", axis == index || !matches!(role, Position | Center)),
                (Content::Rays, 0) => ("origin", matches!(role, Position | Origin)),
                (Content::Rays, 1) => ("direction", matches!(role, Delta | Direction)),
                (Content::Rays, _) => return None,
                (_, 0) => ("min", matches!(role, Position | Min)),
                _ => ("max", matches!(role, Position | Max)),
            };
            let letter = ["x", "y", "z"][index % axes];
            let is_right = fits && (are_points || axis == index % axes);
            (!is_right).then(|| format!("{} would be the {slot} in {letter}", shortened(&column.name)))
        })
    }

    fn advice(&self) -> String {
        if self.choice.content == Content::Boxes {
            return "choose --form min-max, min-size, center-size or center-half, or pick columns with --columns"
                .into();
        }
        let places: Vec<_> = self.columns.iter().map(|column| column.place.to_string()).collect();
        format!("{} {} keeps this order", self.choice.content.option(), places.join(","))
    }

    fn listed(&self, order: &[usize]) -> String {
        let names: Vec<_> = order.iter().map(|&index| self.columns[index].name.as_str()).collect();
        shortened(&names.join(","))
    }
}

impl Plan {
    pub fn finish(&self, mut table: Table) -> Table {
        table.read_as = self.names.as_ref().map(|names| match self.form {
            Form::MinMax => names.clone(),
            form => format!("{names} ({})", form.name()),
        });
        if self.form == Form::MinMax || !matches!(table.columns, 4 | 6) {
            // Other widths are refused by the readers of boxes.
            return table;
        }
        for row in table.values.chunks_exact_mut(table.columns) {
            let (first, second) = row.split_at_mut(table.columns / 2);
            for (first, second) in first.iter_mut().zip(second) {
                (*first, *second) = match self.form {
                    Form::MinMax => (*first, *second),
                    Form::MinSize => (*first, *first + *second),
                    Form::CenterSize => (*first - *second / 2.0, *first + *second / 2.0),
                    Form::CenterHalf => (*first - *second, *first + *second),
                };
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_many_spellings() {
        for (names, expected) in [
            (
                "minx min_x x_min xmin MinX X.Min bbox_xmin bbox.min.x lower_x xlo left west minlon",
                Some((Min, 0)),
            ),
            ("ymax max_y y_upper yhi north latmax", Some((Max, 1))),
            ("z Z z[m] pos_z elevation", Some((Position, 2))),
            ("cx x_center centerX centroid_x", Some((Center, 0))),
            ("x0 x_0 bbox_x0", Some((Edge, 0))),
            ("width w bb_width", Some((Side, 0))),
            ("size_x x_size xsize length_x", Some((Size, 0))),
            ("hx half_x half_extent_x halfExtents.x", Some((Half, 0))),
            ("dx delta_x", Some((Delta, 0))),
            ("ox origin_x", Some((Origin, 0))),
            ("dir_x direction_x nx", Some((Direction, 0))),
            ("a u box index admin minute fix by temp max tmax col", None),
        ] {
            for name in names.split(' ') {
                assert!(meaning(name) == expected, "{name}");
            }
        }
    }
}
