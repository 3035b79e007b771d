// Rays are walked as they come.

fn ray_at(place: u32) -> u32 {
    return place;
}
