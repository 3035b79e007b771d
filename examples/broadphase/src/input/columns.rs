//! Meaning of a table's columns: by their names where these say one thing, else by order. The columns that a command
//! needs are picked, and boxes given by a corner or a centre and sizes become mins and maxes, before anything else
//! reads the table.

use anyhow::{Result, bail};

use super::meaning::{Names, Reading};
use super::names::Name;
use super::{Table, shortened};
use crate::args::Form;

/// Optional filter columns of boxes.
const FILTERS: [&str; 2] = ["layers", "owner"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    Boxes,
    Rays,
    /// Boxes or points.
    Queries,
    Points,
    Bodies,
    Pairs,
}

/// A command's use of a table, with the user's options.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    pub content: Content,
    /// Columns from an option, by name or by number from 0; empty for all.
    pub columns: &'a [String],
    pub form: Option<Form>,
}

/// Columns that a reader takes from each row.
#[derive(Debug, PartialEq)]
pub struct Plan {
    /// Columns of the file in the order of the table.
    pub columns: Vec<usize>,
    pub filters: Option<[usize; 2]>,
    form: Form,
    /// Axis whose edges are named top and bottom: which one is the min depends on the direction of the axis.
    turned: Option<usize>,
    /// Names of the columns, if the order alone would have been read differently.
    names: Option<String>,
}

pub struct Column {
    pub place: usize,
    /// Empty if there are no names, or if the column was picked by number.
    pub text: String,
    pub name: Name,
}

impl Column {
    fn new(place: usize, text: &str) -> Self {
        Self {
            place,
            text: text.to_owned(),
            name: Name::parse(text),
        }
    }
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
        let are_picked = !self.columns.is_empty();
        let mut columns = match names {
            _ if are_picked => self.picked(names, width)?,
            Some(names) => (0..).zip(names).map(|(place, name)| Column::new(place, name)).collect(),
            None => (0..width).map(|place| Column::new(place, "")).collect(),
        };
        let filters = self.take_filters(&mut columns);
        if !are_picked {
            self.drop_index(&mut columns);
        }
        let is_named = columns.iter().any(|column| !column.text.is_empty());
        let names = Names {
            choice: self,
            columns: &columns,
            are_picked,
        };
        let found = match self.form {
            // The order that the user gives.
            Some(_) if are_picked => None,
            Some(form) => names.of_form(form),
            None if is_named => names.reading()?,
            None => None,
        };
        let is_by_name = found.is_some();
        let reading = found.unwrap_or_else(|| Reading {
            form: self.form.unwrap_or_default(),
            ..Reading::new((0..columns.len()).collect())
        });
        let columns: Vec<_> = reading.order.iter().map(|&index| &columns[index]).collect();
        let places: Vec<_> = columns.iter().map(|column| column.place).collect();
        let is_as_without_names = reading.form == Form::MinMax && places.iter().copied().eq(0..width);
        let texts: Vec<_> = columns.iter().map(|column| column.text.as_str()).collect();
        Ok(Plan {
            names: (is_by_name && !is_as_without_names).then(|| shortened(&texts.join(","))),
            columns: places,
            filters,
            form: reading.form,
            turned: reading.turned,
        })
    }

    /// The plan for names in a comment above the rows, if these say one thing.
    pub fn plan_of_comment(&self, names: &[String]) -> Option<Plan> {
        let plan = self.plan(Some(names), names.len()).ok()?;
        (plan.names.is_some() || !self.columns.is_empty()).then_some(plan)
    }

    /// The plan for an array, which has no names.
    pub fn apply(&self, table: Table) -> Result<Table> {
        let plan = self.plan(None, table.columns)?;
        let in_order: Vec<_> = (0..table.columns).collect();
        if plan.columns == in_order {
            return plan.finish(table);
        }
        let mut picked = Table::new(plan.columns.len());
        let values = table
            .rows()
            .flat_map(|row| plan.columns.iter().map(|&column| row[column]));
        picked.values = values.collect();
        picked.cell = table.cell;
        plan.finish(picked)
    }

    pub fn option(&self) -> &'static str {
        match self.content {
            Content::Boxes | Content::Points => "--columns",
            Content::Rays => "--ray-columns",
            Content::Queries => "--query-columns",
            Content::Bodies => "--group-column",
            Content::Pairs => "--exclude-columns",
        }
    }

    pub fn form_option(&self) -> &'static str {
        match self.content {
            Content::Queries => "--query-form",
            _ => "--form",
        }
    }

    pub fn what(&self) -> &'static str {
        match self.content {
            Content::Boxes => "boxes",
            Content::Rays => "rays",
            Content::Queries => "queries",
            Content::Points => "points",
            Content::Bodies => "bodies",
            Content::Pairs => "pairs",
        }
    }

    fn picked(&self, names: Option<&[String]>, width: usize) -> Result<Vec<Column>> {
        let pick = |asked: &String| {
            let asked = asked.trim();
            let known = names.unwrap_or_default();
            let exact = known.iter().position(|name| name == asked);
            let place = exact.or_else(|| known.iter().position(|name| name.eq_ignore_ascii_case(asked)));
            if let Some(place) = place {
                return Ok(Column::new(place, &known[place]));
            }
            match asked.parse::<usize>() {
                Ok(place) if place < width => Ok(Column::new(place, "")),
                Ok(_) => bail!("{}: no column {asked}: the {width} columns count from 0", self.option()),
                Err(_) if names.is_none() => bail!(
                    "{}: {:?}: the table names no columns; use numbers from 0",
                    self.option(),
                    shortened(asked)
                ),
                Err(_) => bail!(
                    "{}: no column {:?}; use one of {}",
                    self.option(),
                    shortened(asked),
                    shortened(&known.join(","))
                ),
            }
        };
        self.columns.iter().map(pick).collect()
    }

    /// Removes the filter columns. Other readers than those of boxes refuse them, unless other columns follow.
    fn take_filters(&self, columns: &mut Vec<Column>) -> Option<[usize; 2]> {
        if columns.len() <= FILTERS.len() {
            return None;
        }
        let position = |filter: &str| {
            let is_filter = |column: &Column| column.text.eq_ignore_ascii_case(filter);
            columns.iter().position(is_filter)
        };
        let [layers, owner] = FILTERS.map(position);
        let (layers, owner) = (layers?, owner?);
        let are_last = layers + 2 == columns.len() && owner + 1 == columns.len();
        if !are_last && !matches!(self.content, Content::Boxes | Content::Queries) {
            return None;
        }
        let filters = [layers, owner].map(|index| columns[index].place);
        columns.retain(|column| !filters.contains(&column.place));
        Some(filters)
    }

    /// Removes a first column of row numbers or ids, which pandas writes under an empty name.
    fn drop_index(&self, columns: &mut Vec<Column>) {
        let least = match self.content {
            Content::Boxes | Content::Rays => 4,
            Content::Queries | Content::Points | Content::Pairs => 2,
            Content::Bodies => 1,
        };
        let is_named = columns.iter().skip(1).all(|column| !column.text.is_empty());
        if columns.len() > least && is_named && columns[0].name.is_index {
            columns.remove(0);
        }
    }
}

impl Plan {
    /// Converts boxes to mins and maxes.
    pub fn finish(&self, mut table: Table) -> Result<Table> {
        table.read_as = self.names.as_ref().map(|names| match self.form {
            Form::MinMax => names.clone(),
            form => format!("{names} ({form})"),
        });
        if self.form == Form::MinMax && self.turned.is_none() {
            return Ok(table);
        }
        if !matches!(table.columns, 4 | 6) {
            // Other widths are refused by the readers of boxes.
            return Ok(table);
        }
        let axes = table.columns / 2;
        if let Some(axis) = self.turned {
            self.turn(&mut table, axis)?;
        }
        for row in table.values.chunks_exact_mut(2 * axes) {
            for axis in 0..axes {
                let (low, high) = bounds(self.form, row[axis], row[axes + axis]);
                (row[axis], row[axes + axis]) = (low, high);
            }
        }
        Ok(table)
    }

    /// Makes the smaller of top and bottom the min, if all rows agree which one it is.
    fn turn(&self, table: &mut Table, axis: usize) -> Result<()> {
        let axes = table.columns / 2;
        let edges = |row: &[f64]| (row[axis], row[axes + axis]);
        let down = table.rows().position(|row| edges(row).0 < edges(row).1);
        let up = table.rows().position(|row| edges(row).0 > edges(row).1);
        match (down, up) {
            (Some(down), Some(up)) => bail!(
                "top is below bottom in row {} and above it in row {}; --columns picks the min, then the max, by number",
                down.min(up),
                down.max(up)
            ),
            (None, Some(_)) => {
                for row in table.values.chunks_exact_mut(2 * axes) {
                    row.swap(axis, axes + axis);
                }
            }
            (_, None) => {}
        }
        Ok(())
    }
}

/// Min and max, rounded outward where `f64` cannot hold them.
fn bounds(form: Form, first: f64, second: f64) -> (f64, f64) {
    match form {
        Form::MinMax => (first, second),
        Form::MinSize => (first, sum_above(first, second)),
        Form::CenterSize => (-sum_above(-first, second / 2.0), sum_above(first, second / 2.0)),
        Form::CenterHalf => (-sum_above(-first, second), sum_above(first, second)),
    }
}

/// Smallest `f64` that is not below the exact sum.
fn sum_above(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's error-free sum.
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error > 0.0 { sum.next_up() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_sizes_are_rounded_outward() {
        assert_eq!(bounds(Form::MinSize, 0.25, 0.5), (0.25, 0.75));
        assert_eq!(bounds(Form::CenterSize, 1.0, 0.5), (0.75, 1.25));
        assert_eq!(bounds(Form::CenterHalf, 1.0, 0.5), (0.5, 1.5));
        let above = 1.0_f64.next_up();
        assert_eq!(bounds(Form::MinSize, 1.0, 1e-17), (1.0, above));
        assert_eq!(bounds(Form::MinSize, 1.0, -1e-17), (1.0, 1.0));
        assert_eq!(bounds(Form::CenterHalf, 1.0, 1e-17), (1.0_f64.next_down(), above));
        assert_eq!(bounds(Form::MinSize, 0.0, f64::INFINITY), (0.0, f64::INFINITY));
        assert!(bounds(Form::CenterSize, f64::NAN, 1.0).0.is_nan());
        // 0.1 + 0.2 is rounded up already.
        assert_eq!(sum_above(0.1, 0.2), 0.1 + 0.2);
    }
}
