// needs: Query

// Stubs of the functions of query_input, for queriers without periodic images.

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

// Moving objects walk the static table, which has no clusters.
const MAY_TEST_CLUSTERS: bool = false;

fn tests_clusters(query: Query) -> bool {
    return false;
}
