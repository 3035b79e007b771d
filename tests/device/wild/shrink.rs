use gpu_broad_phase::QueryMode;
use wild::{Wild, WildQueries};

const ATTEMPTS: u32 = 400;

/// Returns a smaller scene that also fails.
pub fn shrunk(mut wild: Wild, mut fails: impl FnMut(&Wild) -> bool) -> Wild {
    let mut attempts = 0..ATTEMPTS;
    let mut attempt = |smaller: Wild, wild: &mut Wild| {
        let is_smaller = attempts.next().is_some() && fails(&smaller);
        if is_smaller {
            *wild = smaller;
        }
        is_smaller
    };
    let changes: [fn(&mut Wild); 5] = [
        |wild| wild.later = None,
        |wild| wild.rays.clear(),
        |wild| wild.queries = WildQueries::None,
        |wild| wild.statics = 0,
        |wild| wild.mode = QueryMode::All,
    ];
    for change in changes {
        let mut smaller = wild.clone();
        change(&mut smaller);
        smaller.plain.truncate(smaller.rays.len());
        attempt(smaller, &mut wild);
    }
    let lengths = |wild: &Wild| [wild.objects.len(), wild.rays.len(), wild.queries.count(0)];
    for list in 0..3 {
        let mut part = lengths(&wild)[list];
        while part > 0 {
            let mut first = 0;
            while first < lengths(&wild)[list] {
                let gone = first..(first + part).min(lengths(&wild)[list]);
                let mut smaller = wild.clone();
                match list {
                    0 => {
                        smaller.statics -= gone.clone().filter(|&object| object < wild.statics).count();
                        smaller.objects.drain(gone.clone());
                        if !smaller.worlds.is_empty() {
                            smaller.worlds.drain(gone);
                        }
                    }
                    1 => {
                        smaller.rays.drain(gone.clone());
                        smaller.plain.drain(gone);
                    }
                    _ => match &mut smaller.queries {
                        WildQueries::Boxes(boxes) => drop(boxes.drain(gone)),
                        WildQueries::General(queries) => drop(queries.drain(gone)),
                        _ => {}
                    },
                }
                if !attempt(smaller, &mut wild) {
                    first += part;
                }
            }
            part /= 2;
        }
    }
    wild
}
