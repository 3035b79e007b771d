use gpu_broad_phase::reference::brute_force::Found;
use gpu_broad_phase::{BroadPhaseDescriptor, NONE, NearestObject, QueryMode, Scene, StepResult};

use super::answer::first_difference;

/// First query that differs from `expected`. Since distances are rounded, an object at exactly the radius may be found
/// or not.
pub fn difference(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    result: &StepResult,
    expected: &[Found],
) -> Option<String> {
    let rows = match scene.query.query_mode {
        QueryMode::All => result.query_offsets.len().saturating_sub(1),
        QueryMode::Nearest(most) => result.query_nearest.len() / most.max(1) as usize,
    };
    if rows != expected.len() {
        return Some(format!("{rows} query results, {} expected", expected.len()));
    }
    expected.iter().enumerate().find_map(|(query, expected)| {
        let fault = match scene.query.query_mode {
            QueryMode::All => list_fault(list(result, query), expected),
            QueryMode::Nearest(most) => {
                let row = &result.query_nearest[query * most as usize..][..most as usize];
                nearest_fault(row, expected, &Slack::new(descriptor))
            }
        };
        fault.map(|fault| format!("query {query}: {fault}"))
    })
}

pub fn difference_from(other: &StepResult, result: &StepResult) -> Option<String> {
    let rows = |result: &StepResult| {
        let queries = result.query_offsets.len().saturating_sub(1);
        let lists = (0..queries).flat_map(|query| {
            sorted(list(result, query))
                .into_iter()
                .map(move |object| (query, object))
        });
        lists.collect::<Vec<_>>()
    };
    let nearest = |result: &StepResult| {
        let bits = result
            .query_nearest
            .iter()
            .map(|row| (row.object, row.squared_distance.to_bits()));
        bits.collect::<Vec<_>>()
    };
    first_difference("results", &rows(result), &rows(other))
        .or_else(|| first_difference("nearest objects", &nearest(result), &nearest(other)))
}

fn list(result: &StepResult, query: usize) -> &[u32] {
    &result.query_objects[result.query_offsets[query] as usize..result.query_offsets[query + 1] as usize]
}

fn sorted(list: &[u32]) -> Vec<u32> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}

fn list_fault(list: &[u32], expected: &Found) -> Option<String> {
    let list = sorted(list);
    let twice = list.windows(2).find(|two| two[0] == two[1]);
    let extra = list.iter().find(|&&object| distance(expected, object).is_none());
    let missing = expected
        .surely
        .iter()
        .find(|(object, _)| list.binary_search(object).is_err());
    twice
        .map(|two| format!("duplicate object {}", two[0]))
        .or_else(|| extra.map(|object| format!("unexpected object {object}")))
        .or_else(|| missing.map(|(object, _)| format!("object {object} is missing")))
}

fn distance(expected: &Found, object: u32) -> Option<f64> {
    let of = |rows: &[(u32, f64)]| {
        let place = rows.binary_search_by_key(&object, |&(object, _)| object).ok()?;
        Some(rows[place].1)
    };
    of(&expected.surely).or_else(|| of(&expected.perhaps))
}

fn nearest_fault(row: &[NearestObject], expected: &Found, slack: &Slack) -> Option<String> {
    let mut nearest: Vec<_> = expected.surely.iter().map(|&(_, distance)| distance).collect();
    nearest.sort_unstable_by(f64::total_cmp);
    let (found, rest) = row.split_at(row.iter().take_while(|row| row.object != NONE).count());
    let objects: Vec<_> = found.iter().map(|row| row.object).collect();
    if let Some(two) = sorted(&objects).windows(2).find(|two| two[0] == two[1]) {
        return Some(format!("duplicate object {}", two[0]));
    }
    if found.len() < nearest.len().min(row.len()) || rest.iter().any(|row| *row != NearestObject::NONE) {
        return Some(format!(
            "{} objects, {} expected",
            found.len(),
            nearest.len().min(row.len())
        ));
    }
    found.iter().enumerate().find_map(|(place, row)| {
        let squared = row.squared_distance;
        let Some(distance) = distance(expected, row.object) else {
            return Some(format!("object {} is too far away", row.object));
        };
        if !slack.admits(squared, distance) {
            return Some(format!("object {}: wrong squared distance {squared}", row.object));
        }
        // Compares distances only, since rounding may reorder ties.
        let is_nearer = |&&wanted: &&f64| !slack.is_no_farther(distance, wanted);
        nearest
            .get(place)
            .filter(is_nearer)
            .map(|_| format!("object {} at rank {place}: another object is nearer", row.object))
    })
}

struct Slack {
    /// Largest rounding error of wrapping a position into the periods.
    moved: f64,
}

impl Slack {
    fn new(descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        let longest = descriptor.periods.into_iter().fold(0.0, f32::max);
        Self {
            moved: f64::from(longest) * 2f64.powi(-22),
        }
    }

    /// Largest error of a distance. Squares are rounded to 24 bits, and denormal positions may be 0.
    fn of(&self, distance: f64) -> f64 {
        1e-6 * distance + 8.0 * f64::from(f32::MIN_POSITIVE) + self.moved
    }

    fn admits(&self, squared: f32, distance: f64) -> bool {
        let slack = self.of(distance);
        let largest = (distance + slack).powi(2) + f64::from(f32::MIN_POSITIVE);
        let smallest = (distance - slack).max(0.0).powi(2) - f64::from(f32::MIN_POSITIVE);
        smallest <= f64::from(squared) && (f64::from(squared) <= largest || largest > f64::from(f32::MAX))
    }

    /// Compares within rounding. Distances are clamped to the largest float.
    fn is_no_farther(&self, near: f64, far: f64) -> bool {
        near.min(f64::from(f32::MAX)) <= far + self.of(far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_broad_phase::cpu;
    use gpu_broad_phase::reference::brute_force;
    use gpu_broad_phase::{Aabb, Query, QueryInput, Source};

    fn checked(query_mode: QueryMode, spoil: impl Fn(&mut StepResult)) -> [Option<String>; 2] {
        let objects: Vec<_> = (0..9).map(|place| Aabb::point([place as f32; 3])).collect();
        let queries = [Query::sphere([0.2; 3], 4.0), Query::sphere([7.1; 3], 1.0)];
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                queries: queries[..].into(),
                query_mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let descriptor = BroadPhaseDescriptor::default();
        let expected = brute_force::scene_queries(&descriptor, &scene).unwrap();
        let right = cpu::step_scene(&descriptor, &scene).unwrap();
        let mut result = right.clone();
        spoil(&mut result);
        [
            difference(&descriptor, &scene, &result, &expected),
            difference_from(&right, &result),
        ]
    }

    #[test]
    fn objects_that_are_missing_wrong_or_there_twice_are_reported() {
        assert_eq!(checked(QueryMode::All, |_| {}), [None, None]);
        for (object, fault) in [(8, "query 0: unexpected object 8"), (1, "query 0: duplicate object 1")] {
            let [by_definition, by_other] = checked(QueryMode::All, |result| result.query_objects[2] = object);
            assert_eq!(by_definition.as_deref(), Some(fault));
            assert!(by_other.unwrap().contains("results"));
        }
        let lost = |result: &mut StepResult| {
            result.query_objects.pop();
            result.query_offsets[2] -= 1;
        };
        assert_eq!(
            checked(QueryMode::All, lost)[0].as_deref(),
            Some("query 1: object 7 is missing")
        );
        let unanswered = |result: &mut StepResult| result.query_offsets.clear();
        assert!(
            checked(QueryMode::All, unanswered)[0]
                .as_deref()
                .unwrap()
                .contains("0 query results")
        );
    }

    #[test]
    fn nearest_objects_in_the_wrong_place_or_at_another_distance_are_reported() {
        let nearest = QueryMode::Nearest(2);
        assert_eq!(checked(nearest, |_| {}), [None, None]);
        for (spoil, fault) in [
            (
                (|result| result.query_nearest[0].squared_distance += 0.1) as fn(&mut StepResult),
                "query 0: object 0: wrong squared distance",
            ),
            (|result| result.query_nearest.swap(0, 1), "query 0: object 1 at rank 0"),
            (
                |result| result.query_nearest[3] = result.query_nearest[2],
                "query 1: duplicate object 7",
            ),
            (
                |result| result.query_nearest[3].object = 0,
                "query 1: object 0 is too far",
            ),
            (
                |result| result.query_nearest[0] = NearestObject::NONE,
                "query 0: 0 objects",
            ),
        ] {
            let [by_definition, by_other] = checked(nearest, spoil);
            let by_definition = by_definition.unwrap();
            assert!(by_definition.starts_with(fault), "{by_definition}");
            assert!(by_other.unwrap().contains("nearest objects"));
        }
    }
}
