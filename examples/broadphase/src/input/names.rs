//! Meaning of a column's name: a part of a box, ray or point, and an axis.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A bare axis: `x`, `lon`.
    Plain,
    Position,
    Center,
    Min,
    Max,
    /// `x0`, `x1`, `x2`.
    Corner(u8),
    Top,
    Bottom,
    /// `size_x`.
    Size,
    /// `width`, `height`, `depth`.
    Side,
    /// `length`, `extent_x`: sizes that name no axis, or that may be half of the side.
    LooseSize,
    Half,
    /// `dx`: a size or a direction.
    Delta,
    Origin,
    Start,
    End,
    Direction,
    /// Normals and velocities.
    Vector,
    TMin,
    TMax,
    Color,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    X,
    Y,
    Z,
    /// `row` in `min_row`, or an index.
    Other(String),
}

impl Axis {
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// Order of axes. Names without an order have equal ranks.
    pub fn rank(&self) -> usize {
        match self {
            Self::X => 0,
            Self::Y => 1,
            Self::Z => 2,
            Self::Other(name) => name.parse::<u8>().map_or(usize::MAX, usize::from),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Name {
    pub part: Option<(Part, Axis)>,
    /// Row numbers or ids.
    pub is_index: bool,
    /// Known not to be a coordinate, such as `intensity`.
    pub is_attribute: bool,
    /// Lower-case letters and digits.
    pub word: String,
}

/// Words around the others, such as `bbox_min_x`.
const NOISE: [&str; 14] = [
    "bbox",
    "bb",
    "bndbox",
    "box",
    "boundingbox",
    "bounding",
    "bounds",
    "bound",
    "aabb",
    "rect",
    "ray",
    "coord",
    "coords",
    "coordinate",
];

/// Units behind a name, as in `x_mm`.
const UNITS: [&str; 13] = [
    "m", "mm", "cm", "km", "um", "nm", "ft", "in", "px", "pixel", "pixels", "deg", "degrees",
];

const INDEX: [&str; 9] = ["", "id", "index", "idx", "ids", "fid", "oid", "uid", "objectid"];

const ATTRIBUTES: [&str; 31] = [
    "intensity",
    "class",
    "classification",
    "classid",
    "label",
    "labels",
    "name",
    "type",
    "kind",
    "category",
    "color",
    "colour",
    "rgb",
    "rgba",
    "red",
    "green",
    "blue",
    "alpha",
    "time",
    "timestamp",
    "gpstime",
    "score",
    "conf",
    "confidence",
    "mass",
    "weight",
    "charge",
    "radius",
    "reflectance",
    "track",
    "frame",
];

/// Names with an axis of their own.
const WHOLE: [(&str, Part, Axis); 41] = [
    ("width", Part::Side, Axis::X),
    ("w", Part::Side, Axis::X),
    ("height", Part::Side, Axis::Y),
    ("h", Part::Side, Axis::Y),
    ("depth", Part::Side, Axis::Z),
    ("d", Part::Side, Axis::Z),
    ("halfwidth", Part::Half, Axis::X),
    ("halfheight", Part::Half, Axis::Y),
    ("halfdepth", Part::Half, Axis::Z),
    ("left", Part::Min, Axis::X),
    ("west", Part::Min, Axis::X),
    ("right", Part::Max, Axis::X),
    ("east", Part::Max, Axis::X),
    ("south", Part::Min, Axis::Y),
    ("north", Part::Max, Axis::Y),
    ("top", Part::Top, Axis::Y),
    ("bottom", Part::Bottom, Axis::Y),
    ("llx", Part::Min, Axis::X),
    ("lly", Part::Min, Axis::Y),
    ("urx", Part::Max, Axis::X),
    ("ury", Part::Max, Axis::Y),
    ("lowerleftx", Part::Min, Axis::X),
    ("lowerlefty", Part::Min, Axis::Y),
    ("upperrightx", Part::Max, Axis::X),
    ("upperrighty", Part::Max, Axis::Y),
    ("tlx", Part::Min, Axis::X),
    ("tly", Part::Top, Axis::Y),
    ("brx", Part::Max, Axis::X),
    ("bry", Part::Bottom, Axis::Y),
    ("topleftx", Part::Min, Axis::X),
    ("toplefty", Part::Top, Axis::Y),
    ("bottomrightx", Part::Max, Axis::X),
    ("bottomrighty", Part::Bottom, Axis::Y),
    ("xleft", Part::Min, Axis::X),
    ("xright", Part::Max, Axis::X),
    ("ytop", Part::Top, Axis::Y),
    ("ybottom", Part::Bottom, Axis::Y),
    ("elevation", Part::Plain, Axis::Z),
    ("elev", Part::Plain, Axis::Z),
    ("altitude", Part::Plain, Axis::Z),
    ("alt", Part::Plain, Axis::Z),
];

const AXES: [(&str, Axis); 11] = [
    ("x", Axis::X),
    ("y", Axis::Y),
    ("z", Axis::Z),
    ("longitude", Axis::X),
    ("long", Axis::X),
    ("lng", Axis::X),
    ("lon", Axis::X),
    ("latitude", Axis::Y),
    ("lat", Axis::Y),
    ("easting", Axis::X),
    ("northing", Axis::Y),
];

/// Words before or behind an axis.
const WORDS: [(&str, Part); 80] = [
    ("", Part::Plain),
    ("p", Part::Position),
    ("pos", Part::Position),
    ("position", Part::Position),
    ("point", Part::Position),
    ("points", Part::Position),
    ("loc", Part::Position),
    ("location", Part::Position),
    ("vertex", Part::Position),
    ("c", Part::Center),
    ("cen", Part::Center),
    ("ctr", Part::Center),
    ("center", Part::Center),
    ("centre", Part::Center),
    ("centroid", Part::Center),
    ("mid", Part::Center),
    ("middle", Part::Center),
    ("min", Part::Min),
    ("mins", Part::Min),
    ("minimum", Part::Min),
    ("lower", Part::Min),
    ("lowerbound", Part::Min),
    ("low", Part::Min),
    ("lo", Part::Min),
    ("lb", Part::Min),
    ("max", Part::Max),
    ("maxs", Part::Max),
    ("maxes", Part::Max),
    ("maximum", Part::Max),
    ("upper", Part::Max),
    ("upperbound", Part::Max),
    ("high", Part::Max),
    ("hi", Part::Max),
    ("ub", Part::Max),
    ("0", Part::Corner(0)),
    ("1", Part::Corner(1)),
    ("2", Part::Corner(2)),
    ("s", Part::Size),
    ("size", Part::Size),
    ("sizes", Part::Size),
    ("dim", Part::Size),
    ("dims", Part::Size),
    ("dimension", Part::Size),
    ("dimensions", Part::Size),
    ("side", Part::Size),
    ("l", Part::Size),
    ("len", Part::Size),
    ("length", Part::Size),
    ("width", Part::Size),
    ("extent", Part::LooseSize),
    ("extents", Part::LooseSize),
    ("h", Part::Half),
    ("half", Part::Half),
    ("halfsize", Part::Half),
    ("halfextent", Part::Half),
    ("halfextents", Part::Half),
    ("halflength", Part::Half),
    ("d", Part::Delta),
    ("delta", Part::Delta),
    ("o", Part::Origin),
    ("org", Part::Origin),
    ("orig", Part::Origin),
    ("origin", Part::Origin),
    ("start", Part::Start),
    ("from", Part::Start),
    ("begin", Part::Start),
    ("src", Part::Start),
    ("source", Part::Start),
    ("end", Part::End),
    ("to", Part::End),
    ("stop", Part::End),
    ("target", Part::End),
    ("dir", Part::Direction),
    ("direction", Part::Direction),
    ("n", Part::Vector),
    ("normal", Part::Vector),
    ("v", Part::Vector),
    ("vel", Part::Vector),
    ("velocity", Part::Vector),
    ("u", Part::Vector),
];

const LOOSE_SIZES: [&str; 3] = ["length", "breadth", "thickness"];
const T_MIN: [&str; 5] = ["tmin", "mint", "tnear", "near", "mindistance"];
const T_MAX: [&str; 9] = [
    "tmax",
    "maxt",
    "tfar",
    "far",
    "tend",
    "maxdist",
    "maxdistance",
    "maxrange",
    "maxlength",
];
const COLORS: [&str; 3] = ["r", "g", "b"];

impl Name {
    pub fn parse(text: &str) -> Self {
        let mut tokens = tokens(text);
        let is_index =
            INDEX.contains(&tokens.concat().as_str()) || tokens.first().is_some_and(|word| word == "unnamed");
        tokens.retain(|token| !NOISE.contains(&token.as_str()));
        if tokens.len() > 1 && tokens.last().is_some_and(|last| UNITS.contains(&last.as_str())) {
            tokens.pop();
        }
        let word = tokens.concat();
        Self {
            part: part(&tokens, &word).filter(|_| !is_index),
            is_index,
            is_attribute: ATTRIBUTES.contains(&word.as_str()),
            word,
        }
    }
}

/// Lower-case runs of letters and of digits. `minX` is two; units in brackets, as in `x [m]`, are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in without_units(text).chars() {
        let is_same = match (last.is_alphabetic(), c.is_alphabetic()) {
            (true, true) => !(last.is_lowercase() && c.is_uppercase()),
            (false, false) => last.is_ascii_digit() && c.is_ascii_digit(),
            _ => false,
        };
        match tokens.last_mut() {
            Some(token) if is_same => token.extend(c.to_lowercase()),
            _ if c.is_alphabetic() || c.is_ascii_digit() => tokens.push(c.to_lowercase().collect()),
            _ => {}
        }
        last = c;
    }
    tokens
}

/// Drops brackets at the end, unless they hold an axis or an index, as in `min[0]`.
fn without_units(text: &str) -> &str {
    let text = text.trim();
    let Some(open) = text.rfind(['(', '[', '<']).filter(|_| text.ends_with([')', ']', '>'])) else {
        return text;
    };
    let inner = text[open + 1..text.len() - 1].trim();
    let is_axis = inner.parse::<u8>().is_ok() || ["x", "y", "z"].iter().any(|axis| inner.eq_ignore_ascii_case(axis));
    if is_axis { text } else { &text[..open] }
}

fn part(tokens: &[String], word: &str) -> Option<(Part, Axis)> {
    if let Some((_, part, axis)) = WHOLE.iter().find(|(known, ..)| *known == word) {
        return Some((*part, axis.clone()));
    }
    for (words, part) in [
        (&LOOSE_SIZES[..], Part::LooseSize),
        (&T_MIN, Part::TMin),
        (&T_MAX, Part::TMax),
        (&COLORS, Part::Color),
    ] {
        if words.contains(&word) {
            return Some((part, Axis::Other(word.to_owned())));
        }
    }
    let of_word = |word: &str| WORDS.iter().find(|(known, _)| *known == word).map(|&(_, part)| part);
    for (name, axis) in AXES {
        let before = word.strip_suffix(name).and_then(of_word);
        // One letter behind an axis names a center alone: `xc`.
        let behind = word.strip_prefix(name);
        let is_long = |rest: &&str| rest.len() != 1 || rest.as_bytes()[0].is_ascii_digit() || *rest == "c";
        let behind = behind.filter(is_long).and_then(of_word);
        if let Some(part) = before.or(behind) {
            let is_misplaced = matches!(part, Part::Corner(_)) && behind.is_none();
            return Some((part, axis)).filter(|_| !is_misplaced);
        }
    }
    other_axis(tokens, word)
}

/// Names such as `min_row`, `row_max`, `imin`, `min[0]` and `Points:0`.
fn other_axis(tokens: &[String], word: &str) -> Option<(Part, Axis)> {
    let of_end = |word: &str| match word {
        "min" | "minimum" | "lower" | "low" | "lo" => Some(Part::Min),
        "max" | "maximum" | "upper" | "high" | "hi" => Some(Part::Max),
        "start" | "from" => Some(Part::Start),
        "end" | "to" | "stop" => Some(Part::End),
        _ => None,
    };
    let named = |axis: &str| Axis::Other(axis.to_owned());
    if let [first, rest @ ..] = tokens
        && !rest.is_empty()
        && let Some(part) = of_end(first)
    {
        return Some((part, named(&rest.concat())));
    }
    if let [rest @ .., last] = tokens
        && !rest.is_empty()
    {
        if let Some(part) = of_end(last) {
            return Some((part, named(&rest.concat())));
        }
        let part = WORDS
            .iter()
            .find(|(known, _)| *known == rest.concat())
            .map(|&(_, part)| part);
        if let Some(part) = part
            && last.bytes().all(|byte| byte.is_ascii_digit())
            && !matches!(part, Part::Corner(_) | Part::Plain)
            && rest[0].len() > 1
        {
            return Some((part, named(last)));
        }
    }
    for (end, part) in [("min", Part::Min), ("max", Part::Max)] {
        let axis = word.strip_suffix(end).or_else(|| word.strip_prefix(end));
        if let Some(axis) = axis.filter(|axis| axis.len() == 1) {
            return Some((part, named(axis)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_many_spellings() {
        for (names, part, axis) in [
            (
                "minx min_x x_min xmin MinX X.Min XMIN bbox_xmin bbox.min.x min(x) lower_x xlo x_low min_x_mm",
                Part::Min,
                Axis::X,
            ),
            (
                "left west ll_x lower_left_x minlon lon_min minLongitude",
                Part::Min,
                Axis::X,
            ),
            ("ymax max_y y_upper yhi north latmax urY", Part::Max, Axis::Y),
            ("z Z coord_z z_coord z[m] z_(mm) elevation", Part::Plain, Axis::Z),
            ("cx xc x_center centerX centroid_x", Part::Center, Axis::X),
            ("x0 x_0 bbox_x0", Part::Corner(0), Axis::X),
            ("width w box_width bb_width", Part::Side, Axis::X),
            ("height h", Part::Side, Axis::Y),
            ("size_x sx x_size xsize dim_x length_x", Part::Size, Axis::X),
            ("hx half_x half_extent_x halfExtents.x", Part::Half, Axis::X),
            ("dx delta_x", Part::Delta, Axis::X),
            ("ox origin_x ray_origin_x", Part::Origin, Axis::X),
            ("dir_x direction_x directionX ray_dir_x", Part::Direction, Axis::X),
            ("nx normal_x vx velocity_x ux", Part::Vector, Axis::X),
            ("min_row row_min", Part::Min, Axis::Other("row".to_owned())),
            ("imax max_i", Part::Max, Axis::Other("i".to_owned())),
            ("max[1] max_1 Max.1", Part::Max, Axis::Other("1".to_owned())),
            ("Points:1 position[1]", Part::Position, Axis::Other("1".to_owned())),
        ] {
            for name in names.split(' ') {
                let name = name.replace("_(", " (");
                assert_eq!(Name::parse(&name).part, Some((part, axis.clone())), "{name}");
            }
        }
        for name in [
            "a", "u", "v", "box", "index", "admin", "minute", "fix", "by", "temp", "bbox-0", "x, m", "1x", "col",
        ] {
            assert_eq!(Name::parse(name).part, None, "{name}");
        }
        for name in ["", "Unnamed: 0", "id", "ID", "index", "\u{feff}"] {
            assert!(Name::parse(name).is_index, "{name}");
        }
    }
}
