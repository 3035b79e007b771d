// needs: Query

// Who asks has no images but itself.

fn second_images(query: Query) -> u32 {
    return 0u;
}

fn with_images(query: Query) -> Query {
    return query;
}

fn image_of(query: Query, second: u32) -> Query {
    return query;
}

fn nearest_of_all(query: Query) -> Query {
    return query;
}
