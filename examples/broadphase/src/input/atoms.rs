//! XYZ files of molecules: the number of atoms, a comment line, then a row of symbol and position per atom. An extended
//! comment describes the columns and the periodic cell.

use std::io::BufRead;

use anyhow::{Context, Result, bail};
use exact_neighbors::Lattice;

use super::text::{Lines, real};
use super::{Table, along_axes, shortened};

/// Number of columns, and index of the first position column.
struct Layout {
    first: usize,
    /// `None` if the comment does not describe the columns; rows may then be longer.
    columns: Option<usize>,
}

const PLAIN: Layout = Layout {
    first: 1,
    columns: None,
};

/// Checks the number of atoms and, unless the file's name says XYZ (`is_named`), the first atom's row.
pub fn is_likely(start: &[u8], is_named: bool) -> bool {
    let mut lines = Lines::new(start);
    let mut next = || {
        let line = lines.next_whole().ok().flatten();
        line.map(|(_, text)| String::from_utf8_lossy(text).into_owned())
    };
    if next().is_none_or(|line| count(&line).is_none()) {
        return false;
    }
    let _comment = next();
    let is_atom = |line: String| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|symbol| real(symbol).is_none()) && words.filter_map(real).count() >= 3
    };
    is_named || next().is_some_and(is_atom)
}

fn count(line: &str) -> Option<u64> {
    line.trim().parse().ok()
}

pub fn read(reader: impl BufRead, notes: &mut Vec<String>) -> Result<Table> {
    let mut lines = Lines::new(reader);
    let (_, first) = lines.next_whole()?.context("empty: no rows")?;
    let first = String::from_utf8_lossy(first);
    let count = count(&first).with_context(|| format!("line 1: {:?} is not a number of atoms", shortened(&first)))?;
    let comment = lines.next_whole()?;
    let comment = comment.map(|(_, text)| String::from_utf8_lossy(text).into_owned());
    let comment = comment.unwrap_or_default();
    let layout = layout(&comment).context("line 2")?;
    let mut table = Table::new(3);
    table.cell = lattice(&comment, notes).context("line 2")?;
    for atom in 0..count {
        let Some((number, text)) = lines.next_whole()? else {
            bail!("truncated: {atom} of {count} atoms");
        };
        let text = String::from_utf8_lossy(text);
        push_atom(&mut table, &layout, &text).with_context(|| format!("line {number}"))?;
    }
    while let Some((number, text)) = lines.next_whole()? {
        let text = String::from_utf8_lossy(text);
        if text.trim().is_empty() {
            continue;
        }
        if self::count(&text).is_none() {
            bail!("line {number}: unexpected {:?} after {count} atoms", shortened(&text));
        }
        notes.push(format!("read only the first frame; the next starts at line {number}"));
        break;
    }
    Ok(table)
}

fn push_atom(table: &mut Table, layout: &Layout, text: &str) -> Result<()> {
    let words: Vec<_> = text.split_whitespace().collect();
    let least = layout.first + 3;
    match layout.columns {
        Some(columns) if words.len() != columns => bail!("{} columns, Properties has {columns}", words.len()),
        _ if words.len() < least => bail!("{} columns; an atom needs a symbol and 3 numbers", words.len()),
        _ => {}
    }
    for (column, word) in words.iter().enumerate().take(least).skip(layout.first) {
        let value =
            real(word).with_context(|| format!("column {}: {:?} is not a number", column + 1, shortened(word)))?;
        table.values.push(value);
    }
    Ok(())
}

/// Parses columns such as `Properties=species:S:1:pos:R:3`: name, type and count of each.
fn layout(comment: &str) -> Result<Layout> {
    let Some(properties) = value(comment, "Properties") else {
        return Ok(PLAIN);
    };
    let parts: Vec<_> = properties.split(':').collect();
    let (mut columns, mut first) = (0_usize, None);
    for property in parts.chunks(3) {
        let [name, kind, count] = property else {
            bail!(
                "Properties {:?}: each column needs name, type and count",
                shortened(&properties)
            );
        };
        let count = count.trim().parse::<u16>().ok().filter(|&count| count > 0);
        let count = count.with_context(|| format!("Properties: {:?} has no count", shortened(name)))?;
        if name.eq_ignore_ascii_case("pos") {
            if !kind.eq_ignore_ascii_case("R") || count != 3 {
                bail!("Properties: pos:R:3 is missing");
            }
            first = Some(columns);
        }
        columns += usize::from(count);
    }
    Ok(Layout {
        first: first.context("Properties: pos:R:3 is missing")?,
        columns: Some(columns),
    })
}

fn value(comment: &str, key: &str) -> Option<String> {
    let (lower, key) = (comment.to_ascii_lowercase(), key.to_ascii_lowercase());
    let starts = lower.match_indices(&key);
    let rest = starts.map(|(at, key)| (at, at + key.len())).find_map(|(at, end)| {
        let is_start = at == 0 || comment.as_bytes()[at - 1].is_ascii_whitespace();
        comment[end..].trim_start().strip_prefix('=').filter(|_| is_start)
    })?;
    let rest = rest.trim_start();
    let enclosed = |end: &str| Some(rest[1..].split(end).next().unwrap_or_default());
    let value = match rest.chars().next() {
        Some('"') => enclosed("\""),
        Some('\'') => enclosed("'"),
        Some('{') => enclosed("}"),
        // A matrix is a list of lists, so it ends in two brackets.
        Some('[') if rest[1..].trim_start().starts_with('[') => enclosed("]]"),
        Some('[') => enclosed("]"),
        _ => rest.split_whitespace().next(),
    };
    value.map(str::to_owned)
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']');
    list.split(is_between).filter(|word| !word.is_empty())
}

/// Vectors of the cell, 0 on axes without a period, in the order of the axes if they are along these. `None` without a
/// cell, or if it is flat.
fn lattice(comment: &str, notes: &mut Vec<String>) -> Result<Option<[[f64; 3]; 3]>> {
    let Some(text) = value(comment, "Lattice") else {
        return Ok(None);
    };
    let numbers: Option<Vec<f64>> = words(&text).map(real).collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()));
    let mut sides = match numbers.as_deref() {
        Some(&[x, y, z]) => [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]],
        Some(&[a, b, c, d, e, f, g, h, i]) => [[a, b, c], [d, e, f], [g, h, i]],
        _ => bail!("Lattice {:?}: needs 9 numbers", shortened(&text)),
    };
    if let Some(text) = value(comment, "pbc") {
        let said: Option<Vec<_>> = words(&text).map(truth).collect();
        let is_periodic: [bool; 3] = said
            .and_then(|said| said.try_into().ok())
            .with_context(|| format!("pbc {:?}: needs three values of T or F", shortened(&text)))?;
        for (side, _) in sides
            .iter_mut()
            .zip(is_periodic)
            .filter(|(_, is_periodic)| !is_periodic)
        {
            *side = [0.0; 3];
        }
    }
    let cell = periods(&sides).map_or(sides, along_axes);
    if Lattice::new(cell).is_none() {
        notes.push(
            "Lattice is flat, or its vectors too short or long: ignored, so pairs across its sides are missing; pass \
             --period if needed"
                .to_owned(),
        );
        return Ok(None);
    }
    Ok(Some(cell))
}

/// Period of each axis, 0 for none. `None` if sides are not along the axes.
fn periods(sides: &[[f64; 3]; 3]) -> Option<[f64; 3]> {
    let mut periods = [0.0; 3];
    for side in sides {
        let largest = side.iter().fold(0.0_f64, |largest, part| largest.max(part.abs()));
        // Tolerance: cells computed from angles deviate by about 1e-16.
        let mut along = (0..3).filter(|&axis| side[axis].abs() > 1e-12 * largest);
        match (along.next(), along.next()) {
            (None, _) => {}
            (Some(axis), None) if periods[axis] == 0.0 => periods[axis] = largest,
            _ => return None,
        }
    }
    Some(periods)
}

fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "t" | "true" | "1" => Some(true),
        "f" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_along_the_axes_is_a_period() {
        let cell = |comment: &str| lattice(comment, &mut Vec::new()).unwrap();
        for (comment, expected) in [
            ("water", None),
            ("Lattice=\"4 0 0 0 5 0 0 0 6\"", Some([4.0, 5.0, 6.0])),
            (
                "a=b Lattice = \"4 0 0 0 5 0 0 0 6\" pbc=\"T F T\"",
                Some([4.0, 0.0, 6.0]),
            ),
            ("lattice='4.0, 5.0, 6.0' pbc=[T, T, F]", Some([4.0, 5.0, 0.0])),
            ("Lattice=[[4,0,0],[0,5,0],[0,0,6]] x=1", Some([4.0, 5.0, 6.0])),
            ("Lattice={0 0 -6 4 0 0 0 5 0}", Some([4.0, 5.0, 6.0])),
            ("Lattice=\"4 0 2.4e-16 0 5 0 0 0 6\"", Some([4.0, 5.0, 6.0])),
            (
                "Lattice=\"4 0 0 0 5 0 0 0 0\" pbc=\"True True False\"",
                Some([4.0, 5.0, 0.0]),
            ),
            ("Lattice=\"4 0 0 0 5 0 1 1 6\" pbc=\"1 1 0\"", Some([4.0, 5.0, 0.0])),
            ("Lattice=\"4 0 0 5 0 0 0 0 6\"", None),
            ("NoLattice=\"4 0 0 0 5 0 0 0 6\"", None),
        ] {
            assert_eq!(cell(comment), expected.map(along_axes), "{comment}");
        }
        let skew = [[4.0, 0.0, 0.0], [-2.0, 3.46, 0.0], [0.0, 0.0, 6.0]];
        assert_eq!(cell("Lattice=\"4 0 0 -2 3.46 0 0 0 6\""), Some(skew));
        let slab = [skew[0], skew[1], [0.0; 3]];
        assert_eq!(cell("Lattice=\"4 0 0 -2 3.46 0 0 0 6\" pbc=\"T T F\""), Some(slab));
        for comment in [
            "Lattice=\"4 0 0\" pbc=\"T T\"",
            "Lattice=\"4 0 0 0\"",
            "Lattice=\"a b c\"",
            "Lattice=\"nan 1 1\"",
        ] {
            assert!(lattice(comment, &mut Vec::new()).is_err(), "{comment}");
        }
    }
}
